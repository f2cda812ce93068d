"""Bytes of texts in any encoding: what they are is told or guessed, and what is wrong costs itself only."""

from __future__ import annotations

import random

import pytest

from kgfs.errors import UnreadableTextError
from kgfs.formats.decoding import decode
from kgfs.formats.html import decoded
from kgfs.formats.table import parse

GERMAN = "Die Prüfung der Brücke Aalfeld begann früh. Frau Süßmilch maß die Höhe – „genau“, wie sie sagte."
FRENCH = "L’été dernier, le château était fermé à cause de la fête. Ça coûte 5 €."
SPANISH = "¿Qué pasó mañana? El niño comió una piña."
SWEDISH = "Båten går på måndag till ön. Välkommen ombord."
POLISH = "Pompa w trzecim pomieszczeniu została wymieniona. Proszę o odpowiedź w ciągu tygodnia."
CZECH = "Čerpadlo ve třetí místnosti bylo vyměněno v úterý. Příští schůzka bude později."
TURKISH = "Üçüncü odadaki pompa değiştirildi. Şimdi çalışıyor."
RUSSIAN = "Насос в третьем помещении заменили во вторник."
GREEK = "Η αντλία στο τρίτο δωμάτιο αντικαταστάθηκε."
HEBREW = "המשאבה בחדר השלישי הוחלפה אתמול"
ARABIC = "تم استبدال المضخة في الغرفة الثالثة أمس"
THAI = "ปั๊มในห้องที่สามถูกเปลี่ยนเมื่อวานนี้"
JAPANESE = "議事録。第８ポンプ室の弁は火曜日に交換されました。"
CHINESE = "水泵房的三号阀门在周二更换。"
TAIWANESE = "幫浦房的三號閥門在週二更換。"
KOREAN = "세 번째 펌프실의 밸브는 화요일에 교체되었습니다."


@pytest.mark.parametrize(
    ("text", "encoding", "guessed"),
    [
        (GERMAN, "cp1252", "windows-1252"),
        ("Müller", "cp1252", "windows-1252"),
        ("Name;Straße;Ort\r\nMüller;Hauptstraße 5;Köln\r\n", "cp1252", "windows-1252"),
        (GERMAN[:43], "cp850", "cp850"),
        (FRENCH, "cp1252", "windows-1252"),
        (SPANISH, "cp1252", "windows-1252"),
        (SWEDISH, "cp1252", "windows-1252"),
        ("It’s £5, or ½ of it, at 20 °C ± 1 – “cheap”.", "cp1252", "windows-1252"),
        (POLISH, "iso8859-2", "iso-8859-2"),
        (POLISH, "cp1250", "windows-1250"),
        (CZECH, "iso8859-2", "iso-8859-2"),
        (TURKISH, "cp1254", "windows-1254"),
        (RUSSIAN, "cp1251", "windows-1251"),
        ("Привет, мир", "cp1251", "windows-1251"),
        ("имя;город\r\nИванов;Москва\r\nПетров;Тверь\r\n", "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "koi8-r"),
        (RUSSIAN, "cp866", "ibm866"),
        (GREEK, "cp1253", "windows-1253"),
        (HEBREW, "cp1255", "windows-1255"),
        (ARABIC, "cp1256", "windows-1256"),
        (THAI, "cp874", "cp874"),
        (JAPANESE, "cp932", "shift_jis"),
        (JAPANESE, "euc-jp", "euc-jp"),
        (JAPANESE, "iso2022-jp", "iso-2022-jp"),
        (CHINESE, "gbk", "gb18030"),
        (TAIWANESE, "big5", "big5"),
        (KOREAN, "euc-kr", "euc-kr"),
        ("The pump house.\r\n", "utf-16-le", "utf-16-le"),
        ("The pump house.\r\n", "utf-16-be", "utf-16-be"),
        (RUSSIAN, "utf-16-le", "utf-16-le"),
        (CHINESE, "utf-16-be", "utf-16-be"),
    ],
)
def test_a_text_that_does_not_tell_its_encoding_is_guessed(text: str, encoding: str, guessed: str) -> None:
    found = decode("x.txt", text.encode(encoding))
    assert (found.text, found.guessed, found.note) == (text, guessed, "")
    assert text.encode(encoding).decode(found.encoding) == text


def test_formats_of_text_are_told_in_any_encoding() -> None:
    table = parse("t.csv", "имя;город\r\nИванов;Москва\r\n".encode("cp1251"))
    assert (table.parser.partition("/")[0], table.encoding, table.guessed_encoding) == (
        "table",
        "windows-1251",
        "windows-1251",
    )
    notes = "# Насосы\n\n- первый\n- второй\n\n## Трубы\n\nТекст.\n"
    wide = parse("notes", notes.encode("utf-16-le"))
    assert (wide.media_type, wide.title, wide.guessed_encoding) == ("text/markdown", "Насосы", "utf-16-le")
    assert parse("a.txt", "naïve\n".encode()).guessed_encoding == ""


@pytest.mark.parametrize(
    ("content", "text", "note"),
    [
        (b"fr\xc3\xbch\nSp\xe4t\n", "früh\nSp\ufffdt\n", "1 character is not valid UTF-8"),
        ("会议纪要，水泵房".encode() + b"\xff" + "。".encode(), "会议纪要，水泵房\ufffd。", "1 character is not valid UTF-8"),
        (b"one about Kestrel\n" + bytes(40) + b"two about Merlin\n", "one about Kestrel\n\ufffdtwo about Merlin\n", "40 NUL"),
        (b"Kestrel\n" + bytes(4096), "Kestrel\n\ufffd", "4,096 NUL"),
        ("eins über Köln\n".encode("cp1252") + bytes(9) + b"zwei\n", "eins über Köln\n\ufffdzwei\n", "9 NUL"),
        (b"\xef\xbb\xbfone about Kestrel\r\n" + bytes(7) + b"two\r\n", "\ufeffone about Kestrel\r\n\ufffdtwo\r\n", "7 NUL"),
        (b"\xff\xfe" + "The pump house is shut.".encode("utf-16-le") + b"x", "\ufeffThe pump house is shut.\ufffd", "UTF-16-LE"),
        (f"{JAPANESE}\n会議".encode("cp932")[:-1], f"{JAPANESE}\n会\ufffd", "SHIFT_JIS"),
    ],
)  # fmt: skip
def test_wrong_bytes_and_nuls_cost_themselves(content: bytes, text: str, note: str) -> None:
    found = decode("x.log", content)
    assert (found.text, found.encoding) == (text, "") and note in found.note


@pytest.mark.parametrize(
    "content",
    [
        *(random.Random(seed).randbytes(size) for seed in range(3) for size in (100, 4000)),
        bytes(random.Random(2).choices(range(128, 256), k=300)),
        b"".join(number.to_bytes(4, "little") for number in range(0, 9000, 7)),
        "Die Prüfung der Brücke begann, später maß sie die Höhe.".encode("mac-roman"),
    ],
)
def test_a_guess_that_makes_no_words_is_none(content: bytes) -> None:
    with pytest.raises(UnreadableTextError, match=r"(?i)save it .*as UTF-8"):
        decode("x.txt", content)


@pytest.mark.parametrize(
    ("declared", "encoding", "guessed"),
    [
        ("utf-8", "cp1251", "windows-1251"),
        ("iso-8859-1", "cp1251", "windows-1251"),
        ("windows-1251", "cp1251", ""),
        ("windows-1252", "utf-8", ""),
        ("", "koi8-r", "koi8-r"),
        ("", "utf-16-le", "utf-16-le"),
    ],
)
def test_what_a_page_declares_is_taken_where_it_makes_words(declared: str, encoding: str, guessed: str) -> None:
    meta = f"<meta charset={declared}>" if declared else ""
    page = f"<html><head>{meta}</head><body><p>{RUSSIAN}</p></body></html>"
    text = parse("a.html", page.encode(encoding))
    assert RUSSIAN in text.text and text.guessed_encoding == guessed


@pytest.mark.parametrize(
    ("head", "encoding", "guessed"),
    [
        ('<?xml version="1.0" encoding="iso-8859-2"?>', "iso8859-2", ""),
        ("#!/bin/sh\n# -*- coding: windows-1250 -*-", "cp1250", ""),
        ('<?xml version="1.0" encoding="windows-1252"?>', "koi8-r", "koi8-r"),
        ("# coding: no-such", "cp1251", "windows-1251"),
    ],
)
def test_what_a_source_declares_is_taken_where_it_makes_words(head: str, encoding: str, guessed: str) -> None:
    words = "A gyűlés időpontja később derül ki." if guessed == "" else RUSSIAN
    found = decode("a.xml", f"{head}\n{words}\n".encode(encoding))
    assert words in found.text and found.guessed == guessed


def test_a_page_of_which_no_guess_makes_words_keeps_its_ascii() -> None:
    found = decoded("<p>The weir</p><p>Die Prüfung der Brücke begann, später maß sie die Höhe.</p>".encode("mac-roman"))
    assert "<p>The weir</p>" in found.text and "\ufffd" in found.text and "ASCII" in found.note
