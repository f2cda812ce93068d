"""What the parsers of documents find, against independent truths."""
