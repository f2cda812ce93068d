"""Rows of names that are remembered, and no longer than they are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.ingest.writing.open_file import MAX_REMEMBERED, RecentNames
from tests.support.depositing import Desk, desk_at


@pytest.fixture
def asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids that the catalog was asked for."""
    ids: list[int] = []
    names = type(desk.catalog.names)
    name = names.name
    monkeypatch.setattr(names, "name", lambda self, name_id: (ids.append(name_id), name(self, name_id))[1])
    return ids


def test_nothing_is_remembered_where_no_news_are_heard(desk: Desk, asked: list[int]) -> None:
    row, recent = desk.file("a.txt"), RecentNames(desk.catalog)
    asked.clear()
    assert recent.name(row.id) == recent.name(row.id) == row
    assert asked == [row.id, row.id]


def test_a_row_is_read_once_until_news_are_heard(desk: Desk, asked: list[int]) -> None:
    row, recent = desk.file("a.txt"), RecentNames(desk.catalog)
    recent.heard(1)
    asked.clear()
    assert recent.name(row.id) == recent.name(row.id) == row
    assert asked == [row.id]
    recent.heard(1)
    recent.name(row.id)
    assert asked == [row.id]
    recent.heard(2)
    recent.name(row.id)
    assert asked == [row.id, row.id]


def test_what_this_process_changes_counts_at_once(desk: Desk) -> None:
    row, recent = desk.file("a.txt"), RecentNames(desk.catalog)
    recent.heard(1)
    recent.name(row.id)
    desk.deposits.set_attributes(row.id, mode=0o600)
    found = recent.name(row.id)
    assert found is not None
    assert found.mode == 0o600
    desk.deposits.remove(row.id)
    assert recent.name(row.id) is None


def test_what_another_process_changes_counts_from_when_it_is_heard(home: Path, desk: Desk) -> None:
    row, recent = desk.file("a.txt"), RecentNames(desk.catalog)
    recent.heard(1)
    recent.name(row.id)
    with desk_at(home) as other:
        other.deposits.set_attributes(row.id, mode=0o600)
    assert recent.name(row.id) == row
    recent.heard(2)
    assert recent.name(row.id) != row


def test_a_listing_is_remembered(desk: Desk, asked: list[int]) -> None:
    rows, recent = [desk.file(f"{n}.txt") for n in range(3)], RecentNames(desk.catalog)
    recent.heard(1)
    asked.clear()
    assert recent.children(rows[0].parent, "", 10) == rows
    assert [recent.name(row.id) for row in rows] == rows
    assert asked == []


def test_a_missing_name_is_asked_for_each_time(desk: Desk, asked: list[int]) -> None:
    recent = RecentNames(desk.catalog)
    recent.heard(1)
    asked.clear()
    assert recent.name(MAX_REMEMBERED) is recent.name(MAX_REMEMBERED) is None
    assert asked == [MAX_REMEMBERED, MAX_REMEMBERED]


def test_what_a_listing_keeps_is_read_anew(home: Path, desk: Desk) -> None:
    """Listings are kept by the number of the newest fact, which is known before its news are heard."""
    row, deposits = desk.file("a.txt"), desk.deposits
    deposits.recent.heard(1)
    assert deposits.shown(row.id, lately=True) == row
    with desk_at(home) as other:
        other.deposits.set_attributes(row.id, mode=0o600)
    assert deposits.shown(row.id, lately=True) == row
    found = deposits.shown(row.id)
    assert found is not None
    assert found.mode == 0o600
