"""Wire the layers together: configuration, stores, use cases, tree and mount. The package makes no decisions of its
own.

``home`` opens the stores of a home. ``mounting`` serves a home as a filesystem and ``working`` runs its worker.
``deciding`` carries out decisions of a person. ``upkeep`` finds and repairs damage, backs a home up and rebuilds it.
"""
