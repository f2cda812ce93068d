"""Sender and date of quoted messages, and the attachments of messages within a mail."""

from __future__ import annotations

from email.message import EmailMessage
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.formats.mail_quotes import header_of
from kgfs.formats.mail_said import date_said
from kgfs.formats.table import parse
from kgfs.render.conversation import starts_of

ANN = "Ann Lee <ann99@b.org>"


@pytest.mark.parametrize(
    ("introduction", "sender", "sent"),
    [
        (f"On Tue, 3 Jun 2025 at 10:12, {ANN} wrote:", ANN, "2025-06-03T10:12"),
        (f"On Tue, Jun 3, 2025 at 10:12\u202fPM {ANN} wrote:", ANN, "2025-06-03T22:12"),
        ("On Tue, Jun 3, 2025 at 12:05 AM Ann Lee\n<ann99@b.org> wrote:", ANN, "2025-06-03T00:05"),
        ("On Tue, 03 Jun 2025 10:12:33 +0200, ann99@b.org wrote:", "ann99@b.org", "2025-06-03T10:12:33+02:00"),
        (f"On 2025-06-03 10:12 UTC, {ANN} wrote:", ANN, "2025-06-03T10:12Z"),
        (f"On Tue, Jun 03, 2025 at 10:12:33AM CEST, {ANN} wrote:", ANN, "2025-06-03T10:12:33"),
        ("On 3 Jun 2025, Ann wrote:", "Ann", "2025-06-03"),
        ('On 3 Jun 2025, "Lee, Ann" <a@b.org> wrote:', '"Lee, Ann" <a@b.org>', "2025-06-03"),
        (f"On 6/3/25 10:12 AM, {ANN} wrote:", ANN, ""),
        (f"On 6/13/2025 10:12 AM, {ANN} wrote:", ANN, "2025-06-13T10:12"),
        (f"{ANN} wrote on 3 June 2025 at 9:00:", ANN, "2025-06-03T09:00"),
        (f"Am 03.06.2025 um 10:12 schrieb {ANN}:", ANN, "2025-06-03T10:12"),
        (f"Am Di., 3. Juni 2025 um 10:12 Uhr schrieb {ANN}:", ANN, "2025-06-03T10:12"),
        ("Am 03.06.25 um 10:12 schrieb Ann Lee:", "Ann Lee", "2025-06-03T10:12"),
        (f"Le mar. 3 juin 2025 à 10:12, {ANN} a écrit\u00a0:", ANN, "2025-06-03T10:12"),
        (f"Le 03/06/2025 à 10h12, {ANN} a écrit :", ANN, "2025-06-03T10:12"),
        ("El mar, 3 jun 2025 a las 10:12, Ann Lee (<ann99@b.org>) escribió:", ANN, "2025-06-03T10:12"),
        (f"Il giorno mar 3 giu 2025 alle ore 10:12 {ANN} ha scritto:", ANN, "2025-06-03T10:12"),
        (f"Em ter., 3 de jun. de 2025 às 10:12, {ANN} escreveu:", ANN, "2025-06-03T10:12"),
        (f"Op di 3 jun 2025 om 10:12 schreef {ANN}:", ANN, "2025-06-03T10:12"),
        # What is not sure is left out.
        ("On 3 Jun 2025 10:12 AEST Ann wrote:", "", "2025-06-03T10:12"),
        ("On 3 Jun 2025 in the evening, Ann <a@b.org> wrote:", "a@b.org", "2025-06-03"),
        ("On Monday <jane@example.org> wrote:", "jane@example.org", ""),
        ("On 31 Jun 2025, Ann wrote:", "Ann", ""),
        ("In a mail to list@b.org of 3 Jun 2025 Ann said:", "", ""),
        ("2025年6月3日 10:12 李 <li@b.org>:", "", ""),
    ],
)  # fmt: skip
def test_the_line_before_a_quoted_message_says_who_wrote_it_and_when(introduction: str, sender: str, sent: str) -> None:
    assert header_of(f"{introduction}\n> The tide is high.\n") == (sender, sent)
    deeper = "".join(f"> {line}\n" for line in f"{introduction}\n> The tide is high.".split("\n"))
    assert header_of(deeper) == (sender, sent)


@pytest.mark.parametrize(
    ("fields", "sender", "sent"),
    [
        (f"From: {ANN}\nSent: Tuesday, June 3, 2025 10:12 AM\nTo: b@b.org\nSubject: Tides", ANN, "2025-06-03T10:12"),
        (f"*From:* {ANN}\n*Date:* Tue, 3 Jun 2025 10:12:00 +0000\n*To:* b", ANN, "2025-06-03T10:12:00+00:00"),
        ("Von: Ann Lee\nGesendet: Dienstag, 3. Juni 2025 10:12\nAn: b", "Ann Lee", "2025-06-03T10:12"),
        ("De : Ann Lee\nEnvoyé : mardi 3 juin 2025 10:12\nÀ : b", "Ann Lee", "2025-06-03T10:12"),
        ("From: Ann\nSent: 6/3/2025 10:12\nTo: b", "Ann", "6/3/2025 10:12"),
        ("From: Ann\nSent: yesterday\nTo: b\n\nDate: 2025-01-01", "Ann", ""),
        ("Subject: Tides\nTo: b\nCc: c\n\nFrom: Ann", "", ""),
    ],
)
def test_fields_below_a_rule_say_who_wrote_a_message_and_when(fields: str, sender: str, sent: str) -> None:
    for rule in ("-----Original Message-----", "________________________________\n"):
        assert header_of(f"{rule}\n{fields}\n\nThe tide is high.\n") == (sender, sent)


@given(st.text(), st.booleans())
def test_no_words_fail(words: str, day_first: bool) -> None:
    assert header_of(f"On {words} 3 Jun 2025, {words} wrote:") and isinstance(
        date_said(words, day_first=day_first), str
    )


def mail(body: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Date"] = "Bo <bo@b.org>", "Wed, 04 Jun 2025 08:00:00 +0000"
    message["Subject"] = "Tides"
    message.set_content(body)
    return message


def test_each_message_of_a_mail_says_who_wrote_it_and_has_its_own_attachments() -> None:
    inner = mail("The inner one.\n")
    inner.add_attachment(b"inner", maintype="application", subtype="octet-stream", filename="inner.bin")
    outer = mail(f"Top.\n\nOn Tue, 3 Jun 2025 at 10:12, {ANN} wrote:\n> The tide is high.\n")
    outer.add_attachment(inner)
    outer.add_attachment(b"outer", maintype="application", subtype="octet-stream", filename="outer.bin")
    text = parse("a.eml", outer.as_bytes(), keep=lambda name, sha256, content: name)
    starts = [*starts_of(text.places, text.pages), len(text.text)]
    own, quoted, within = (text.text[start:end] for start, end in pairwise(starts))
    assert text.pages == 3 and "Top." in own and "- outer.bin (" in own and "The inner" not in own
    assert quoted.strip() == (
        f"**From:** {ANN}\n**Date:** 2025-06-03T10:12\n\nOn Tue, 3 Jun 2025 at 10:12, {ANN} wrote:\n> The tide is high."
    )
    assert "The inner one." in within and "- inner.bin (" in within and "outer.bin" not in within
    assert [part.given for part in text.parts] == ["inner.bin", "outer.bin"]
