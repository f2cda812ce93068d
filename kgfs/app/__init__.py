"""The place that wires: configuration → stores → use cases → tree → mount. Nothing is decided here.

``home`` opens what a home keeps; ``mounting`` serves it, ``working`` is its worker, ``deciding`` carries out what a person
decided, ``upkeep`` finds and mends damage, backs up and rebuilds.
"""
