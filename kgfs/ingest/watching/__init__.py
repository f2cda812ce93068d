"""Keep an ontology in step with a folder elsewhere on this machine: scan, decide, deposit. Calls ``ingest.writing``.

``FolderWatch`` does one step at a time; ``app.watching`` runs it. One process at a time watches a folder for an ontology.
"""
