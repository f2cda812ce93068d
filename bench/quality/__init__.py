"""How good the concepts, relationships and descriptions are that kgfs finds without a language model."""
