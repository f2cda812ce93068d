"""Domains of an ontology: how they are written, and which texts name them."""

from __future__ import annotations

import pytest

from kgfs.domain import domains
from kgfs.errors import BadInputError

SEARCH = {"SEO": ("ranking", "search engine", "A/B test"), "Größe": ("禅", "Naïve")}


def test_domains_are_the_same_after_each_way_of_writing() -> None:
    assert domains.domains_of({domains.SETTING: domains.serialised(SEARCH)}) == SEARCH
    assert domains.from_toml(domains.to_toml(SEARCH).encode()) == SEARCH
    assert domains.to_toml({}) == "[domains]\n"
    assert domains.from_toml(b"") == domains.domains_of({}) == domains.domains_of({domains.SETTING: ""}) == {}
    assert domains.serialised({}) == ""
    assert domains.from_line("SEO: ranking,  search engine ,ranking,") == ("SEO", ("ranking", "search engine"))
    for preset in domains.PRESETS.values():
        assert domains.from_toml(domains.to_toml(preset).encode()) == preset


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (b"[domains", "No TOML"),
        (b"\xff", "No TOML"),
        (b'SEO = ["ranking"]', "one table [domains]"),
        (b"domains = 3", "one table [domains]"),
        (b'[domains]\nSEO = "ranking"', 'SEO = ["ranking", "keyword"]'),
        (b"[domains]\nSEO = []", "needs a list of keywords"),
        (b"[domains]\nSEO = [3]", "A keyword of the domain 'SEO'"),
        (b'[domains]\nSEO = ["!"]', "A keyword of the domain 'SEO'"),
        (b'[domains]\n"a\\nb" = ["ranking"]', "The name of a domain"),
    ],
)
def test_what_sets_no_domains_is_refused_with_a_remedy(content: bytes, remedy: str) -> None:
    with pytest.raises(BadInputError) as refusal:
        domains.from_toml(content)
    assert remedy in str(refusal.value)


@pytest.mark.parametrize("line", ["SEO", "SEO:", "SEO: ,", ": ranking"])
def test_a_line_without_name_or_keywords_is_refused(line: str) -> None:
    with pytest.raises(BadInputError):
        domains.from_line(line)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("It ranks first: its RANKINGS rose.", ("SEO",)),
        ("Ask the search engines.", ("SEO",)),
        ("We search for an engine.", ()),
        ("We ran A/B tests.", ("SEO",)),
        ("See https://example.org/ranking and www.ranking.example today.", ()),
        ("A naive 坐禅 about ranking", ("SEO", "Größe")),
        ("Frankincense", ()),
    ],
)
def test_keywords_are_found_by_stems_outside_addresses(text: str, named: tuple[str, ...]) -> None:
    assert domains.named_in(text, SEARCH) == named
