"""The replica: a copy of a server's graph in a file of the home, in the tables of the embedded graph: what a mount reads.

``graph`` answers from it and writes to the server; ``filling`` makes it, ``following`` keeps it current by the server's
feed, ``feeder`` does that as long as a mount lives. One process feeds at a time, any number read.
"""
