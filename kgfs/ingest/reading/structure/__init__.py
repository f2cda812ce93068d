"""Cut a Text into the spans of its Sources: units, ranks of their borders, sentences.

Every function runs in linear time, also on one line of hundreds of megabytes: patterns are matched only against the
beginnings of lines or against lines that are known to be short.
"""
