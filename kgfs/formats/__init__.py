"""Turn the bytes of one file into its Text: exact characters, structure, title.

Ingest calls :func:`kgfs.formats.table.parse`; nothing else of this room is called from outside but ``headings``. A format is one
module and one row of ``FORMATS``. All functions are pure: no file, network or model is touched, any number of threads may call.
Bytes that no format reads raise UnreadableTextError, which names what they seem to be; the caller keeps the original.
"""
