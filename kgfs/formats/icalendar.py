"""Calendars and invitations (iCalendar, RFC 5545): what, when, where and who, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kgfs.formats.contract import Format
from kgfs.formats.html import decoded, told
from kgfs.formats.pieces import Piece, heading

SHOWN = ("VEVENT", "VTODO", "VJOURNAL")
"""The components that are told."""

_FOLDED = re.compile(r"\r?\n[ \t]")
_LINE = re.compile(r'(?P<name>[A-Za-z0-9-]+)(?P<parameters>(?:;[^=:;"]+=(?:"[^"]*"|[^:;"])*)*):(?P<value>.*)')
_PARAMETER = re.compile(r';([^=:;"]+)=("[^"]*"|[^;"]*)')
_ESCAPED = re.compile(r"\\([\\;,nN])")
_TIME = re.compile(r"(\d{8})(?:T(\d{4})\d{0,2}(Z?))?$")
_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$")
_METHODS = {"REQUEST": "Invitation", "CANCEL": "Cancelled", "REPLY": "Reply", "COUNTER": "Other proposal"}
_DAYS = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"),
                 ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), strict=True))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a property, with its parameters by their names in capitals."""

    text: str
    parameters: Mapping[str, str]


@dataclass(slots=True)
class Component:
    """One event, task or note of a calendar: its properties by their names in capitals."""

    properties: dict[str, list[Value]] = field(default_factory=dict)

    def first(self, name: str) -> Value:
        return self.properties.get(name, [Value("", {})])[0]


def pieces(content: bytes) -> Iterator[Piece]:
    """Yield the blocks of a calendar file."""
    found = decoded(content)
    yield from words_of(found.text, 1)
    yield from told(found)


def words_of(calendar: str, level: int) -> Iterator[Piece]:
    """Yield what a calendar says: of each component a heading of that level, its fields, and its description."""
    method, components = _parsed(calendar)
    for each in components:
        summary = _unescaped(each.first("SUMMARY").text) or method
        yield heading(summary, level)
        fields = {
            "Kind": "" if summary == method else method,
            "Status": each.first("STATUS").text.replace("-", " ").capitalize(),
            "When": _when(each),
            "Repeats": _repeats(each.first("RRULE").text),
            "Where": _unescaped(each.first("LOCATION").text),
            "Organizer": _people(each, "ORGANIZER"),
            "Attendees": _people(each, "ATTENDEE"),
        }
        lines = [f"**{name}:** {' '.join(value.split())}" for name, value in fields.items() if value]
        yield Piece("paragraph", "\n".join(lines))
        for name in ("DESCRIPTION", "COMMENT"):
            for value in each.properties.get(name, []):
                yield from (Piece("paragraph", part) for part in _unescaped(value.text).split("\n\n"))


def _parsed(calendar: str) -> tuple[str, list[Component]]:
    """Return the method of a calendar in words, and its components, without the alarms and time zones in them."""
    method, inside, found = "Event", list[str](), list[Component]()
    for line in _FOLDED.sub("", calendar).splitlines():
        matched = _LINE.match(line)
        if matched is None:
            continue
        name, value = matched["name"].upper(), matched["value"]
        if name == "BEGIN":
            inside.append(value.strip().upper())
            found += [Component()] if inside[-1] in SHOWN else []
        elif name == "END":
            del inside[-1:]
        elif inside and inside[-1] in SHOWN:
            parameters = {key.upper(): text.strip('"') for key, text in _PARAMETER.findall(matched["parameters"])}
            found[-1].properties.setdefault(name, []).append(Value(value, parameters))
        elif name == "METHOD":
            method = _METHODS.get(value.strip().upper(), method)
    return method, found


def _when(component: Component) -> str:
    """Return when something takes place, or is due: ``2023-11-07 13:00–14:00 UTC``."""
    start = component.first("DTSTART")
    begins = _moment(start.text)
    end = component.first("DTEND")
    ends = _moment(end.text)
    due = component.first("DUE")
    if begins is None:
        return f"due {_shown(due)}" if due.text else _unescaped(start.text)
    if (duration := _DURATION.match(component.first("DURATION").text)) and ends is None:
        weeks, days, hours, minutes, seconds = (int(part or 0) for part in duration.groups())
        ends = begins + timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
        end = start
    zone = _zone(start)
    if "T" not in start.text:
        last = ends - timedelta(days=1) if ends else begins
        return f"{begins:%Y-%m-%d}" + (f" – {last:%Y-%m-%d}" if last > begins else "")
    if ends is None or ends == begins:
        return f"{begins:%Y-%m-%d %H:%M}{zone}" + (f", due {_shown(due)}" if due.text else "")
    if _zone(end) != zone:
        return f"{begins:%Y-%m-%d %H:%M}{zone} – {ends:%Y-%m-%d %H:%M}{_zone(end)}"
    same_day = ends.date() == begins.date()
    return f"{begins:%Y-%m-%d %H:%M}{f'–{ends:%H:%M}' if same_day else f' – {ends:%Y-%m-%d %H:%M}'}{zone}"


def _shown(value: Value) -> str:
    moment = _moment(value.text)
    if moment is None:
        return value.text
    return f"{moment:%Y-%m-%d %H:%M}{_zone(value)}" if "T" in value.text else f"{moment:%Y-%m-%d}"


def _moment(text: str) -> datetime | None:
    found = _TIME.match(text.strip())
    try:
        return datetime.strptime(f"{found[1]}{found[2] or '0000'}", "%Y%m%d%H%M") if found else None
    except ValueError:  # such as a thirteenth month
        return None


def _zone(value: Value) -> str:
    named = value.parameters.get("TZID", "")
    return " UTC" if value.text.strip().endswith("Z") else f" {named}" if named else ""


def _repeats(rule: str) -> str:
    """Return the rule of a repetition in words: ``weekly, every 2, on Tuesday, until 2024-01-31``."""
    parts = dict(part.split("=", 1) for part in rule.strip().upper().split(";") if "=" in part)
    if "FREQ" not in parts:
        return ""
    days = [f"{day[:-2]} {_DAYS.get(day[-2:], day[-2:])}".strip() for day in parts.get("BYDAY", "").split(",") if day]
    said = [
        parts["FREQ"].lower(),
        f"every {parts['INTERVAL']}" if parts.get("INTERVAL", "1") != "1" else "",
        f"on {', '.join(days)}" if days else "",
        f"until {_shown(Value(parts['UNTIL'], {}))}" if "UNTIL" in parts else "",
        f"{parts['COUNT']} times" if "COUNT" in parts else "",
    ]
    return ", ".join(filter(None, said))


def _people(component: Component, name: str) -> str:
    """Return the people of a property: ``Ada Example <ada@example.org>``, and what they answered."""
    shown = []
    for value in component.properties.get(name, []):
        address = re.sub("(?i)^mailto:", "", value.text.strip())
        named = value.parameters.get("CN", "")
        answer = value.parameters.get("PARTSTAT", "NEEDS-ACTION").lower()
        who = f"{named} <{address}>" if named and named != address else address
        shown.append(who if answer == "needs-action" else f"{who} ({answer})")
    return ", ".join(filter(None, shown))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], text).strip()


def _is_calendar(content: bytes) -> bool:
    return content[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:15].upper() == b"BEGIN:VCALENDAR"


FORMAT = Format("ics/1", "text/calendar", frozenset({"ics"}), pieces=pieces, signature=_is_calendar)
