"""The documents of the golden home, written for this purpose, as (path below ``documents/``, bytes)."""

from __future__ import annotations

import io
import json
import zipfile

LIGHTHOUSE = b"""# The lighthouse at Vessel Point

## Building

The lighthouse at Vessel Point was built of granite. The granite came by barge from the quarry at Low Marsh.
A lighthouse keeper lived below the lamp room, and the lamp room held a Fresnel lens.

## The lamp

The Fresnel lens turned in a bath of mercury. The lighthouse keeper wound the clockwork every four hours.
When the fog came in, the fog signal answered the lamp. The fog signal was a bell, later a siren.

## The keeper

A lighthouse keeper wrote the log book every night. The log book names each ship, the tide and the wind.
"""

TIDES = [
    b"""Tides in the harbour
====================

The tide mill
-------------

The tide mill stands at the mouth of the harbour. A tide mill grinds grain while the tide falls.
The mill pond keeps the water of the spring tide behind a sluice gate.

The tide table
--------------

The harbour master prints the tide table. The tide table gives the spring tide and the neap tide of each month.
""",
    b"""Tides in the harbour
====================

The tide mill
-------------

The tide mill stands at the mouth of the harbour. A tide mill grinds grain while the tide falls.
The mill pond keeps the water of the spring tide behind a sluice gate. The miller opens the sluice gate by hand.

The tide table
--------------

The harbour master prints the tide table. The tide table gives the spring tide and the neap tide of each month.
""",
    b"""Tides in the harbour
====================

The tide mill
-------------

The tide mill stands at the mouth of the harbour. A tide mill grinds grain while the tide falls.
The mill pond keeps the water of the spring tide behind a sluice gate. The miller opens the sluice gate by hand.

The tide gauge
--------------

A tide gauge at the quay draws the water level on paper. The harbour master reads the tide gauge each morning.

The tide table
--------------

The harbour master prints the tide table. The tide table gives the spring tide and the neap tide of each month.
""",
]
"""Three contents of one path."""

FOG = [
    "The fog signal sounds twice a minute.\r\nA fog signal is heard before the lighthouse is seen.\r\n"
    "The fog bell hangs in the gallery: \U0001f514 cafe\u0301 na\u00efve.\r\n".encode(),
    b"The fog signal was sold. The harbour master keeps the fog bell in the customs house.\n",
]
"""Two contents of a path that has the first, the second, and the first again."""

HTML = b"""<!DOCTYPE html>
<html><head><title>Harbour rules</title><style>body { color: navy }</style></head>
<body><h1>Harbour rules</h1>
<p>The harbour master gives each ship a berth. A ship without a berth waits at the <b>outer buoy</b>.</p>
<ul><li>No fishing from the quay.</li><li>The pilot boat goes first.</li></ul>
</body></html>
"""

MAIL = b"""From: Ada Ferris <ada@harbour.example>
To: Jon Merrow <jon@harbour.example>
Subject: The pilot boat
Date: Tue, 3 Mar 2026 08:15:00 +0000
Message-ID: <one@harbour.example>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8

Dear Jon,

the pilot boat needs a new engine before the spring tide. The harbour master agreed to pay for the engine.

Ada
"""

MBOX = b"""From jon@harbour.example Wed Mar  4 09:00:00 2026
From: Jon Merrow <jon@harbour.example>
To: Ada Ferris <ada@harbour.example>
Subject: Re: The pilot boat
Date: Wed, 4 Mar 2026 09:00:00 +0000
Message-ID: <two@harbour.example>
In-Reply-To: <one@harbour.example>

> the pilot boat needs a new engine
The shipyard at Low Marsh can mount the engine in April.

From ada@harbour.example Wed Mar  4 10:30:00 2026
From: Ada Ferris <ada@harbour.example>
To: Jon Merrow <jon@harbour.example>
Subject: Re: The pilot boat
Date: Wed, 4 Mar 2026 10:30:00 +0000
Message-ID: <three@harbour.example>
In-Reply-To: <two@harbour.example>

Then the shipyard should look at the sluice gate of the tide mill, too.
"""


def _lines(*entries: object) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


CLAUDE = _lines(
    {
        "type": "user",
        "sessionId": "5b0c6f0e-0000-4000-8000-000000000001",
        "uuid": "a1",
        "parentUuid": None,
        "timestamp": "2026-03-05T10:00:00.000Z",
        "cwd": "/srv/harbour",
        "message": {"role": "user", "content": "Plot the tide gauge of March against the tide table."},
    },
    {
        "type": "assistant",
        "sessionId": "5b0c6f0e-0000-4000-8000-000000000001",
        "uuid": "a2",
        "parentUuid": "a1",
        "timestamp": "2026-03-05T10:00:07.000Z",
        "message": {
            "role": "assistant",
            "model": "example-model",
            "content": [
                {"type": "text", "text": "The tide gauge is ahead of the tide table by nine minutes."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "head gauge.csv"}},
            ],
        },
    },
    {
        "type": "user",
        "sessionId": "5b0c6f0e-0000-4000-8000-000000000001",
        "uuid": "a3",
        "parentUuid": "a2",
        "timestamp": "2026-03-05T10:00:08.000Z",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "06:12,4.31\n06:18,4.33"}],
        },
    },
)

CODEX = _lines(
    {
        "timestamp": "2026-03-06T12:00:00.000Z",
        "type": "session_meta",
        "payload": {"id": "01999", "cwd": "/srv/harbour"},
    },
    {
        "timestamp": "2026-03-06T12:00:01.000Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Why does the fog signal need compressed air?"}],
        },
    },
    {
        "timestamp": "2026-03-06T12:00:04.000Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "The fog signal is a siren, and compressed air drives the siren."}
            ],
        },
    },
)

NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            {
                "cell_type": "markdown",
                "id": "c1",
                "metadata": {},
                "source": ["# Spring tides\n", "The tide gauge shows each spring tide."],
            },
            {
                "cell_type": "code",
                "id": "c2",
                "metadata": {},
                "execution_count": 1,
                "source": ["levels = [4.31, 4.33]\n", "max(levels)"],
                "outputs": [
                    {
                        "output_type": "execute_result",
                        "execution_count": 1,
                        "metadata": {},
                        "data": {"text/plain": ["4.33"]},
                    }
                ],
            },
        ],
    },
    indent=1,
).encode()


def pdf(words: str) -> bytes:
    """A PDF of one page that says ``words``."""
    shown = f"BT /F1 12 Tf 72 720 Td ({words}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        table,
        len(out),
    )


def docx(words: str) -> bytes:
    """A DOCX of one paragraph."""
    kinds = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    parts = {
        "[Content_Types].xml": '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{kinds}"/></Types>',
        "_rels/.rels": '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Target="word/document.xml" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>',
        "word/document.xml": '<?xml version="1.0"?>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f"<w:body><w:p><w:r><w:t>{words}</w:t></w:r></w:p></w:body></w:document>",
    }
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 3, 1, 0, 0, 0)), body)
    return raw.getvalue()


WIND = b"# Wind\n\nThe wind rose shows the west wind. A west wind raises the spring tide at the quay.\n"

HARBOUR: dict[bytes, bytes] = {
    b"lighthouse.md": LIGHTHOUSE,
    b"tides.rst": TIDES[0],
    b"fog-signals.txt": FOG[0],
    b"pages/rules.html": HTML,
    b"mail/engine.eml": MAIL,
    b"mail/2026-03.mbox": MBOX,
    b"sessions/claude.jsonl": CLAUDE,
    b"sessions/codex.jsonl": CODEX,
    b"notebooks/tides.ipynb": NOTEBOOK,
    b"survey.pdf": pdf("The quay wall moved two millimetres."),
    b"letter.docx": docx("The customs house asks for a new roof."),
    b"empty.txt": b"",
    b".hidden.md": b"# Hidden\n\nA name with a dot is no document.\n",
    b"sub/deeper/wind.md": WIND,
    b"caf\xe9 \x07 bell.txt": b"The bell buoy rings with every wave. The bell buoy marks the sandbank.\n",
    b"100%41 percent.md": b"# Percent\n\nThe harbour master pays one percent of the berth fee to the pilot boat.\n",
    b"two\nlines.txt": b"A name of two lines. The sandbank moves with the spring tide.\n",
    "e\u0301tude \u6f6e.txt".encode(): "The word \u6f6e means tide. The spring tide is called \u5927\u6f6e.\n".encode(),
    b"old/notes.txt": b"The old quay was made of oak. The old quay burned in the year of the great storm.\n",
    b"old/again.txt": b"The great storm took the outer buoy. The outer buoy was found at Low Marsh.\n",
    b"old/wrong.md": b"# Wrong\n\nA sea serpent lives under the quay. The sea serpent eats granite.\n",
    b"old/kept.md": b"# Kept\n\nThe customs house burned its ledgers. A customs house is a building where the duty is paid.\n",
    b"old/all.md": b"# Ghosts\n\nThe ghost ship enters the harbour at neap tide. The ghost ship has no berth.\n",
    b"old/secret.md": b"# Secret\n\nThe smuggler hid the brandy in the mill pond. A smuggler is a sailor who lands brandy by night.\n",
}

BEES: dict[bytes, bytes] = {
    b"hive.md": b"# The hive\n\nThe queen bee lays eggs in the brood comb. A worker bee feeds the queen bee.\n\n"
    b"## Swarms\n\nA swarm leaves the hive with the old queen bee. The beekeeper catches the swarm in a skep.\n",
    b"honey.txt": b"The beekeeper spins the honey comb in May. Honey comb without brood comb gives clear honey.\n"
    b"The worker bee closes the honey comb with wax.\n",
    b"wax.rst": b"Wax\n===\n\nThe beekeeper melts the wax in the sun. Clean wax becomes candles for the lighthouse.\n",
}
