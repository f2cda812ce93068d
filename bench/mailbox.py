"""What a mailbox costs: ``python -m bench.mailbox DIR [--mails 10000] [--prose FOLDER]``.

Makes a mailbox in DIR (plain, HTML and multipart mails, some with an attachment, in threads) and ingests it into a home there by the
command line, without models. The mails have sentences of random words, or one to four paragraphs of the texts of FOLDER. Prints
CPU, seconds, mails a second and the most memory that a process took. What is in DIR from before is used: a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from bench.memory import paragraphs

WORDS = """
the harbour office sends the list of ships sacks barrels ropes and lamps that the clerks counted before the tide turned and asks
whether the miller will lift the sluice gate on monday since the oak beam was mended and the grain price has risen again
"""
_WORDS = WORDS.split()
BEGAN = datetime(2020, 1, 1, 8, tzinfo=UTC)


def mail(n: int, chance: random.Random, prose: Sequence[str] = ()) -> bytes:
    """Return the mail number ``n``, with paragraphs of ``prose``."""
    made = EmailMessage()
    sender = chance.randrange(200)
    made["From"] = f"Clerk {sender} <clerk{sender}@harbour.example>"
    made["To"] = f"Miller {chance.randrange(50)} <mill{chance.randrange(50)}@mill.example>"
    made["Subject"] = f"{'Re: ' if n % 3 else ''}Shipment {n - n % 3} of grain"
    made["Date"] = format_datetime(BEGAN + timedelta(minutes=7 * n))
    made["Message-ID"] = f"<{n}@harbour.example>"
    if n % 3:
        made["In-Reply-To"] = f"<{n - n % 3}@harbour.example>"
    if prose:
        sentences = chance.choices(prose, k=chance.randrange(1, 5))
    else:
        length = chance.randrange(3, 25)
        sentences = [" ".join(chance.choice(_WORDS) for _ in range(14)).capitalize() + "." for _ in range(length)]
    body = ("\n\n" if prose else " ").join(sentences)
    text = f"Dear miller,\n\n{body}\n\nOrder {n}.\n"
    if n % 3:
        quoted = sentences[0].replace("\n", "\n> ")
        text += f"\nOn 1 January 2020 Clerk wrote:\n> {quoted}\n"
    made.set_content(text)
    if n % 4 == 0:
        made.add_alternative(
            f"<html><body><p>{'</p><p>'.join(sentences)}</p><p>Order {n}.</p></body></html>", subtype="html"
        )
    if n % 20 == 0:
        rows = "\n".join(f"{row},{chance.randrange(1000)}" for row in range(40))
        made.add_attachment(f"sack,weight\n{rows}\n".encode(), maintype="text", subtype="csv", filename=f"list{n}.csv")
    return bytes(made)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", type=Path)
    words.add_argument("--mails", type=int, default=10_000)
    words.add_argument("--prose", type=Path, help="a folder of texts whose paragraphs the mails have")
    given = words.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "mails.mbox"
    if not file.exists():
        chance = random.Random(1)
        prose = paragraphs(given.prose) if given.prose else []
        with file.open("wb") as out:
            for n in range(given.mails):
                out.write(b"From clerk@harbour.example Wed Jan  1 08:00:00 2020\n" + mail(n, chance, prose) + b"\n")
    environment = {
        **os.environ,
        "KGFS_HOME": str(given.folder / "home"),
        "KGFS_MODELS_EXTRACTOR": "statistics",
        "KGFS_MODELS_EMBEDDER": "none",
    }
    begun = time.monotonic()
    for command in (["ingest", str(file), "--ontology", "Mail", "--no-wait"], ["worker", "--until-idle"]):
        subprocess.run([sys.executable, "-m", "kgfs", *command], env=environment, check=True, stderr=subprocess.DEVNULL)
    took, used = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(f"{file.stat().st_size / 1e6:.1f} MB, {given.mails} mails: {cpu:.0f} s of CPU, {took:.0f} s,", end=" ")
    print(f"{given.mails / cpu:.1f} mails a second of CPU; at most {used.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
