"""Extractors: what each passage says of concepts and relationships. ``table`` lists them, a module each."""
