"""Those who speak in a document are told by the leads of its turns and by its list of persons."""

from __future__ import annotations

import pytest

from kgfs.models.extractor.prose import prose_of
from kgfs.models.extractor.speakers import named_in, speakers_told

TURNS = "- ada7: the tide table is late again\n- linus: why is that\n- ada7: the press broke\n- ada7: it was old\n"
DASHES = "* ada7 - the tide table is late\n\n* linus - why so late\n\n* ada7 - the press broke\n\n* ada7 - it was old\n"


@pytest.mark.parametrize("turns", [TURNS, DASHES, TURNS.replace("- ", ""), TURNS.replace("ada7", "**Ada7**")])
def test_a_lead_that_stands_three_times_speaks(turns: str) -> None:
    assert speakers_told(turns) == ("ada7",)


@pytest.mark.parametrize(
    "people",
    [
        "Attendees\n\n- Ada King (ada7)\n- @linus\n\nNotes\n\n- Ballast\n",
        "## Participants:\n* Ada King @ada7\n* linus\n\n## Notes\n\n- Ballast\n",
        "Present: Ada King (ada7), linus\n\nThe boat is small.\n",
    ],
)
def test_who_is_listed_as_present_speaks(people: str) -> None:
    assert speakers_told(people) == ("ada king", "ada7", "linus")


def test_a_list_of_bare_names_is_one_of_persons_where_two_of_them_speak() -> None:
    turns = "".join(f"- {name}: the boat is small\n" for name in ("ada7", "linus") for _ in range(3))
    assert speakers_told("- ada7\n- linus\n- grace\n\n" + turns) == ("ada7", "linus", "grace")


@pytest.mark.parametrize(
    "text",
    [
        "- **Resolvers**: Functions that fetch data.\n- **Schemas**: Descriptions of data.\n- **Types**: Sets of values.\n",
        "- Resolvers\n- Schemas\n- Types\n\nResolvers: functions that fetch.\n\nSchemas: descriptions of data.\n",
        "    name: str = read()\n    name: str = find()\n    name: str = make()\n",
        "```\nname: a string\nname: a string\nname: a string\n```\n",
    ],
)
def test_glossaries_and_code_have_no_speakers(text: str) -> None:
    assert speakers_told(text) == ()


def test_turns_are_read_without_their_speakers() -> None:
    blocks = prose_of("- ada7: the press broke\n- linus - the *engine*\n- ada5: a boat\n", ("ada7", "linus"))
    assert [(block.lead, block.text) for block in blocks] == [
        ("ada7", "the press broke"),
        ("linus", "the engine"),
        ("", "ada5: a boat"),
    ]
    assert named_in("It was Ada King's, not adamant.", ("ada king", "ada", "adam", "linus")) == ("ada king", "ada")
