"""The structure of texts: scanners that read lines once and give ordered, non-overlapping blocks.

Every scanner has the form ``(lines) -> list[Block]``; every character that is not white space is in a block. All run
in linear time, also on one line of hundreds of megabytes: patterns are matched against lines' beginnings or against
lines that are known to be short.
"""
