"""What bytes are: binary formats known by their magic number, text by its exact decoding."""
