"""Two documents of different topics, for tests that only need something to read."""

ZEN = (
    "# Zen\n\nZen is a school of Buddhism that stresses direct experience. Direct experience comes before words.\n\n"
    "## Koans\n\nA koan is a riddle used in Zen practice. Zen practice uses koans to exhaust the mind.\n"
)
GARBAGE = (
    "A garbage collector is a program that reclaims memory. Reference counting is a form of garbage collection. "
    "The garbage collector uses a tracing algorithm. A tracing algorithm visits reachable objects.\n"
)
