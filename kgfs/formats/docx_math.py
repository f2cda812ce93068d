"""Formulas of Office documents (OMML) as one line of text: ``(a + b)/2``, ``x^2``, ``√(y)``, ``∑_(i=1)^n i``."""

from __future__ import annotations

from typing import Any

from kgfs.formats.package import attribute, child, local

_LEFT_OUT = frozenset({"rPr", "ctrlPr", "fPr", "dPr", "naryPr", "radPr", "sSupPr", "sSubPr", "sSubSupPr", "mPr"})


def formula(element: Any) -> str:
    """Return the formula below an element."""
    name = local(element)
    if name == "t":
        return element.text or ""
    if name == "f":
        return f"{_grouped(element, 'num')}/{_grouped(element, 'den')}"
    if name in ("sSup", "sSub", "sSubSup"):
        below = f"_{_grouped(element, 'sub')}" if name != "sSup" else ""
        above = f"^{_grouped(element, 'sup')}" if name != "sSub" else ""
        return f"{_inside(element, 'e')}{below}{above}"
    if name == "rad":
        return f"{_inside(element, 'deg')}√({_inside(element, 'e')})"
    if name == "nary":
        sign = attribute(child(child(element, "naryPr"), "chr"), "val") or "∫"
        below, above = _grouped(element, "sub"), _grouped(element, "sup")
        limits = (f"_{below}" if below else "") + (f"^{above}" if above else "")
        return f"{sign}{limits} {_inside(element, 'e')}"
    if name == "d":
        properties = child(element, "dPr")
        signs = [child(properties, each) for each in ("begChr", "sepChr", "endChr")]
        opening, between, closing = (
            attribute(sign, "val") if sign is not None else usual for sign, usual in zip(signs, "(|)", strict=True)
        )
        return opening + between.join(formula(each) for each in element if local(each) == "e") + closing
    if name == "func":
        return f"{_inside(element, 'fName')} {_inside(element, 'e')}"
    if name in ("limLow", "limUpp"):
        return f"{_inside(element, 'e')}{'_' if name == 'limLow' else '^'}{_grouped(element, 'lim')}"
    if name in ("m", "eqArr"):
        rows = [each for each in element if local(each) in ("mr", "e")]
        return "; ".join(", ".join(map(formula, row)) if local(row) == "mr" else formula(row) for row in rows)
    if name in _LEFT_OUT:
        return ""
    return "".join(map(formula, element))


def _inside(element: Any, name: str) -> str:
    found = child(element, name)
    return formula(found) if found is not None else ""


def _grouped(element: Any, name: str) -> str:
    """Return a part of a formula, in parentheses unless it is one number or word."""
    words = _inside(element, name).strip()
    return words if words.isalnum() or not words else f"({words})"
