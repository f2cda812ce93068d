"""Links, tags and titles of notes."""

from __future__ import annotations

from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.text import Chunk
from kgfs.formats.table import parse
from kgfs.ingest.reading.notes import BARE, OWN, SURE, TERM, with_links

NOTE = """---
tags: [pests, plant-care]
aliases:
  - growing house
---
# Greenhouse

The warm air draws [[Whitefly|white flies]] and, in autumn, [[pests/Red spider mite#Signs]]. It needs shade. #glass

- Water: see [[Irrigation]] and `[[not this]]`.
- White flies again: [[Whitefly]].

    [[nor this]]
"""


def _read(
    note: str, name: str = "Greenhouse.md", concepts: tuple[FoundConcept, ...] = ()
) -> tuple[dict[str, FoundConcept], list[tuple[str, str, str, str]]]:
    text = parse(name, note.encode())
    chunks = [Chunk(0, 0, len(note), 1, 1, 0, 0, (), 1, 0)]
    found, relationships = with_links(text, name, chunks, concepts, ())
    quoted = [(r.subject, r.type, r.object, note[r.quote.start : r.quote.end]) for r in relationships]
    return {concept.norm: concept for concept in found}, quoted


def test_a_note_that_is_headed_by_a_files_name_has_that_of_its_own_file() -> None:
    found, _ = _read("# greenhouse-draft.md\n\nThe warm air draws [[Whitefly]] in autumn.\n")
    assert found.keys() == {"greenhouse", "whitefly"}


def test_a_note_that_is_headed_by_a_link_has_the_name_of_its_file() -> None:
    found, links = _read("# [[Whitefly]]\n\nThe warm air draws them in autumn.\n")
    assert found.keys() == {"greenhouse", "whitefly"} and [link[:3] for link in links] == [
        ("greenhouse", "LINKS_TO", "whitefly")
    ]


def test_titles_targets_and_tags_are_concepts_and_links_relationships() -> None:
    found, links = _read(NOTE)
    assert found.keys() == {"pests", "plant-care", "glass", "greenhouse", "whitefly", "red spider mite", "irrigation"}
    assert all(concept.odds == SURE for concept in found.values())
    assert found["whitefly"].forms == ("Whitefly", "white flies") and "growing house" in found["greenhouse"].forms
    sentence = "The warm air draws [[Whitefly|white flies]] and, in autumn, [[pests/Red spider mite#Signs]]."
    assert links == [
        ("greenhouse", "LINKS_TO", "whitefly", sentence),
        ("greenhouse", "LINKS_TO", "red spider mite", sentence),
        ("greenhouse", "LINKS_TO", "irrigation", "Water: see [[Irrigation]] and `[[not this]]`."),
        ("greenhouse", "LINKS_TO", "whitefly", "White flies again: [[Whitefly]]."),
    ]
    assert NOTE[found["greenhouse"].quotes[0].start :].startswith("# Greenhouse")


def test_an_alias_is_its_target_and_keeps_what_was_said_of_it() -> None:
    at = NOTE.index("White flies again")
    reported = FoundConcept(
        "white flies", "white flies", ("white flies",), "term", 0.4, "", (Quote(at, at + 17, 0),), -1.0
    )
    found, _ = _read(NOTE, concepts=(reported,))
    assert "white flies" not in found and {quote.start for quote in found["whitefly"].quotes} > {at}


def test_words_for_two_targets_are_no_alias_and_a_file_names_a_note_without_a_heading() -> None:
    found, links = _read(
        "See [[Zen|this practice]], [[Koan|this practice]] and [[2024-05-01]].\n", "daily/Sitting still.md"
    )
    assert found["zen"].forms == ("Zen",) and found["koan"].forms == ("Koan",)
    assert [(subject, object_) for subject, _, object_, _ in links] == [
        ("sitting still", "zen"),
        ("sitting still", "koan"),
    ]


def test_a_text_without_links_is_left_as_it_is() -> None:
    relationship = FoundRelationship("a", "IS_A", "b", Quote(0, 3, 0), 0.8)
    text = parse("x.py", b"rows = [[alpha], [beta]]\n")
    assert with_links(text, "x.py", [], (), (relationship,)) == ((), (relationship,))
    assert _read("Nothing is linked.\n", "2024-05-01.md") == ({}, [])


def test_the_title_of_a_text_without_links_is_a_term_with_what_it_says_of_itself() -> None:
    content = "# Zen\n\nZen is a school of Buddhism.\n"
    found, links = _read(content, "Zen.md")
    (quote,) = found["zen"].quotes
    assert not links and found["zen"].odds == TERM and quote.score == OWN
    assert content[quote.start : quote.end] == content.strip()


def test_a_link_alone_is_quoted_with_the_words_before_its_list() -> None:
    content = "# Insects\n\nPests of the greenhouse:\n\n- [[Aphid]]\n- [[Whitefly]]\n\n# More\n\n[[Mite]]\n"
    found, _ = _read(content, "n.md")
    quotes = {key: found[key].quotes[0] for key in ("whitefly", "mite")}
    assert content[quotes["whitefly"].start : quotes["whitefly"].end].startswith("Pests of the greenhouse:\n")
    assert quotes["mite"].score == BARE < quotes["whitefly"].score


def test_in_a_text_without_links_a_tag_is_a_line_of_tags() -> None:
    found, _ = _read('Ask in #people-ops, or in "#channel".\n\n#pests #plant-care\n', "2024-05-01.md")
    assert found.keys() == {"pests", "plant-care"}


def test_a_common_word_that_a_link_shows_is_no_alias() -> None:
    found, _ = _read(
        "See [[Probability measure|distribution]] and [[Standard deviation|deviation of a sample]].\n", "n.md"
    )
    assert found["probability measure"].forms == ("Probability measure",)
    assert "deviation of a sample" in found["standard deviation"].forms


def test_an_id_that_a_program_gave_names_no_note_and_keywords_alone_are_no_concepts() -> None:
    found, links = _read("Stubs answer as they were told. See [[Fake]].\n", "965AqO8bdqbS0Et9bKsUO.md")
    assert found.keys() == {"fake"} and links == []
    found, _ = _read("---\ntags: [leadership]\n---\n# Roles\n\nNothing is linked here.\n", "Roles.md")
    assert "leadership" not in found


def test_an_anchor_of_asciidoc_is_no_link() -> None:
    assert _read(
        "[[message_bus]]\n== The message bus\n\n[[figure_1]]\n.A picture\nimage::one.png[]\n", "x.asciidoc"
    ) == ({}, [])


def test_a_heading_that_says_nothing_is_quoted_with_the_sentence_below() -> None:
    note = "# Cutset\n\nIt is found by trying all sets of nodes. See [[Graph]].\n\n## [[Loop]]\n\nA loop returns to where it began.\n"
    alone = FoundConcept("cutset", "cutset", ("cutset",), "term", 0.4, "", (Quote(2, 8, 0),), -1.0)
    found, _ = _read(note, "Cutset.md", (alone,))
    best = {norm: max(one.quotes, key=lambda quote: quote.score) for norm, one in found.items()}
    assert note[best["cutset"].start : best["cutset"].end].endswith("trying all sets of nodes.")
    assert note[best["loop"].start : best["loop"].end].endswith("A loop returns to where it began.")


def test_an_item_that_is_quoted_with_its_introduction_stays_so() -> None:
    note = "Kinds of search:\n\n- [[Iterative Search]]\n"
    whole = (Quote(0, len(note) - 1, 0),)
    reported = FoundConcept("iterative search", "iterative search", ("iterative search",), "term", 0.4, "", whole, -1.0)
    assert _read(note, "Search.md", (reported,))[0]["iterative search"].quotes == whole


def test_choices_in_double_brackets_are_no_link() -> None:
    assert _read("It is [[True | False]] that both shapes are squares.\n", "2024-05-01.md") == ({}, [])


def test_a_line_of_links_is_quoted_whole_with_its_heading_and_a_tag_before_it_is_no_concept() -> None:
    found, links = _read(
        "#seed\nupstream: [[Networks]]\n\n# TCP\n\nIt sends bytes in order.\n\n## Further\n\n"
        "Related: [[5. Ports/2. Port Mapping]] | [[7. Compose]]\n\n#todo: read more\n\nIt is #reliable.\n"
    )
    assert found.keys() == {"greenhouse", "networks", "2. port mapping", "7. compose", "reliable"}
    assert links[0][3] == "upstream: [[Networks]]"
    assert links[1][3] == "## Further\n\nRelated: [[5. Ports/2. Port Mapping]] | [[7. Compose]]"
