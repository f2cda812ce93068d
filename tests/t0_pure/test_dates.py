"""The date that a document gives itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.domain.dates import moment, own_date


def at(*parts: int) -> int:
    return round(datetime(*parts, tzinfo=UTC).timestamp()) * 10**9  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("2024", at(2024, 1, 1)),
        ("2024-05", at(2024, 5, 1)),
        ("'2024-05-06'", at(2024, 5, 6)),
        ("2024/5/6", at(2024, 5, 6)),
        ("2024-05-06T07:08:09Z", at(2024, 5, 6, 7, 8, 9)),
        ("2024-05-06 07:08", at(2024, 5, 6, 7, 8)),
        ("2024-05-06T07:08:09.5+02:00", at(2024, 5, 6, 5, 8, 9)),
        ("12-Dec-2012", at(2012, 12, 12)),
        ("Thu, 6 June 1985", at(1985, 6, 6)),
        ("June 6th, 1925", at(1925, 6, 6)),
        ("1066-10-14", None),
        ("2024-13-01", None),
        ("20240506", None),
        ("yesterday", None),
        ("6 Brumaire 1801", None),
        ("", None),
    ],
)
def test_a_value_is_a_date_or_none(value: str, told: int | None) -> None:
    assert moment(value) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\ntitle: A\ncreated: 2023-01-02\ndate: 2024-05-06\n---\nText\n", at(2024, 5, 6)),
        ("\ufeff---\r\nCreated: 2023-01-02\r\n---\r\n", at(2023, 1, 2)),
        ('+++\ndate = "2024-05-06"\n+++\n', at(2024, 5, 6)),
        ("---\nmeta:\n  date: 2024-05-06\n---\n", None),
        ("---\ndate: soon\ncreated: 2023-01-02\n---\n", at(2023, 1, 2)),
        ("---\ntitle: A\n---\ndate: 2024-05-06\n", None),
        ("PEP: 3156\nTitle: Asynchronous IO\n   Support\nCreated: 12-Dec-2012\n\nText\n", at(2012, 12, 12)),
        (":author: A\n:date: 2024-05-06\n\nTitle\n", at(2024, 5, 6)),
        ("A title\n\ndate: 2024-05-06\n", None),
        ("", None),
    ],
)
def test_it_stands_in_the_front_matter_or_the_first_fields(text: str, told: int | None) -> None:
    assert own_date(text) == told


@given(st.text(), st.sampled_from(["---\ndate: ", "date: ", ""]))
def test_any_text_has_a_date_that_fits_or_none(text: str, before: str) -> None:
    found = own_date(before + text)
    assert found is None or abs(found) < 2**63
