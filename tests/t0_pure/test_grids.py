"""Tables whose cells span rows and columns keep their columns."""

from __future__ import annotations

import pytest

from kgfs.formats.grid import MOST_COLUMNS, REPEATED, TO_THE_END, Grid
from kgfs.formats.table import parse
from tests.support.office import docx, xlsx


def html(*rows: str) -> str:
    """Return the Text of a page with a table of these rows."""
    page = f"<!doctype html><title>Shifts</title><table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
    return parse("shifts.html", page.encode()).text


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (
            (
                "<th>Team<th>Day<th>Hours",
                "<td rowspan=2>Amber crew<td>Monday<td>7",
                "<td>Tuesday<td>8",
                "<td>Basalt crew<td colspan=2>on leave",
            ),
            ["Team | Day | Hours", "--- | --- | ---", "Amber crew | Monday | 7", "Amber crew | Tuesday | 8", "Basalt crew | on leave | "],
        ),
        (
            ("<td>a<td rowspan=2 colspan=2>block<td>b", "<td>c<td>d", "<td>e<td>f<td>g<td>h"),
            ["a | block |  | b", "--- | --- | --- | ---", "c | block |  | d", "e | f | g | h"],
        ),
        (
            ("<td rowspan=3>x<td rowspan=2>y", "", "<td>z<td>later"),  # a row without cells of its own is a row
            ["x | y | ", "--- | --- | ---", "x | z | later"],
        ),
        (
            ("<td rowspan=0>all<td>1", "<td>2", "<tbody><tr><td>next<td>3"),  # no cell spans a group of rows
            ["all | 1", "--- | ---", "all | 2", "next | 3"],
        ),
        (("<td rowspan=1000000>a<td>1", "<td>2"), ["a | 1", "--- | ---", "a | 2"]),
        (("<td rowspan=x colspan=-1>a<td>1", "<td>2<td>3"), ["a | 1", "--- | ---", "2 | 3"]),
    ],
)  # fmt: skip
def test_cells_of_a_web_page_keep_their_columns_below_one_that_spans_rows(rows: tuple[str], wanted: list[str]) -> None:
    assert html(*rows).splitlines() == [f"| {line} |" for line in wanted]


def test_what_spans_repeats_little() -> None:
    long = "w" * (REPEATED + 1)
    assert html(f"<td rowspan=2>{long}<td>1", "<td>2").splitlines()[2] == "|  | 2 |"
    grid = Grid()
    assert len(grid.row([("a", TO_THE_END, TO_THE_END)] * 3)) == MOST_COLUMNS + 2
    said = sum(len("".join(grid.row([("b" * REPEATED, TO_THE_END, 1)]))) for _ in range(2000))
    assert len(grid.row([])) == MOST_COLUMNS and said < 3 << 20
    grid.begin()
    assert grid.row([("c", 1, 1)]) == ["c"]


def test_merged_cells_of_a_sheet_are_said_in_each_row_that_they_head() -> None:
    inline = '<c r="{}" t="inlineStr"><is><t>{}</t></is></c>'.format
    rows = (
        f'<row r="1">{inline("A1", "Rota")}</row>'
        f'<row r="2">{inline("A2", "Team")}{inline("B2", "Day")}{inline("C2", "Hours")}</row>'
        f'<row r="3">{inline("A3", "Amber_x000D_ crew")}{inline("B3", "Monday")}<c r="C3"><v>7</v></c></row>'
        f'<row r="4"><c r="A4"/>{inline("B4", "_x005F_x000D_")}<c r="C4"><v>8</v></c></row>'
        f'<row r="5">{inline("B5", "on leave")}</row>'
    )
    merged = "".join(f'<mergeCell ref="{each}"/>' for each in ("A1:C1", "A3:A4", "B5:C5", "E1:E99999999"))
    text = parse("a.xlsx", xlsx(rows, merged=merged)).text
    assert text.split("\n\n")[1].splitlines() == [
        "| Rota |  |  |",
        "| --- | --- | --- |",
        "| Team | Day | Hours |",
        "| Amber crew | Monday | 7 |",
        "| Amber crew | _x000D_ | 8 |",
        "|  | on leave |",
    ]


def test_merged_cells_of_a_word_table_are_said_in_each_row_that_they_head() -> None:
    cell = "<w:tc><w:tcPr>{}</w:tcPr><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>".format
    begins, goes_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    rows = (
        cell("", "Team") + cell("", "Day") + cell("", "Hours"),
        cell(begins, "Amber crew") + cell("", "Monday") + cell("", "7"),
        cell(goes_on, "") + cell("", "Tuesday") + cell("", "8"),
        cell('<w:gridSpan w:val="2"/>', "Basalt crew") + cell("", "9"),
        '<w:trPr><w:gridBefore w:val="1"/></w:trPr>' + cell("", "Friday") + cell("", "5"),
    )
    text = parse("a.docx", docx(f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>")).text
    assert text.splitlines()[2:] == [
        "| Amber crew | Monday | 7 |",
        "| Amber crew | Tuesday | 8 |",
        "| Basalt crew |  | 9 |",
        "|  | Friday | 5 |",
    ]
