"""Numbers of sheets are read as their format shows them where it has a unit, and as stored elsewhere."""

from __future__ import annotations

from datetime import datetime

import pytest

from kgfs.formats.sheet_numbers import shown
from kgfs.formats.table import parse
from tests.support.office import xlsx


@pytest.mark.parametrize(
    ("stored", "code", "wanted"),
    [
        ("0.475", "0.0%", "47.5%"),
        ("0.12", "0%", "12%"),
        ("0.47499999999999998", "0.00%", "47.50%"),
        ("0.475", "0.##%", "47.5%"),
        ("-0.05", "0%;[Red](0%)", "-5%"),
        ("0.285", "0\\ %", "29 %"),
        ("0.475", '0.0" %"', "0.475"),  # a mark that is only written
        ("12.5", "#,##0%", "1,250%"),
        ("0.5", '0%" of sales"', "50% of sales"),
        ("1e400", "0%", "1e400"),
        ("1.5", "[h]:mm", "36:00"),
        ("1.5", "[hh]:mm:ss", "36:00:00"),
        ("0.5", "[h]:mm", "12:00"),
        ("0.0625", "[m]:ss", "90:00"),
        ("1.5", '[h]" h "mm', "36 h 00"),
        ("-1.25", "[$-409][h]:mm;@", "-30:00"),
        ("0.35", "[h]:mm:ss.0", "8:24:00"),
        ("0.5", "h:mm", "12:00:00"),
        ("45000", "yyyy\\-mm\\-dd", "2023-03-15"),
        ("150000", '"€"#,##0.00', "150000"),
        ("0.1", "0.00E+00", "0.1"),
        ("3", "s.0%", "3"),
        ("7x", "0%", "7x"),
        ("nan", "[h]", "nan"),
        ("1.0", "", "1"),
    ],
)  # fmt: skip
def test_a_number_is_shown_with_the_unit_of_its_format(stored: str, code: str, wanted: str) -> None:
    assert shown(stored, code, datetime(1899, 12, 30)) == wanted


def test_cells_have_the_formats_of_their_styles() -> None:
    rows = "".join(
        f'<c s="{style}"><v>{value}</v></c>' for style, value in enumerate(("0.475", "0.12", "1.5", "0.5", "2"))
    )
    codes = '<numFmt numFmtId="164" formatCode="0.0%"/><numFmt numFmtId="165" formatCode="[h]:mm"/>'
    styles = "".join(f'<xf numFmtId="{id_}"/>' for id_ in (164, 9, 165, 20, 2))
    text = parse("a.xlsx", xlsx(f'<row r="1">{rows}</row>', styles=styles, codes=codes)).text
    assert "| 47.5% | 12% | 36:00 | 12:00:00 | 2 |" in text
