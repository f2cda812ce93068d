"""Words and phrases that the rendered files share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from json.encoder import encode_basestring
from typing import Any

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_NOT_IN_YAML = re.compile("[\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_NOT_IN_JSON = re.compile("[\x7f-\x9f\ud800-\udfff]")


def encode(text: str) -> bytes:
    """Return UTF-8 as files contain it. A lone surrogate of a Text keeps its three bytes, as in the Text's own hash."""
    return text.encode("utf-8", "surrogatepass")


def visible(text: str) -> str:
    """Return the text with each control character as one character that a terminal only shows, so that offsets stay.

    C0 but tab, LF and CR become their pictures (U+2400 and following), DEL becomes U+2421, and C1 becomes U+FFFD.
    """
    return _CONTROL.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def rendered(text: str) -> bytes:
    """Return the bytes of a rendered file: UTF-8 without control characters but tab, LF and CR."""
    return encode(visible(text))


def fold(text: str) -> str:
    """Return the text on one line: every run of white space becomes one space, and control characters visible."""
    return visible(" ".join(text.split()))


def folded_size(text: str) -> int:
    """Return the bytes that the text takes on one line."""
    return len(encode(fold(text)))


def json_page(content: Any) -> bytes:
    """Return a JSON file for people and programs: indented by two spaces, UTF-8, with a newline at the end."""
    out: list[str] = []
    _indented(content, "\n", out.append)
    return _json_bytes("".join(out))


def _indented(value: Any, line: str, put: Callable[[str], object]) -> None:
    """Write a value as ``json.dumps(value, indent=2, ensure_ascii=False)`` does, in a fraction of its time.

    ``line`` is the line end with the indentation of the value.
    """
    kind = type(value)
    if kind is str:
        put(encode_basestring(value))
    elif kind is dict and value:
        inner = f"{line}  "
        before = f"{{{inner}"
        for name, one in value.items():
            put(f"{before}{encode_basestring(name)}: ")
            _indented(one, inner, put)
            before = f",{inner}"
        put(f"{line}}}")
    elif kind in (list, tuple) and value:
        inner = f"{line}  "
        before = f"[{inner}"
        for one in value:
            put(before)
            _indented(one, inner, put)
            before = f",{inner}"
        put(f"{line}]")
    elif kind is int or (kind is float and value - value == 0):  # neither infinite nor NaN
        put(repr(value))
    else:
        put(json.dumps(value, ensure_ascii=False))


def json_lines(fields: Mapping[str, Any]) -> bytes:
    """Return a JSON file with each field on one line, lists included.

    Values are strings, integers, booleans, None, lists of these and objects of them. The function is made for speed: a listing needs
    the size of many small files.
    """
    body = ",\n".join([f'  "{name}": {_JSON_OF[type(value)](value)}' for name, value in fields.items()])
    return _json_bytes(f"{{\n{body}\n}}")


def json_line(fields: Mapping[str, Any]) -> bytes:
    """Return a JSON object on one line, with a newline at the end."""
    return _json_bytes(json.dumps(fields, ensure_ascii=False))


def _json_value(value: Any) -> str:
    """Return a value as JSON. The standard encoder takes much longer for plain strings and numbers."""
    return _JSON_OF[type(value)](value)


_JSON_OF: Mapping[type, Callable[[Any], str]] = {
    str: encode_basestring,
    int: str,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
    list: lambda values: f"[{', '.join([_json_value(value) for value in values])}]",
    dict: lambda fields: f"{{{', '.join([f'{encode_basestring(k)}: {_json_value(v)}' for k, v in fields.items()])}}}",
}


def _json_bytes(text: str) -> bytes:
    if not text.isascii() or "\x7f" in text:
        text = _NOT_IN_JSON.sub(_escaped, text)
    return f"{text}\n".encode()


def yaml_word(text: str) -> str:
    """Return a string as a YAML double-quoted scalar that is also JSON, its control characters visible."""
    return _NOT_IN_YAML.sub(_escaped, json.dumps(visible(text), ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def yaml_list(texts: Sequence[str]) -> str:
    """Return a YAML flow sequence, on one line."""
    return f"[{', '.join(yaml_word(text) for text in texts)}]"


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: ``1 concept``, ``2,500 concepts``."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def as_guessed(encoding: str) -> str:
    """Return the words for an encoding that was guessed; '' for one that is known."""
    return f"{encoding}, guessed" if encoding else ""


def below(title: str, section: Sequence[str]) -> str:
    """Return the headings above a place of a document, outermost first and each after ``›``, on one line. Without those
    that repeat the title; '' where none is left."""
    named = fold(title).casefold()
    shown = (fold(heading) for heading in section)
    return "".join(f" › {heading}" for heading in shown if heading and heading.casefold() != named)


def below_size(title: str, section: str) -> int:
    """Return the bytes of :func:`below`; the headings are a JSON list."""
    return len(encode(below(title, json.loads(section)))) if section != "[]" else 0


def lines_of(start: int, end: int) -> str:
    """Return ``line 3`` or ``lines 3-5``."""
    return f"line {start}" if start == end else f"lines {start}-{end}"


def time_of(nanoseconds: int) -> str:
    """Return ``2026-11-21T10:30:00Z``, to the second."""
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def instant_of(nanoseconds: int) -> str:
    """Return ``2026-11-21T10:30:00.123Z``, to the millisecond: for lines of which several fall into a second."""
    return f"{time_of(nanoseconds)[:-1]}.{nanoseconds // 10**6 % 1000:03}Z"


def day_of(nanoseconds: int) -> str:
    """Return ``2026-11-21``, UTC."""
    return time_of(nanoseconds)[:10]
