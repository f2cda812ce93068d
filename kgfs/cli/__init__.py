"""The command line: one file a verb. Read words, call a use case, print, exit."""
