"""Parse the bytes of one file into its Text, one module a format, with exact characters, structure and title.

A format whose files can be hostile or broken (PDF, Office, HTML, mail …) is *isolated*: ``child`` parses it in a process
of its own within the limits of ``sandbox``, with its library imported there, and streams ``pieces`` that are put together here.
Ingest calls :func:`kgfs.formats.table.parse`; of the rest of this room only ``headings`` is called from outside. A
format is one module and one row of ``FORMATS``. No function touches network or model, and any
number of threads may call. Bytes that no format reads raise UnreadableTextError, which names the format that they
seem to have; the caller keeps the original.
"""
