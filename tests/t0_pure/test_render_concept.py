"""concept.md: what it shows, and that it stays one line an entry whatever the words are."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.render.concept import ConceptPage, EvidenceLine, RelatedLine, render
from kgfs.render.words import visible

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
