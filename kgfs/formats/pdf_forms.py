"""Fields of PDF forms that are filled in: their values stand in the lines of the page, behind what labels them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kgfs.formats.pdf_strings import decoded_string, string_of

TICKED = "ticked"
ABOVE = 14
"""Points above a field within which its label may end."""
_PASSWORD = 1 << 13
"""The flag of fields whose words are not to be seen."""

Box = tuple[float, float, float, float]
"""Left, bottom, right, top in points."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field that is filled in, or a box that is ticked."""

    box: Box
    words: str
    label: str
    """What the form says of the field beside the page; often nothing."""

    def alone(self) -> str:
        """Return the words of a field that has no label on its page."""
        return f"{self.label}: {self.words}" if self.label else self.words


def field_of(annotation: Any, form: Any) -> Field | None:
    """Return the field that an annotation (a widget) shows; None for an empty one, a button or a password.

    ``form`` is the pypdfium2.PdfFormEnv of the document, which knows what a field inherits; None if it has no form.
    """
    import pypdfium2.raw as pdfium

    flags = ctypes.c_float()
    pdfium.FPDFAnnot_GetNumberValue(annotation, b"Ff", flags)
    kind = string_of(annotation, "FT")
    value, label, bits = string_of(annotation, "V"), string_of(annotation, "TU"), int(flags.value)
    if form is not None:
        bits |= max(pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation), 0)
        kind = kind or _KINDS.get(pdfium.FPDFAnnot_GetFormFieldType(form, annotation), "")
        value = value or decoded_string(lambda *to: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, *to))
        label = label or decoded_string(lambda *to: pdfium.FPDFAnnot_GetFormFieldAlternateName(form, annotation, *to))
    if kind == "Btn":
        value = TICKED if string_of(annotation, "AS") not in ("", "Off") else ""
    rectangle = pdfium.FS_RECTF()
    pdfium.FPDFAnnot_GetRect(annotation, rectangle)
    if not value or kind not in ("Tx", "Ch", "Btn") or (bits & _PASSWORD and kind == "Tx"):
        return None
    box = rectangle.left, rectangle.bottom, rectangle.right, rectangle.top
    return Field(box, " ".join(value.split()), label)


_KINDS = {2: "Btn", 3: "Btn", 4: "Ch", 5: "Ch", 6: "Tx"}
"""FPDF_FORMFIELD_…: check boxes, radio buttons, lists of two kinds, text."""


class Fields:
    """The fields of a page while its lines are read from top to bottom."""

    def __init__(self, fields: Iterable[Field], box_of: Callable[[int], Box | None]) -> None:
        """``box_of`` returns the box of the character with an index; None if it has none."""
        self.placed: list[Field] = []
        """The fields that stand in a line."""
        self._left = list(fields)
        self._box_of = box_of

    def in_line(self, line: str, start: int, above: bool) -> str:
        """Return a line, whose first character has the index ``start``, with the values of the fields that it labels.

        ``above`` takes the fields that stand below the line, in place of those in it.
        """
        if not self._left:
            return line
        boxes = [(n, box) for n, word in enumerate(line) if word.strip() and (box := self._box_of(start + n))]
        if not boxes:
            return line
        bottom, top = min(box[1] for _, box in boxes), max(box[3] for _, box in boxes)
        added: list[tuple[int, float, str]] = []
        for field in list(self._left):
            left, low, right, high = field.box
            if above:
                is_here = 0 <= (bottom + top) / 2 - high <= ABOVE
                at = (
                    _behind(boxes, right)
                    if is_here and any(left <= _middle(box) <= right for _, box in boxes)
                    else None
                )
                words = f" {field.words}"
            else:
                is_here = low <= (bottom + top) / 2 <= high or bottom <= (low + high) / 2 <= top
                at, words = _place(boxes, field) if is_here else (None, "")
            if at is not None:
                added.append((at, left, words))
                self._left.remove(field)
                self.placed.append(field)
        for at, _, words in sorted(added, reverse=True):
            line = line[:at] + words + line[at:]
        return line


def _place(boxes: list[tuple[int, Box]], field: Field) -> tuple[int | None, str]:
    """Return where in its line a field stands, and with which words: a tick stands at the nearer of its neighbours."""
    before = [(n, box) for n, box in boxes if _middle(box) < field.box[0]]
    behind = [(n, box) for n, box in boxes if _middle(box) > field.box[2]]
    gap = behind[0][1][0] - field.box[2] if behind else 0.0
    if behind and (not before or (field.words == TICKED and gap < field.box[0] - before[-1][1][2])):
        return behind[0][0], f"[{field.words}] " if field.words == TICKED else f"{field.words} "
    return (before[-1][0] + 1, f" {field.words}") if before else (None, "")


def _behind(boxes: list[tuple[int, Box]], right: float) -> int:
    return max(n for n, box in boxes if _middle(box) <= right) + 1


def _middle(box: Box) -> float:
    return (box[0] + box[2]) / 2
