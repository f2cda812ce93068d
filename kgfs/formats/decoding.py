"""The decoding of bytes that are text: by their mark, as UTF-8, as UTF-16 without a mark, else by the best guess."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from kgfs.domain.languages import UNKNOWN, language_of
from kgfs.errors import UnreadableTextError
from kgfs.formats.magic import advice, known_format

REPLACED = "\ufffd"
"""The character that stands for wrong bytes."""
SAMPLE = 1 << 20
"""Bytes by which an encoding is judged."""
TOLERANCE = 16
"""A text has at least so many characters for each wrong one, and so many bytes for each run of NULs but one."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte-order marks. The longer mark stands first: the mark of UTF-32-LE starts with that of UTF-16-LE."""

_NULS = re.compile(rb"\x00+")
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0e-\x1f\x7f]")
"""Control characters except tab, LF, CR and FF; NULs are counted apart."""
_NOT_IN_OLD_TEXT = re.compile(rb"[\x01-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
"""The same without ESC, as terminals write it."""
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_COMMON = re.compile(r"[\t\n\r -~、。，]")
"""Characters of which every text in UTF-16 has one among forty."""
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
_CHARACTER = re.compile(r"[^\x00-\x7f]")
_FEW = 10_000
"""Characters, or runs of bytes, beyond ASCII by which an encoding is judged."""
_DECLARED = (
    re.compile(rb"<meta[^>]{0,300}charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE),
    re.compile(rb"<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.-]{2,40})", re.IGNORECASE),
    re.compile(rb"\A(?:.*\n)?[^\w\n]{1,6}.{0,40}?coding[:=]\s*([\w.-]{2,40})"),
)
"""How pages, XML, and source by its first or second line, declare their encoding."""
_SAME = {"iso-8859-1": "windows-1252", "latin1": "windows-1252", "us-ascii": "windows-1252", "gb2312": "gb18030"}
"""What browsers read where a page says this."""
_SIGN = re.compile(
    rb"""(?<![\x80-\xff])(?:
        [\x85\x91-\x97\xa0\xab\xb7\xbb]                                            # quotes, dashes and the like
        |(?<![A-Za-z])[\x80\x99\xa3\xa7\xa9\xae\xb0-\xb3\xbc-\xbe\xd7](?![A-Za-z])  # signs beside no letter
        |(?<![A-Za-z])(?:\xb5(?=[A-Za-z])|\xb0(?=[CF]\b))                          # micrometres, degrees
    )(?![\x80-\xff])""",
    re.VERBOSE,
)
"""A sign in Windows-1252. Detectors judge letters: they cannot tell what a text without any beyond ASCII is in."""
_WESTERN = "windows-1252"
_LATIN = ("windows-1250", "windows-1254", "windows-1257", "windows-1258", "iso-8859-2", "iso-8859-4")
_DOS = "cp850"
"""What is tried where the guess makes no words: no detector knows it."""
_CODECS = {"shift_jis": "cp932", "euc-kr": "cp949", "big5": "big5hkscs"}
"""Python's codecs for all that is written in these encodings."""
_EAST = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "FULLWIDTH", "IDEOGRAPHIC"))
"""Scripts that stand together in one word, beside Latin letters, too."""
_STRANGE = 1 / 3
"""Share of strange characters among those beyond ASCII from which a guess is worse than none."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and how its bytes were decoded."""

    text: str
    encoding: str
    """The codec whose strict decoding of the bytes is the text; empty where some bytes are wrong."""
    guessed: str = ""
    """The name of the encoding where it was guessed."""
    wrong: int = 0
    """How many characters stand for wrong bytes."""
    note: str = ""
    """What is wrong, for people."""

    @property
    def is_sound(self) -> bool:
        """Return whether few characters are wrong."""
        return self.wrong * TOLERANCE <= len(self.text)


def decode(name: str, content: bytes) -> Decoded:
    """Decode a text. A byte-order mark is kept as the text's first character, and line ends as they are.

    Known binary formats are refused. A byte-order mark decides; else UTF-8, also where wrong bytes are among valid ones;
    else UTF-16; else what the text declares, if that makes words; else the best guess. Wrong bytes become REPLACED, and so does each run of NULs, as a crash leaves it.
    Raises UnreadableTextError, which names what the file seems to be and the remedy, for binary data and for a text of
    which no guess makes words.
    """
    if found := known_format(content):
        raise UnreadableTextError(f"{name}: {advice(found, content)}. The original is kept.")
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _marked(name, content, encoding)
    if (wide := utf_16_by_nuls(content)) is not None:
        return wide
    is_utf_8 = _is_utf_8(content)
    if (at := _binary_at(content, is_utf_8)) is not None:
        if len(content) % 2 == 0 and (wide := _utf_16(content)) is not None:
            return wide
        raise UnreadableTextError(
            f"{name}: binary data, not text (byte 0x{content[at]:02x} at {at}). The original is kept; "
            "if it should be text, save it as UTF-8."
        )
    if is_utf_8 and b"\x1b$" in content and (japanese := read_as(content, "iso2022_jp", "iso-2022-jp")).encoding:
        return japanese
    if is_utf_8 or is_mostly_utf_8(content):
        return read_as(content, "utf-8")
    if (
        (codec := declared_codec(content))
        and (declared := read_as(content, codec)).encoding
        and makes_words(declared.text)
    ):
        return declared
    if (best := guess(content)) is None:
        raise UnreadableTextError(
            f"{name}: its encoding is not known: it is not UTF-8, and no other encoding makes words of it. "
            "Save it again as UTF-8."
        )
    return best


def decode_start(content: bytes, length: int) -> str:
    """Return about ``length`` characters at the beginning, for inspection only: what cannot be decoded is replaced."""
    start = content[: 4 * length]
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "")
    wide = None if encoding else utf_16_by_nuls(start)
    return (wide.text if wide else start.decode(encoding or "utf-8", "replace"))[:length]


def declared_codec(content: bytes) -> str:
    """Return the codec of the encoding that a text declares in its beginning; '' for none, or one that is not known."""
    head = content[:4096]
    found = next(filter(None, (pattern.search(head) for pattern in _DECLARED)), None)
    return codec_of(found[1].decode("ascii", "replace")) if found else ""


def codec_of(name: str) -> str:
    """Return Python's name of the encoding that browsers take for a declared one; '' for one that is not known."""
    name = name.strip().lower()
    if name.startswith(("utf-16", "utf16", "ucs-2")) or not name:
        return ""  # a text whose declaration can be read as ASCII is in no such encoding
    try:
        found = codecs.lookup(_SAME.get(name, name)).name
        b"".decode(found)
    except (LookupError, ValueError):  # codecs that make no text of bytes are LookupErrors
        return ""
    return found


def read_as(content: bytes, codec: str, guessed: str = "") -> Decoded:
    """Decode bytes, the wrong ones and runs of NULs replaced."""
    encoding, wrong, notes = codec, 0, list[str]()
    try:
        text = content.decode(codec)
    except UnicodeDecodeError:
        encoding, text = "", content.decode(codec, "replace")
        wrong = text.count(REPLACED) - (content.count(REPLACED.encode()) if codec == "utf-8" else 0)
        which = "1 character is" if wrong == 1 else f"{wrong:,} characters are"
        notes.append(f"{which} not valid {(guessed or codec).upper()}, shown as {REPLACED}")
    if nuls := text.count("\x00"):
        text, runs = re.subn("\x00+", REPLACED, text)
        encoding, wrong = "", wrong + runs
        notes.append(f"{nuls:,} NUL characters, each run of them shown as {REPLACED}")
    return Decoded(text, encoding, guessed, wrong, "; ".join(notes))


def utf_16_by_nuls(content: bytes) -> Decoded | None:
    """Return a text in UTF-16 without a mark, of which many bytes are NUL, all in odd or all in even places; None if the
    bytes are none."""
    sample = content[:SAMPLE]
    least, most = sorted((sample[::2].count(0), sample[1::2].count(0)))
    return _utf_16(content) if most >= 4 and most * 8 >= len(sample) and least * 10 < most else None


def _utf_16(content: bytes) -> Decoded | None:
    for codec in ("utf-16-le", "utf-16-be"):
        start = content[:SAMPLE].decode(codec, "replace")
        is_text = REPLACED not in start[:-1] and not _CONTROL_CHARACTER.search(start)
        if is_text and len(_COMMON.findall(start)) * 40 >= len(start) and makes_words(start):
            return read_as(content, codec, codec)
    return None


def guess(content: bytes) -> Decoded | None:
    """Return a text in the encoding that it is likeliest in; None where no guess makes words."""
    first = _BEYOND_ASCII.search(content)
    start = first.start() if first else 0
    sample = content[max(content.rfind(b"\n", 0, start), start - 1000, 0) :][:SAMPLE].replace(b"\x00", b"")
    lines = sample.rpartition(b"\n")[0]  # the last one may end within a character
    for name in (_likeliest(sample if lines.isascii() else lines), _DOS):
        found = read_as(content, _CODECS.get(name, name), name)
        if found.is_sound and makes_words(found.text):
            return found
    return None


def is_mostly_utf_8(content: bytes) -> bool:
    """Return whether at least half of the runs beyond ASCII, or of the characters in them, are valid UTF-8."""
    runs = [found[0] for found in islice(_BEYOND_ASCII.finditer(content), _FEW)]
    wrong, valid = 0, 0
    for run in runs:
        characters = run.decode("utf-8", "replace")
        wrong += characters.count(REPLACED)
        valid += len(characters) - characters.count(REPLACED)
    return sum(map(_is_utf_8, runs)) * 2 >= len(runs) or valid >= wrong


def makes_words(text: str) -> bool:
    """Return whether the characters beyond ASCII stand together as they do in some language.

    Strange are characters that nobody writes, letters of two scripts side by side, three Latin letters beyond ASCII in a row,
    capitals behind small letters, and signs between letters, all of which one encoding makes of another.
    """
    seen = strange = 0
    for found in islice(_CHARACTER.finditer(text), _FEW):
        at = found.start()
        seen += 1
        strange += _is_strange(text[at - 1] if at else " ", found[0], text[at + 1] if at + 1 < len(text) else " ")
    return not strange or strange < _STRANGE * seen


def _is_strange(before: str, character: str, behind: str) -> bool:
    category = unicodedata.category(character)
    if category in ("Cc", "Cn", "Co"):
        return True
    script, left, right = _script(character), _script(before), _script(behind)
    if script:
        mixed = any(other and _differs(script, other, beside) for other, beside in ((left, before), (right, behind)))
        dense = script == left == right == "LATIN" and before > "\x7f" < behind
        return (
            mixed or dense or (before.islower() and character.isupper()) or (character.islower() and behind.isupper())
        )
    if character in "‚„ƒ":
        return bool(left)
    is_between = bool(left and right) and (category[0] in "SN" or character in "“”†‡‰‹›…•ªº¡¿")
    return is_between or (bool(left or right) and "\u2500" <= character < "\u2600")


def _differs(script: str, other: str, beside: str) -> bool:
    return script != other and not (script == "EAST" and beside.isascii())


@lru_cache(1 << 14)
def _script(character: str) -> str:
    """Return the script of a letter; '' for what is none."""
    if not character.isalpha() or character in "ªµºƒ":
        return ""
    script = unicodedata.name(character, "?").partition(" ")[0].partition("-")[0]
    return "EAST" if script in _EAST else script


def _likeliest(sample: bytes) -> str:
    """Return the name of the likeliest encoding.

    Windows-1252 is sure where no letter is beyond ASCII; it is likelier than others for Latin letters where the words tell a
    language that is written so.
    """
    from chardetng_py import EncodingDetector

    if _SIGN.sub(b"", sample).isascii():
        return _WESTERN
    detector = EncodingDetector()
    detector.feed(sample, last=True)
    name = str(detector.guess(tld=None, allow_utf8=False)).lower()
    if name in _LATIN and language_of(sample.decode(_WESTERN, "replace"), UNKNOWN) != UNKNOWN:
        return _WESTERN
    if name == "koi8-u" and sample.decode(name, "replace") == sample.decode("koi8-r", "replace"):
        return "koi8-r"
    return name


def _marked(name: str, content: bytes, encoding: str) -> Decoded:
    found = read_as(content, encoding)
    if found.is_sound or (encoding == "utf-8" and b"\x00" not in content and is_mostly_utf_8(content[3:])):
        return found
    raise UnreadableTextError(
        f"{name}: it starts with the mark of {encoding[:6].upper().rstrip('-')} but is not valid. Save it again as UTF-8."
    )


def _binary_at(content: bytes, is_utf_8: bool) -> int | None:
    """Return where data stand that no text has; None if it may be one.

    Terminal logs with escapes and the like are text: of valid UTF-8 a tenth may be control characters, as far as the first
    64 KiB tell. A crash leaves NULs in a few long runs, however many they are.
    """
    at = content.find(0)
    if at >= 0:
        further = sum(1 for _ in _NULS.finditer(content, at)) - 1
        if further * TOLERANCE >= len(content) - content.count(0):
            return at
    found = (_CONTROL if is_utf_8 else _NOT_IN_OLD_TEXT).search(content)
    sample = content[: 1 << 16]
    if found and is_utf_8 and len(_CONTROL.findall(sample)) * 10 <= len(sample) - sample.count(0):
        return None
    return found.start() if found else None


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
