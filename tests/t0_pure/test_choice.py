"""Which candidates are concepts."""

from __future__ import annotations

from dataclasses import replace

from kgfs.domain.knowledge import FoundConcept, Quote
from kgfs.ingest.reading import choice
from kgfs.models.contract import Signs
from kgfs.models.extractor.prose import attendees, prose_of

PASSAGE = Signs(whole=4, subject=2, says=4.0, rank=40_000)


def test_what_two_sentences_say_something_of_is_looked_at() -> None:
    assert choice.passed_on(Signs(whole=2, subject=1), 2, defined=False)
    assert choice.passed_on(Signs(whole=3), 3, defined=False)
    assert choice.passed_on(Signs(link=True), 1, defined=False)
    assert not choice.passed_on(Signs(whole=2), 2, defined=False)
    assert not choice.passed_on(replace(PASSAGE, pointed=2), 4, defined=False)
    assert not choice.passed_on(replace(PASSAGE, record=True), 4, defined=False)


def test_common_words_and_phrases_nothing_is_said_of_are_no_concepts() -> None:
    def chosen(signs: Signs, best: float) -> bool:
        odds = choice.log_odds("x", "", signs, 0.5, 0.4, best)
        return choice.is_concept(FoundConcept("x", "x", ("x",), "term", 0.5, "", (Quote(0, 1, 0),), odds), 0, 0)

    assert chosen(PASSAGE, 0.8)
    assert not chosen(PASSAGE, 0.2)
    assert chosen(replace(PASSAGE, link=True), 0.2)
    assert not chosen(replace(PASSAGE, rank=100, says=0.0), 0.8)


def test_a_phrase_that_is_said_once_is_at_most_a_term() -> None:
    once = Signs(whole=1)
    assert choice.could_be_a_term("hash table", once, 1) and choice.could_be_a_term("Zen", once, 1)
    assert not choice.could_be_a_term("table", once, 1) and not choice.could_be_a_term("hash table", Signs(), 1)
    odds = choice.log_odds("hash table", "", replace(PASSAGE, whole=1), 0.9, 0.1, 0.9, passed=False)
    found = FoundConcept("x", "x", ("x",), "term", 0.5, "", (Quote(0, 1, 0),), odds)
    assert choice.is_term(odds) and not choice.is_concept(found, 0, 0)


def test_a_definition_makes_up_for_a_sentence_that_says_little() -> None:
    said = {defined: choice.log_odds("x", "", PASSAGE, 0.5, 0.4, 0.6, defined=defined) for defined in (False, True)}
    assert said[False] <= choice.MOST_OF_A_TERM < said[True]


def test_a_heading_that_its_text_says_again_is_a_concept_though_others_have_it() -> None:
    named = Signs(heading=True, named=1.0, rank=12_000)
    odds = choice.log_odds("paid leave", "Handbook", named, 0.1, 0.3, 0.8)
    found = FoundConcept("x", "x", ("x",), "term", 0.5, "", (Quote(0, 1, 0),), odds)
    assert choice.is_concept(found, 3, 80)
    for signs, title, best in (
        (replace(named, named=0.0), "Handbook", 0.8),
        (named, "Paid leave", 0.8),
        (named, "Handbook", 0.6),
    ):
        assert choice.log_odds("paid leave", title, signs, 0.1, 0.3, best) < odds


def test_marks_and_topics_need_less_of_a_sentence() -> None:
    def odds(best: float, **signs: bool) -> float:
        return choice.log_odds("spending account", "", Signs(rank=12_000, **signs), 0.35, 0.3, best)  # type: ignore[arg-type]

    least = choice.MOST_OF_A_TERM
    assert odds(0.6, anchor=True) > least and odds(0.6, topic=True) > least
    assert odds(0.6) <= least and odds(0.5, anchor=True) <= least


def test_a_short_document_needs_one_sentence() -> None:
    subject, once = Signs(whole=1, subject=1, rank=9_000), Signs(whole=1, rank=9_000)
    assert choice.passed_on(once, 1, defined=False, told=True)
    odds = [choice.log_odds("light panel", "", signs, 0.2, 0.2, 0.3, short=True) for signs in (subject, once)]
    assert odds[0] > odds[1] > choice.log_odds("light panel", "", once, 0.2, 0.2, 0.3) - 1
    assert choice.log_odds("light panel", "", subject, 0.2, 0.2, 0.3) <= choice.MOST_OF_A_TERM < odds[0]
    for other, best in ((replace(subject, plain=True), 0.3), (subject, 0.0)):
        assert choice.log_odds("light panel", "", other, 0.2, 0.2, best, short=True) <= choice.MOST_OF_A_TERM


def test_a_heading_without_text_is_no_concept_unless_it_is_the_title() -> None:
    heading = Signs(heading=True, rank=40_000)

    def odds(title: str, best: float, signs: Signs = heading) -> float:
        return choice.log_odds("boiler pressure", title, signs, 0.9, 0.1, best, short=True)

    assert odds("", 0.0) <= choice.MOST_OF_A_TERM < odds("Boiler pressure", 0.0)
    assert odds("", 0.5) > choice.MOST_OF_A_TERM < odds("", 0.0, replace(heading, whole=1))


def test_what_fills_a_cell_and_what_is_marked_needs_less_in_a_short_document() -> None:
    cell = Signs(cell=True, rank=5000)
    assert choice.passed_on(cell, 1, defined=False, told=True)
    needed = [choice.log_odds("school nurse", "", one, 0.3, 0.3, 0.1, short=True) for one in (cell, Signs(rank=5000))]
    assert needed[0] > needed[1]
    marked = Signs(strong=True, rank=20_000)
    told = [choice.log_odds("burr", "", marked, 0.3, 0.3, 0.62, short=short) for short in (True, False)]
    assert told[0] >= told[1]


def test_a_person_is_a_concept_by_role_or_two_items() -> None:
    for signs, concept in ((Signs(role=True), True), (Signs(owns=2), True), (Signs(owns=1), False)):
        assert (choice.log_odds("Ann Brook", "", signs, 0.1, 0.3, 0.7) > choice.MOST_OF_A_TERM) is concept


def test_single_words_of_a_field_are_no_speakers() -> None:
    assert choice.speakers(["OpenSSL version"] * 3) == {"openssl version"}
    assert choice.speakers(["Ann Brook"] * 3) == {"ann brook", "ann", "brook"}
    assert choice.is_used_acronym("PTO", Signs(whole=1)) and not choice.is_used_acronym("Ann", Signs(whole=1))


def test_numbers_of_items_are_told_from_names_with_a_number() -> None:
    series = ["REQ-1", "REQ-2", "REQ-3", "REQ-17"]
    assert choice.numbered([*series, "UTF-8", "UTF-16", "UTF-32", "SHA-1", "SHA-256", "AWAY-4", "B-1", "B-2"]) == set(
        series
    )


def test_files_of_documents_are_told_from_names_with_a_full_stop() -> None:
    assert all(
        map(choice.names_file, ("travel-policy.md", "Budget (2).XLSX", "the file notes.txt of March", "plan.v2.pdf"))
    )
    assert not any(
        map(choice.names_file, ("pyproject.toml", "asyncio.Task", "Node.js", "Dr. Mp", "os.path", "md", ".md"))
    )


def test_what_many_documents_have_is_a_term() -> None:
    found = FoundConcept("x", "x", ("x",), "term", 0.8, "", (Quote(0, 1, 0),), odds=2.5)
    assert choice.is_concept(found, 0, 1000)
    assert choice.is_concept(found, 1, 1)
    assert not choice.is_concept(found, 40, 100)


def test_a_lead_that_stands_three_times_is_a_speaker() -> None:
    assert set(choice.speakers(["Ada Lovelace"] * 3 + ["Note"])) == {"ada lovelace", "ada", "lovelace"}


def test_marks_of_the_writer_are_read() -> None:
    text = "---\ntags: [plants]\n---\n# Greenhouse\n\nThe [[Whitefly|white fly]] likes {#anchor} #warmth.\n\nAda: Hello there.\n"
    blocks = prose_of(text)
    assert [(block.kind, block.text) for block in blocks[:2]] == [("tag", "plants"), ("heading", "Greenhouse")]
    sentence = next(block for block in blocks if block.text.startswith("The"))
    assert [(sentence.text[start:end], how) for start, end, how in sentence.marks] == [
        ("white fly", "strong"),
        ("warmth", "tag"),
    ]
    assert [(sentence.text[start:end], name) for start, end, name in sentence.targets] == [("white fly", "Whitefly")]
    assert (blocks[-1].lead, blocks[-1].text) == ("Ada", "Hello there.")
    assert all(text[block.starts[0]] == block.text[0] for block in blocks)


def test_items_that_are_no_sentence_are_quoted_with_what_stands_before_their_list() -> None:
    text = "Kinds of layout:\n\n- [[Tree Layout]]\n- ![[Shot 2023.png|300]] [[Radial Layout|radial]]\n\n**Two Words**\n\nAlso plain.\n"
    kinds = [(block.kind, text[block.context :][:5] if block.context >= 0 else "") for block in prose_of(text)]
    assert kinds == [("paragraph", ""), ("item", "Kinds"), ("item", "Kinds"), ("heading", ""), ("paragraph", "**Two")]
    assert "Shot" not in " ".join(block.text for block in prose_of(text))


def test_targets_of_references_are_no_names_and_code_is_read_as_code() -> None:
    block = prose_of("See :ref:`appendix-3` and `a.b`, ``c = 1`` or :ref:`the index <idx>`.\n")[0]
    assert block.text == "See it and a.b, it or the index."
    assert [block.text[start:end] for start, end in block.literal] == ["a.b", "it"]


def test_a_title_in_a_field_is_a_heading_and_listed_persons_are_attendees() -> None:
    assert [(block.kind, block.text) for block in prose_of("PEP: 8\nTitle: Style Guide\nAuthor: Ada\n")] == [
        ("heading", "Style Guide")
    ]
    names = "* Ada Byron @ada (chair)\n* Max Born @max\n* Lise Meitner (LM)\n\nThe Board (x) met.\n"
    assert attendees(names) == ["Ada Byron", "Max Born", "Lise Meitner"]
