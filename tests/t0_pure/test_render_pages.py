"""about.md, metadata.json and the fixed files.

concept.md: what it shows, and that it stays one line an entry whatever the words are.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.documents import Document, State
from kgfs.render import about, metadata
from kgfs.render.about import About, MainConcept, NewDocument
from kgfs.render.concept import ConceptPage, EvidenceLine, RelatedLine, render
from kgfs.render.metadata import Metadata
from kgfs.render.words import json_lines, visible

NOON = 1_700_000_000_000_000_000


def test_about_shows_counts_main_concepts_and_newest_documents() -> None:
    page = About(
        "Philosophy",
        documents=1,
        concepts=2500,
        relationships=2,
        instances=7,
        main=(MainConcept("zen", "Zen", 3, 1),),
        newest=(NewDocument("a b/100%25.txt", NOON),),
    )
    assert about.render(page).decode() == (
        "# Philosophy\n\n1 document read, 2,500 concepts, 2 relationships, 7 pieces of evidence.\n\n"
        "## Main concepts\n\n- [Zen](concepts/zen.concept/concept.md): 3 pieces of evidence, 1 relationship\n\n"
        "## Newest documents\n\n- [a b/100%25.txt](documents/a%20b/100%25.txt), 2023-11-14\n"
    )


def test_about_an_empty_ontology_says_what_to_do() -> None:
    assert b"copy documents into documents/" in about.render(About("New", 0, 0, 0, 0, (), ()))


def test_metadata_names_everything_a_citation_needs() -> None:
    document = Document(
        "d" * 16, "o" * 12, "ab" * 32, "o/a.txt", "sources/o/ab.txt", 5, State.UNSUPPORTED, "no text", deposited_at=NOON
    )
    fields = json.loads(metadata.render(Metadata(document, "Philosophy", ("a.txt", "b/c.txt"), 2, "a.txt")))
    assert fields["paths"] == ["documents/a.txt", "documents/b/c.txt"]
    assert (fields["state"], fields["reason"], fields["version"]) == ("unsupported", "no text", 2)
    assert fields["deposited_at"] == "2023-11-14T22:13:20Z"
    assert fields["ingested_at"] is None and fields["browse_uri"] is None
    assert (fields["source_uri"], fields["file_name"]) == ("documents/a.txt", "a.txt")
    assert (fields["subject"], fields["participants"], fields["attachments"]) == (None, [], {})
    assert (fields["parent_id"], fields["root_id"], fields["depth"]) == (None, "d" * 16, 0)
    assert fields["download_uri"] == f"archive/{'d' * 16}/original"


_PLAIN = st.none() | st.booleans() | st.integers() | st.text()


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.recursive(_PLAIN, lambda inner: st.lists(inner, max_size=3))))
def test_lines_of_json_are_the_encoders_own(fields: dict[str, Any]) -> None:
    rendered = json_lines(fields).decode()
    assert json.loads(rendered) == fields
    lines = [f'  "{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in fields.items()]
    encoders = "{\n" + ",\n".join(lines) + "\n}\n"
    assert rendered == re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", encoders)


def test_lone_surrogates_are_escaped_in_json() -> None:
    assert json.loads(json_lines({"quote": "a\udc80b"})) == {"quote": "a\udc80b"}


PAGE = ConceptPage(
    concept_id="c0ffee",
    ontology="0123456789ab",
    label="Zen",
    aliases=("zen", "Zen Buddhism"),
    kind="term",
    description="a school of\nMahayana Buddhism",
    documents=2,
    evidence_count=3,
    related_count=1,
    evidence=(
        EvidenceLine(1, "Zen is a school\nof Mahayana Buddhism.", "The Way", 3, 4, ("the way", "Schools", "In\nJapan")),
        EvidenceLine(4, "Zen has no dogma.", "Letters", 9, 9),
    ),
    related=(RelatedLine("IS_A", "buddhism", "Buddhism", "0.80"),),
)


def test_a_page_shows_everything_once() -> None:
    assert render(PAGE).decode() == (
        "---\n"
        'id: "c0ffee"\n'
        'label: "Zen"\n'
        'aliases: ["zen", "Zen Buddhism"]\n'
        'kind: "term"\n'
        'ontology: "0123456789ab"\n'
        "documents: 2\n"
        "evidence: 3\n"
        "relationships: 1\n"
        "---\n"
        "\n"
        "# Zen\n"
        "\n"
        "a school of Mahayana Buddhism\n"
        "\n"
        "## Evidence\n"
        "\n"
        "- [1](evidence/1/source.txt) “Zen is a school of Mahayana Buddhism.” (The Way › Schools › In Japan, lines 3-4)\n"
        "- [4](evidence/4/source.txt) “Zen has no dogma.” (Letters, line 9)\n"
        "- 1 more in [evidence/](evidence/)\n"
        "\n"
        "## Related\n"
        "\n"
        "- IS_A [Buddhism](related/IS_A/buddhism/concept.md) (0.80)\n"
    )


def test_a_page_without_a_description_quotes_its_most_telling_sentence() -> None:
    shown = render(replace(PAGE, description="", telling=PAGE.evidence[1])).decode()
    assert "# Zen\n\n> Zen has no dogma. ([4](evidence/4/source.txt))\n\n## Evidence\n" in shown
    assert render(replace(PAGE, telling=PAGE.evidence[1])) == render(PAGE)


@settings(max_examples=300, deadline=None)
@given(st.text(), st.text(), st.text())
def test_any_words_keep_the_front_matter_and_one_line_an_entry(label: str, quote: str, title: str) -> None:
    page = ConceptPage("id", "o", label, (label,), "term", quote, 1, 1, 0, (EvidenceLine(1, quote, title, 1, 2),), ())
    lines = render(page).decode("utf-8", "surrogatepass").split("\n")
    assert json.loads(lines[2].removeprefix("label: ")) == visible(label)
    assert json.loads(lines[3].removeprefix("aliases: ")) == [visible(label)]
    assert [line for line in lines if line.startswith("- [1](evidence/1/source.txt) ")] == [lines[-2]]
    assert lines[9] == "---"
