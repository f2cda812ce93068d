"""The extractors, one module each, which find concepts and relationships in passages. ``table`` lists them."""
