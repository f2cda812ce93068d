"""The file formats: each parses the bytes of one file into its Text, with exact characters, structure and title.

Ingest calls :func:`kgfs.formats.table.parse`; of the rest of this room only ``headings`` is called from outside. A
format is one module and one row of ``FORMATS``. All functions are pure: they touch no file, network or model, and any
number of threads may call. Bytes that no format reads raise UnreadableTextError, which names the format that they
seem to have; the caller keeps the original.
"""
