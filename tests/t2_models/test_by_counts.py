"""Documents in other languages than English: told, and read by counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.domain.inflection import READ, stem
from kgfs.domain.languages import ENGLISH, UNKNOWN, language_of
from kgfs.models.contract import Extraction, Passage
from kgfs.models.extractor.by_counts import extraction

GERMAN = """# Gezeiten

Eine *Springtide* ist eine Tide, die bei Neumond und bei Vollmond besonders hoch steigt. Der Wasserstand im Hafen hängt von der Springtide ab, z. B. im März.
Die Springtiden werden im Gezeitenkalender angekündigt. Wer den Gezeitenkalender kennt, kann den Wasserstand für jeden Tag ablesen.
Im Gezeitenkalender stehen auch die Namen der Häfen. Die hohen Wasserstände sind für kleine Boote gefährlich. Bei hohen Wasserständen bleibt das
Boot im Hafen, und die Hafenmeisterin gibt Bescheid. Die Hafenmeisterin misst den Wasserstand mit einem Pegel, den sie täglich prüft.
"""
FRENCH = """# Les marées

Une *marée de vive-eau* est une marée qui monte très haut à la pleine lune. Le niveau de la mer dépend de la lune et du vent. L'annuaire des marées
donne l'heure de chaque marée. Les annuaires des marées sont vendus dans les ports. Le bateau attend la marée, et le pilote lit l'annuaire des
marées avant de sortir. Les pilotes connaissent le port, et le pilote envoie un message à la capitainerie. Le pilote envoie une réponse.
"""
SPANISH = """# Las mareas

Una *marea viva* es una marea que sube mucho con la luna llena. El nivel del mar depende de la luna y del viento. La tabla de mareas da la hora
de cada marea. Las tablas de mareas se venden en los puertos. El barco espera la marea, y el piloto lee la tabla de mareas antes de salir. Los
pilotos conocen el puerto, y el piloto envía un mensaje a la capitanía. Con la marea baja el barco no puede salir del puerto.
"""
POLISH = """# Pływy

Każdy port ma tablicę pływów, a pilot czyta ją codziennie. Tablica pływów podaje godzinę. Potem pilot wysyła wiadomość do kapitanatu w Gdańsku, bo
tablica nie zawsze ma rację. Statki czekają na wysoką wodę, jeśli tablica mówi, że woda jest niska. **Kapitanat Portu** odpowiada, gdy może.
"""


def _read(text: str, language: str) -> Extraction:
    assert language_of(text) == language
    found = extraction(Passage("", (), text, language=language))
    for concept in found.concepts:
        assert concept.signs is not None and concept.signs.language == language
        for quote in concept.quotes:
            assert text[quote.start : quote.end] == quote.text
    return found


def _whole(found: Extraction) -> dict[str, int]:
    """Return the labels with the number of sentences that have them as a whole phrase."""
    return {one.label: one.signs.whole for one in found.concepts if one.signs is not None and one.signs.whole}


def test_german_nouns_and_their_adjectives_are_candidates_with_all_their_forms() -> None:
    found = _read(GERMAN, "de")
    whole = _whole(found)
    assert whole["Gezeitenkalender"] == 3 and whole["Wasserstand"] == 5 and whole["Hafenmeisterin"] == 2
    assert {"hohen Wasserstände", "hohen Wasserständen"} <= {one.label for one in found.concepts}
    assert {"Wasserstände", "Wasserständen"} <= {one.label for one in found.concepts}  # forms of one candidate
    assert not {"Namen", "Tag", "Wer", "Bescheid und"} & set(whole)
    [tide] = [one for one in found.concepts if one.label == "Springtide"]
    assert tide.signs is not None and tide.signs.strong
    assert [quote.definition for quote in tide.quotes if quote.defines] == [
        "eine Tide, die bei Neumond und bei Vollmond besonders hoch steigt"
    ]
    assert any(
        quote.text.endswith("z. B. im März.") for one in found.concepts for quote in one.quotes
    )  # no sentence ends in an abbreviation


@pytest.mark.parametrize(
    ("text", "language", "names", "never"),
    [
        (FRENCH, "fr", {"annuaire des marées": 3, "pilote": 3}, {"pilote envoie", "L'annuaire", "niveau", "très haut"}),
        (SPANISH, "es", {"tabla de mareas": 3, "piloto": 2}, {"piloto envía", "nivel", "baja"}),
    ],
)
def test_nouns_stand_behind_articles_and_verbs_are_no_part_of_names(
    text: str, language: str, names: dict[str, int], never: set[str]
) -> None:
    whole = _whole(_read(text, language))
    assert {name: whole.get(name) for name in names} == names
    assert not never & {name for name, count in whole.items() if count > 1}


def test_of_an_unknown_language_names_headings_and_marks_are_candidates() -> None:
    labels = {one.label for one in _read(POLISH, UNKNOWN).concepts}
    assert {"Pływy", "Kapitanat Portu", "Gdańsku", "tablica"} <= labels
    assert not {"Potem", "Każdy", "jest"} & labels


def test_languages_are_told_and_english_is_expected() -> None:
    assert (
        language_of(
            "The tide table gives the hour of each tide, and the pilot reads it before he leaves the harbour with his boat."
        )
        == ENGLISH
    )
    assert language_of("Springtide") == ENGLISH
    assert language_of("Springtide", "de") == "de"
    assert language_of(FRENCH, "de") == "fr"
    assert language_of(POLISH, "fr") == "fr"  # a section that cannot be told is in its document's language


def test_forms_of_one_noun_are_one_and_other_words_are_not() -> None:
    same = {
        "de": [
            "hafen häfen",
            "schnappschuss schnappschüsse schnappschüssen",
            "befehl befehls befehle befehlen",
            "system systeme systemen",
            "prozess prozesse",
        ],
        "fr": ["canal canaux", "marée marées", "niveau niveaux"],
        "es": ["árbol árboles", "vez veces", "clave claves"],
        "it": ["elenco elenchi", "albero alberi"],
        "pt": ["função funções", "imagem imagens"],
        "nl": ["tafel tafels", "bestand bestanden"],
    }
    for language, groups in same.items():
        for group in groups:
            assert len({stem(word, language) for word in group.split()}) == 1, group
    assert stem("navigateur", "fr") != stem("navigation", "fr")
    assert stem("entfernen", "de") != stem("entfernung", "de")


@given(
    text=st.text(alphabet="aeénst AEÉ.,;:!?'’\n#*`[](){}-_", max_size=300),
    language=st.sampled_from([*sorted(READ), UNKNOWN]),
)
def test_whatever_the_text_its_quotes_are_exact(text: str, language: str) -> None:
    for concept in extraction(Passage("", (), text, language=language)).concepts:
        assert concept.quotes
        for quote in concept.quotes:
            assert quote.text.strip() and text[quote.start : quote.end] == quote.text
