"""The conversation that a mail belongs to: what it holds itself, and the other mails of its thread."""

from __future__ import annotations

from kgfs.domain.documents import Document
from kgfs.domain.mails import Mail
from kgfs.domain.parts import PartKind, companion
from kgfs.render.conversation import Conversation
from kgfs.stores.stores import Stores

STEPS = 20
"""How often the ids of a thread are followed to further mails."""


def is_mail(stores: Stores, document: Document) -> bool:
    """Return whether the archive shows a Document as a mail: it was read as one, or is one of a mailbox. Quick."""
    if stores.graph.mail(document.doc_id) is not None:
        return True
    return any(row.kind == PartKind.MAIL for row in stores.catalog.names.part_of(document.doc_id))


def thread_of(stores: Stores, ontology: str, mail: Mail) -> list[Mail]:
    """Return the other mails of the conversation that the graph shows, by date. Quick.

    They are found by the ids that they have in common: Message-ID, References and In-Reply-To.
    """
    found: dict[str, Mail] = {}
    asked: set[str] = set()
    waiting = {mail.message_id, mail.thread} - {""}
    for _ in range(STEPS):
        if not waiting:
            break
        rows = stores.graph.thread(ontology, sorted(waiting))
        asked |= waiting
        found |= {row.doc_id: row for row in rows}
        waiting = {one for row in rows for one in (row.message_id, row.thread) if one} - asked
    found.pop(mail.doc_id, None)
    return sorted(found.values(), key=lambda row: (row.date_start, row.doc_id))


def conversation_of(stores: Stores, doc_id: str) -> tuple[Conversation, int] | None:
    """Return what ``email.eml.md`` of a mail shows, and when it last changed (nanoseconds); None for any other
    document. Quick."""
    graph, names = stores.graph, stores.catalog.names
    mail, row = graph.mail(doc_id), graph.document(doc_id)
    if mail is None or row is None:
        return None
    others = thread_of(stores, row.ontology, mail)
    attachments, changed = [], [row.ingested_at]
    for part in names.parts(doc_id):
        shown = graph.document(part.child) if part.child else None
        changed += [shown.ingested_at] if shown is not None else []
        attachments.append((part.name, companion(part.name) if shown is not None else ""))
    shown_others = (graph.document(other.doc_id) for other in others)
    changed += [other.ingested_at for other in shown_others if other is not None]
    about = Conversation(
        subject=mail.subject,
        participants=mail.participants,
        date_start=mail.date_start,
        date_end=mail.date_end,
        messages=mail.messages,
        attachments=tuple(attachments),
        thread=tuple((other.doc_id, other.subject, other.date_start) for other in others),
        extracted_at=row.ingested_at,
    )
    return about, max(changed)
