"""about.md, metadata.json and the fixed files."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.documents import Document, State
from kgfs.render import about, metadata
from kgfs.render.about import About, MainConcept, NewDocument
from kgfs.render.metadata import Metadata
from kgfs.render.words import json_lines

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
