"""The whole life of a folder of documents, through the command line and a real mount alone, with figures."""
