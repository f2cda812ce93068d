"""Everything that has text is found by its words: notes without a verb, lists, links, and short notes in other scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgfs.domain.languages import UNKNOWN, language_of
from tests.support.mounting import STATISTICS
from tests.support.running import Place

DATA = Path(__file__).parents[1] / "data" / "found"
WORDS = {
    "marmalade": "shopping.md",
    "Guillemot": "contacts.md",
    "otter-census": "links.md",
    "heron42lake": "wifi.txt",
    "关键词召回": "zh.md",
    "成语": "zh.md",
    "끝말잇기": "ko.md",
    "ปั๊มน้ำ": "th.md",
    "zander": "phonebook.md",
}
PROSE = "The harbour office keeps the list of those who can be called at night. It is printed again each spring.\n\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("found")
    (folder / "home").mkdir(mode=0o700)
    names = "\n".join(f"- Mate number {n}, +00 555 {n:04}" for n in range(400))
    (folder / "phonebook.md").write_text(
        f"# Handbook\n\n{PROSE * 30}\n## Telephones\n\n{names}\n- Bosun zander, +00 555 4242\n"
    )
    found = Place(folder / "home", folder / "mnt", dict(STATISTICS))
    found.run("ingest", *sorted(DATA.iterdir()), folder / "phonebook.md", "--ontology", "Notes")
    return found


@pytest.mark.parametrize("words", WORDS)
def test_its_file_comes_first(place: Place, words: str) -> None:
    found = json.loads(place.run("search", words, "--json").stdout)
    assert found["results"][0]["document"].endswith(f"/{WORDS[words]}")


def test_a_line_of_a_list_is_quoted(place: Place) -> None:
    assert "Bosun zander, +00 555 4242" in place.run("ask", "What is the number of Bosun Zander?").stdout


@pytest.mark.parametrize("name", ["zh.md", "ko.md", "th.md"])
def test_other_scripts_are_not_english(name: str) -> None:
    assert language_of((DATA / name).read_text()) == UNKNOWN


@pytest.mark.parametrize(
    "text", ["Это короткая заметка.", "هذه ملاحظة قصيرة", "これはメモです", "Μια σύντομη σημείωση"]
)
def test_the_script_tells_first(text: str) -> None:
    assert language_of(text) == UNKNOWN
    assert language_of("Une note très brève, déjà écrite.") != UNKNOWN
