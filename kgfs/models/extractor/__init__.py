"""Find concepts and relationships in passages, one module an extractor. ``table`` lists them."""
