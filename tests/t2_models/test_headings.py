"""What headings, topics, decisions, action items and rows of tables name, and the evidence for it."""

from __future__ import annotations

import pytest

from kgfs.models.contract import Passage, RawConcept
from kgfs.models.extractor import headings, quotes
from kgfs.models.extractor.grammar import GrammarExtractor
from kgfs.models.grammar import English


def _found(extractor: GrammarExtractor, text: str, title: str = "") -> dict[str, RawConcept]:
    [raw] = extractor.extract([Passage(title, (), text)])
    found = extractor.parse(raw).concepts
    for concept in found:
        assert all(text[quote.start : quote.end] == quote.text for quote in concept.quotes)
    return {concept.label: concept for concept in found}


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Paid Time Off", "Paid Time Off"),
        ("9.1 The Retirement Plan (RP)", "Retirement Plan"),
        ("Step 2: Damage report", "Damage report"),
        ("2025 board elections", "board elections"),
        ("Proposal: Volunteer days", "Volunteer days"),
        ("Re: Fwd: Boiler replacement", "Boiler replacement"),
        ("Python 3", "Python 3"),
        ("Reporting and paying", ""),
        ("What we expect", ""),
        ("Possible improvements", ""),
        ("Common mistakes", ""),
        ("Overview of the house", ""),
        ("In the office", ""),
        ("winner 2", ""),
        ("Leave: a guide", ""),
        ("A plan for all the long days of the winter", ""),
    ],
)
def test_a_heading_is_a_name_or_none(english: English, heading: str, name: str) -> None:
    [[(_, doc)]] = english.read([heading])
    span = headings.name_in(doc, len(heading))
    assert (doc[span[0] : span[1]].text if span else "") == name


def test_the_first_telling_sentence_below_a_heading_is_its_evidence(grammar_extractor: GrammarExtractor) -> None:
    text = "## Bereavement Leave\n\nYou may take five days after the death of a close relative. Leave is paid.\n\n## Links\n\nNone."
    [quote] = _found(grammar_extractor, text)["Bereavement Leave"].quotes
    assert quote.text == "Bereavement Leave\n\nYou may take five days after the death of a close relative."
    signs = _found(grammar_extractor, text)["Bereavement Leave"].signs
    assert signs is not None and signs.named == 0.5 and quote.score >= headings.TELLING


def test_an_order_names_nothing_unless_its_text_says_it_again(grammar_extractor: GrammarExtractor) -> None:
    below = "Every team has a monthly budget for machines, which the finance team sets in January."
    order = _found(grammar_extractor, f"## Limit Resources\n\n{below}")
    assert all(one.signs is None or one.signs.named < 0 for one in order.values())
    said = _found(
        grammar_extractor, "## Access Control\n\nAccess control keeps strangers out of the building at night."
    )
    assert any(one.signs is not None and one.signs.named == 1 for one in said.values())


def test_the_topic_of_an_agenda_is_quoted_with_its_items(grammar_extractor: GrammarExtractor) -> None:
    text = (
        "* lib: add a travel fund for speakers [#12](https://example.org/12)\n"
        "  * Ann will ask the board for an envelope of 5,000 euros.\n  * Ben thinks that the fund should open in May.\n\n"
        "* doc: remove the old logo [#13](https://example.org/13)\n"
    )
    fund = _found(grammar_extractor, text)["travel fund"]
    assert fund.signs is not None and fund.signs.topic
    assert fund.quotes[0].text.startswith("add a travel fund") and fund.quotes[0].text.endswith("in May.")


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("Decision: We will rent the community hall for the concert.", "community hall"),
        ("- **Agreed:** the ticket shop stays with Paynord.", "ticket shop"),
        ("- [ ] Ann Brook to write the inspection letter by 20 May", "inspection letter"),
        ("- The board approved a heat pump for the clubhouse.", "heat pump"),
    ],
)
def test_a_decision_is_evidence_for_what_it_is_about(
    grammar_extractor: GrammarExtractor, line: str, label: str
) -> None:
    found = _found(grammar_extractor, f"## Business\n\n{line}\n")[label]
    assert found.signs is not None and found.signs.topic
    assert max(quote.score for quote in found.quotes) >= 0.5


def test_persons_are_told_by_their_role_or_what_they_own(grammar_extractor: GrammarExtractor) -> None:
    text = (
        "Ann Brook (project lead), Ben Carr (TSC), Cleo Dorn (sick)\n\n"
        "- [ ] Eve Finch to draft the letter\n- Action: Eve Finch to book the hall\n- @gus will send the map by Friday\n"
    )
    signs = {label: one.signs for label, one in _found(grammar_extractor, text).items() if one.signs}
    assert signs["Ann Brook"].role and signs["Eve Finch"].owns == 2 and signs["gus"].owns == 1
    assert {label for label, one in signs.items() if one.is_person} == {"Ann Brook", "Eve Finch"}


def test_the_first_cells_of_a_table_are_names_and_its_rows_their_evidence(grammar_extractor: GrammarExtractor) -> None:
    text = "| Desk | Task | Phone |\n| --- | --- | --- |\n| Lunch office | meal cards and allergies | 44 |\n| Transport desk | school bus | 45 |\n"
    found = _found(grammar_extractor, text)
    assert found["lunch office"].quotes[0].text == "Lunch office | meal cards and allergies | 44"
    assert "transport desk" in found and "desk" not in found
    data = "| Name | Size |\n| --- | --- |\n" + "".join(f"| Part {at} | big one |\n" for at in range(100))
    assert _found(grammar_extractor, data) == {}


def test_the_words_of_a_link_are_a_mark(grammar_extractor: GrammarExtractor) -> None:
    signs = _found(grammar_extractor, "A [spending account](https://example.org) pays for medical costs.")[
        "spending account"
    ].signs
    assert signs is not None and signs.anchor and signs.structure


def _strong(found: dict[str, RawConcept]) -> set[str]:
    return {label.lower() for label, concept in found.items() if concept.signs and concept.signs.strong}


def test_the_words_before_a_colon_are_a_term_where_the_item_explains_them(grammar_extractor: GrammarExtractor) -> None:
    text = (
        "- Offline maps: a region can be downloaded before a trip.\n- Vacation: we want you to take time off for fun.\n"
        "- Council members: Ann, Bob, Cid, Dan and Eve\n- Jonathan: we want the meeting to end at nine."
    )
    assert _strong(_found(grammar_extractor, text)) == {"offline maps", "vacation"}
    assert _strong(_found(grammar_extractor, text, "Minutes of the council")) == {"offline maps"}  # persons speak there
    text = (
        "- **Caching**: Data is stored, so that requests are served faster.\n- **Python 3**: The language of the code."
    )
    assert {"caching", "python 3"} <= _strong(_found(grammar_extractor, text))


def test_the_time_and_the_person_behind_a_heading_are_no_part_of_it(grammar_extractor: GrammarExtractor) -> None:
    text = "## Strict Semantic Nullability (15m, Ann/Bob)\n\nStrict semantic nullability keeps nulls out of lists.\n"
    found = {label.casefold() for label in _found(grammar_extractor, text)}
    assert "strict semantic nullability" in found and not any("ann" in label or "bob" in label for label in found)


def test_an_item_with_items_below_it_is_a_topic_in_minutes(grammar_extractor: GrammarExtractor) -> None:
    text = (
        "- Foundation budget (*Ann* **Time**: 5 minutes)\n    - Ann has read the charters of the teams.\n    - They must name a purpose.\n"
        "- Ann will write the report\n    - She has the figures.\n    - They are good.\n- Progress on the conflict of interest review\n"
        "    - The review is late.\n    - It ends in May."
    )
    found = _found(grammar_extractor, text, "Council meeting")
    topics = {label for label, concept in found.items() if concept.signs and concept.signs.topic}
    assert "foundation budget" in {label.lower() for label in topics}
    assert not {"report", "interest review"} & topics
    [quote] = next(concept for label, concept in found.items() if label.lower() == "foundation budget").quotes
    assert quote.text.endswith("They must name a purpose.")
    elsewhere = _found(grammar_extractor, text, "Notes of Ann").values()
    assert not any(concept.signs.topic for concept in elsewhere if concept.signs)


def test_the_words_that_an_acronym_stands_for_are_a_term(grammar_extractor: GrammarExtractor) -> None:
    text = "A denial of service (DoS) fills the disks. Multi-factor authentication (MFA) protects the accounts (see Above)."
    assert _strong(_found(grammar_extractor, text)) == {
        "denial of service",
        "dos",
        "multi-factor authentication",
        "mfa",
    }


def test_names_and_phrases_that_fill_a_cell_are_told(grammar_extractor: GrammarExtractor) -> None:
    text = (
        "| Who | What | When |\n|---|---|---|\n| Grace Obi | school nurse, keys | 4411 |\n| Ivan Petrov | train to Sintra | 4402 |\n"
        "| Hanna Lund | fado at Tasca do Chico | 4409 |"
    )
    found = _found(grammar_extractor, text)
    cells = {label for label, concept in found.items() if concept.signs and concept.signs.cell}
    assert {"school nurse", "Sintra"} <= cells and not {"Tasca", "keys", "train"} & cells
    assert found["Sintra"].quotes[0].text == "Ivan Petrov | train to Sintra | 4402"


def test_a_sentence_without_a_verb_says_something_of_what_it_begins_with(grammar_extractor: GrammarExtractor) -> None:
    found = _found(grammar_extractor, "First, a zebra crossing in front of the school gate. A zebra crossing. No gate.")
    assert [quote.score for quote in found["zebra crossing"].quotes] == [quotes.FRAGMENT]


def test_a_heading_is_quoted_with_the_sentence_below_it(grammar_extractor: GrammarExtractor) -> None:
    found = _found(grammar_extractor, "# Leek and potato soup\n\nServes four persons.\n\n## Storage\n\n## Links")
    assert found["potato soup"].quotes[0].text == "Leek and potato soup\n\nServes four persons."
    assert found["storage"].quotes[0].text == "Storage"
    text = (
        "## Insecure Storage\n\n```\nput(token)\n```\n\nInsecure storage keeps tokens where each program can read them."
    )
    assert all("```" not in quote.text for quote in _found(grammar_extractor, text)["Insecure Storage"].quotes)


def test_units_abbreviations_and_assurances_are_no_part_of_a_name(grammar_extractor: GrammarExtractor) -> None:
    text = (
        "Soften the onions in 3 tbsp olive oil for the soup. Olive oil keeps well in the dark.\n\n"
        "Make sure governance docs are up to date. Governance docs say who may vote.\n\nProf. Hall gave the talk on stress.\n"
    )
    found = {label.casefold() for label in _found(grammar_extractor, text)}
    assert {"olive oil", "governance docs"} <= found
    assert not found & {"tbsp olive oil", "sure governance docs", "prof."}
