"""Mails, mailboxes and invitations as programs really write them."""

from __future__ import annotations

import base64
import random

import pytest
from asn1crypto import cms

from kgfs.domain.text import Text
from kgfs.errors import UnreadableTextError
from kgfs.formats.mail_flowed import unflowed
from kgfs.formats.table import parse

HEAD = b"From: a@example.org\nSubject: Gates\nDate: Tue, 03 Oct 2023 09:15:00 +0200\n"


def read(content: bytes, name: str = "a.eml") -> Text:
    return parse(name, content, keep=lambda name, sha256, content: name)


@pytest.mark.parametrize(
    "border",
    [
        "From ada@example.org Tue Oct  3 09:15:00 2023",
        "From - Tue Oct 03 09:15:00 2023",
        "From 1779@xxx Tue Oct 03 09:15:00 +0000 2023",
        "From MAILER-DAEMON Tue, 3 Oct 2023 09:15:00 +0200",
        "From ada@example.org 2023-10-03 09:15:00",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_border_of_a_mailbox_has_an_address_and_a_date(border: str, end: str) -> None:
    one = f"{HEAD.decode()}\nFrom Tuesday on the gate is shut.\nNote: the side gate stays open.\n\nFrom me on Mon Oct 2\nBye: Ada\n"
    box = f"{border}\n{one}\n{border}\n{one.replace('Gates', 'Boats')}".replace("\n", end).encode()
    kept: list[bytes] = []
    text = parse("a.mbox", box, keep=lambda name, sha256, content: kept.append(content) or name)  # type: ignore[func-returns-value]
    assert text.pages == 2 and all(b"stays open." in each and b"Bye: Ada" in each for each in kept)


@pytest.mark.parametrize(
    ("encoding", "guessed"), [("utf-8", ""), ("cp1252", "windows-1252"), ("koi8-r", "koi8-r"), ("euc-kr", "euc-kr")]
)
def test_header_fields_beyond_ascii_are_read(encoding: str, guessed: str) -> None:
    words = {"koi8-r": "Насос в третьем помещении", "euc-kr": "펌프실의 밸브는 화요일에"}.get(
        encoding, "Rohes Gemüse für Jürgen"
    )
    mail = (
        f"From: {words.split()[-1]} <j@example.org>\nSubject: {words}\nDate: Tue, 03 Oct 2023 09:15:00 +0200\n\nAsh.\n"
    )
    text = read(mail.encode(encoding))
    assert (text.title, text.guessed_encoding) == (words, guessed)
    assert f"**From:** {words.split()[-1]} <j@example.org>" in text.text
    assert text.about["participants"] == ["j@example.org"]


def test_names_of_attachments_beyond_ascii_are_read() -> None:
    mail = (
        HEAD
        + (
            "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: application/pdf\n"
            'Content-Disposition: attachment; filename="Prüfung.pdf"\n\nx\n--b--\n'
        ).encode()
    )
    assert [part.given for part in read(mail).parts] == ["Prüfung.pdf"]


@pytest.mark.parametrize("declared", ["boundary=lost", 'boundary="', "charset=x"])
def test_a_boundary_that_is_not_there_is_looked_for(declared: str) -> None:
    mail = (
        HEAD
        + (
            f"Content-Type: multipart/mixed; {declared}\n\n--_b 1\nContent-Type: text/plain; charset=utf-8\n"
            "Content-Transfer-Encoding: quoted-printable\n\nThe pilot sees J=C3=BCrgen.\n"
            "--_b 1\nContent-Type: text/csv; name=crates.csv\n\n1,2\n--_b 1--\n"
        ).encode()
    )
    text = read(mail)
    assert "The pilot sees Jürgen." in text.text and [part.name for part in text.parts] == ["crates.csv"]


def test_parts_without_any_boundary_are_text() -> None:
    text = read(HEAD + b"Content-Type: multipart/mixed; boundary=lost\n\nThe pilot saw it.\n")
    assert "The pilot saw it." in text.text and not text.parts


def test_lines_that_flow_are_joined() -> None:
    flowed = "The gate \nis shut. \n\n> They said \n> it is open.\n>> Who?\n stuffed \n-- \nAda \nKnot\n"
    assert unflowed(flowed, without_space=False) == (
        "The gate is shut.\n\n> They said it is open.\n>> Who?\nstuffed\n-- \nAda Knot\n"
    )
    assert unflowed("第五ポンプ室の \n弁。\n", without_space=True) == "第五ポンプ室の弁。\n"
    mail = HEAD + b"Content-Type: text/plain; format=flowed; delsp=yes\n\nThe tur \nbine  \nis new.\n"
    assert "The turbine is new." in read(mail).text


def calendar(*lines: str, method: str = "REQUEST", component: str = "VEVENT") -> str:
    body = "\r\n".join(["DTSTAMP:20230101T000000Z", *lines])
    zone = "BEGIN:VTIMEZONE\r\nTZID:W\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nEND:STANDARD\r\nEND:VTIMEZONE"
    alarm = "BEGIN:VALARM\r\nDESCRIPTION:Wake up\r\nEND:VALARM"
    return (
        f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:{method}\r\n{zone}\r\nBEGIN:{component}\r\n{body}\r\n{alarm}\r\n"
        f"END:{component}\r\nEND:VCALENDAR\r\n"
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("DTSTART:20231107T130000Z", "DTEND:20231107T140000Z"), "**When:** 2023-11-07 13:00–14:00 UTC"),
        (("DTSTART;TZID=Europe/Berlin:20231107T230000", "DURATION:PT1H30M"), "**When:** 2023-11-07 23:00 – 2023-11-08 00:30 Europe/Berlin"),
        (("DTSTART;VALUE=DATE:20231107", "DTEND;VALUE=DATE:20231109"), "**When:** 2023-11-07 – 2023-11-08"),
        (("DTSTART;VALUE=DATE:20231107", "DTEND;VALUE=DATE:20231108"), "**When:** 2023-11-07\n"),
        (("DTSTART:20231107T130000", "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,1FR;UNTIL=20240131"),
         "**When:** 2023-11-07 13:00\n**Repeats:** weekly, every 2, on Tuesday, 1 Friday, until 2024-01-31\n"),
        (("DTSTART:20231307T130000Z",), "**When:** 20231307T130000Z"),
        (("LOCATION:Boiler room 3\\, east",), "**Where:** Boiler room 3, east\n"),
        (('ORGANIZER;CN="Example; Ada":mailto:ada@example.org', "ATTENDEE;CN=Bo;PARTSTAT=DECLINED:MAILTO:bo@example.org"),
         "**Organizer:** Example; Ada <ada@example.org>\n**Attendees:** Bo <bo@example.org> (declined)"),
        (("DESCRIPTION:Bring the torque", "  wrench\\nand a hat.\\n\\nThe gate is shut."),
         "Bring the torque wrench\nand a hat.\n\nThe gate is shut."),
    ],
)  # fmt: skip
def test_an_event_is_told_in_words(lines: tuple[str, ...], said: str) -> None:
    text = parse("a.ics", calendar("SUMMARY:Inspection", *lines).encode())
    assert (text.media_type, text.title) == ("text/calendar", "Inspection")
    assert said in text.text and "Wake" not in text.text and "1970" not in text.text


def test_a_calendar_without_its_name_is_known_and_a_task_is_told() -> None:
    text = parse(
        "task", calendar("SUMMARY:Paint", "DUE;VALUE=DATE:20231107", method="CANCEL", component="VTODO").encode()
    )
    assert text.text == "# Paint\n\n**Kind:** Cancelled\n**When:** due 2023-11-07\n"


@pytest.mark.parametrize("body", ["", "See you there."])
def test_an_invitation_in_a_mail_is_told_beside_its_body(body: str) -> None:
    event = calendar("SUMMARY:Inspection", "DTSTART:20231107T130000Z", "LOCATION:Hollin Weir")
    mail = (
        HEAD
        + (
            "Content-Type: multipart/alternative; boundary=c\n\n"
            f"--c\nContent-Type: text/plain\n\n{body}\n--c\nContent-Type: text/html\n\n<p>{body}</p>\n"
            f"--c\nContent-Type: text/calendar; method=REQUEST\n\n{event}\n--c--\n"
        ).encode()
    )
    text = read(mail)
    assert "## Inspection\n\n**Kind:** Invitation\n**When:** 2023-11-07 13:00 UTC\n**Where:** Hollin Weir" in text.text
    assert text.text.count(body or "Inspection") == 1 and "BEGIN:" not in text.text


def signed(content: bytes, content_type: str = "signed_data") -> bytes:
    data = {"content_type": "data", "content": content}
    signed_data = {"version": "v1", "digest_algorithms": [], "encap_content_info": data, "signer_infos": []}
    found: bytes = cms.ContentInfo({"content_type": content_type, "content": cms.SignedData(signed_data)}).dump()
    return found


def opaque(content: bytes) -> bytes:
    head = HEAD + b"Content-Type: application/pkcs7-mime; name=smime.p7m\nContent-Transfer-Encoding: base64\n\n"
    return head + base64.encodebytes(content)


def test_a_message_within_its_signature_is_read() -> None:
    text = read(opaque(signed("Content-Type: text/plain; charset=utf-8\r\n\r\nJürgen shut it.\r\n".encode())))
    assert "Jürgen shut it." in text.text and not text.parts


@pytest.mark.parametrize("content", [b"", b"\x30\x82", random.Random(3).randbytes(90), signed(b"x")[:-9]])
def test_a_damaged_signature_is_an_attachment(content: bytes) -> None:
    assert [part.name for part in read(opaque(content)).parts] == ["smime.p7m"]


@pytest.mark.parametrize(
    ("content", "reason", "remedy"),
    [
        (b"\x78\x9f\x3e\x22\x01\x00\x01\x06\x90\x08", "winmail.dat", "ask the sender"),
        (signed(b"x").replace(b"\x01\x07\x02", b"\x01\x07\x03", 1), "an encrypted S/MIME message", "ask the sender"),
        (signed(b""), "an S/MIME signature", "not read"),
    ],
)
def test_what_is_not_opened_says_what_it_is(content: bytes, reason: str, remedy: str) -> None:
    with pytest.raises(UnreadableTextError) as caught:
        parse("part.dat", content)
    assert reason in str(caught.value) and remedy in str(caught.value)
