"""Binary formats by their first bytes. A match does not prove that the file is whole, only that it is not text."""

from __future__ import annotations

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF-", "a PDF document"),
    (0, b"PK\x03\x04", "a ZIP archive or office document"),
    (0, b"PK\x05\x06", "an empty ZIP archive"),
    (0, b"PK\x07\x08", "a spanned ZIP archive"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office document"),
    (0, b"{\\rtf", "a Rich Text document"),
    (0, b"%!PS", "a PostScript document"),
    (0, b"AT&TFORM", "a DjVu document"),
    (60, b"BOOKMOBI", "a Mobipocket e-book"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (4, b"1AY&SY", "a bzip2 archive"),
    (0, b"\xfd7zXZ\x00", "an xz archive"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (0, b"\x04\x22\x4d\x18", "an LZ4 archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (0, b"Rar!\x1a\x07", "a RAR archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"!<arch>\n", "a Unix archive"),
    (0, b"\xed\xab\xee\xdb", "an RPM package"),
    (0, b"GIF87a", "a GIF image"),
    (0, b"GIF89a", "a GIF image"),
    (0, b"8BPS\x00\x01", "a Photoshop image"),
    (0, b"\x00\x00\x01\x00", "an icon"),
    (0, b"\x78\x9f\x3e\x22", "Outlook's container of a mail and its attachments (winmail.dat)"),
    (0, b"\x7fELF", "an ELF program"),
    (0, b"\xca\xfe\xba\xbe", "a Java class or Mach-O program"),
    (0, b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (0, b"\xce\xfa\xed\xfe", "a Mach-O program"),
    (0, b"\x00asm", "a WebAssembly module"),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (0, b"ID3\x02", "an MP3 recording"),
    (0, b"ID3\x03", "an MP3 recording"),
    (0, b"ID3\x04", "an MP3 recording"),
    (0, b"fLaC\x00", "a FLAC recording"),
    (0, b"OggS\x00", "an Ogg recording"),
    (0, b"MThd\x00\x00", "a MIDI file"),
    (0, b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
    (0, b"FLV\x01", "a Flash video"),
    (0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a Windows Media file"),
    (0, b"wOFF\x00", "a font"),
    (0, b"wOF2\x00", "a font"),
    (0, b"OTTO\x00", "a font"),
    (0, b"\x00\x01\x00\x00\x00", "a font"),
)
"""(offset, bytes, name). Only signatures that no sensible text starts with."""

_SECURED = {
    b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02": "an S/MIME signature",
    b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03": "an encrypted S/MIME message",
    b"\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x17": "an encrypted S/MIME message",
}
"""Object identifier of what a structure in ASN.1 holds → name."""
_RIFF = {b"WAVE": "a WAV recording", b"AVI ": "an AVI video"}


def known_format(content: bytes) -> str:
    """Return the name of the binary format that ``content`` starts like, with its article; '' if none is known."""
    for offset, signature, name in _SIGNATURES:
        if content.startswith(signature, offset):
            return name
    for identifier, name in _SECURED.items():
        if content.startswith(b"\x30") and identifier in content[:32]:
            return name
    if content.startswith(b"RIFF"):
        return _RIFF.get(content[8:12], "")
    if content.startswith(b"ftyp", 4) and content[0] == 0:
        return "an MP4, QuickTime or HEIF file"
    if content.startswith(b"BM") and content[6:10] == b"\x00\x00\x00\x00":
        return "a BMP image"
    if content.startswith(b"MZ") and b"\x00" in content[:64]:
        return "a Windows program"
    if len(content) > 2 and content[0] == 0xFF and content[1] in (0xFB, 0xF3, 0xF2):
        return "an MP3 recording"
    return ""


_REMEDIES = {
    "a GIF image": "convert it to PNG",
    "a BMP image": "convert it to PNG",
    "an old Microsoft Office document": "convert it to DOCX, XLSX or PPTX",
    "a Rich Text document": "convert it to DOCX",
    "a PostScript document": "convert it to PDF",
    "a DjVu document": "convert it to PDF",
    "a Mobipocket e-book": "convert it to EPUB",
    "Outlook's container of a mail and its attachments (winmail.dat)": "ask the sender to send the mail as HTML or plain text,"
    " not as Rich Text, or the attachments in another way",
    "an encrypted S/MIME message": "save it decrypted in your mail program, or ask the sender for a copy without encryption",
}


def advice(found: str, content: bytes) -> str:
    """Return why a file in the binary format ``found`` is not read, and what to do."""
    if found == "an old Microsoft Office document" and "EncryptedPackage".encode("utf-16-le") in content:
        return "encrypted: give the password to a copy"
    if found.endswith(("archive", "office document")):
        remedy = "unpack it, and put in what it holds"
    else:
        remedy = _REMEDIES.get(found, "")
    return f"this is {found}, which is not read{f': {remedy}' if remedy else ''}"
