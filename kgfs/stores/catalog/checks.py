"""Check whether a fact may be recorded. Checks run inside the transaction that records the fact, so their result
stays true.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

from kgfs.domain.documents import Name, NameKind, StorageTier
from kgfs.domain.names import MAX_NAME_BYTES, decode_name, is_document_name
from kgfs.errors import (
    BadInputError,
    BusyError,
    ExistsError,
    IsAFolderError,
    MissingError,
    NameTooLongError,
    NotAFolderError,
    NotEmptyError,
    RefusedError,
)
from kgfs.stores.catalog.facts import (
    AttributesSet,
    ClaimMarked,
    ConceptsMerged,
    ConceptSplit,
    ContentKept,
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    DocumentText,
    FileMade,
    FolderMade,
    ForgettingDone,
    ForgettingOwed,
    LinkMade,
    Moved,
    OntologyMade,
    OntologyRemoved,
    OntologyRenamed,
    PartsFound,
    PlacesAdded,
    QuestionRemoved,
    QuestionSaved,
    ReadingOwed,
    Removed,
    SearchRemoved,
    SearchSaved,
    SettingChanged,
    Settled,
    TrashEmptied,
    TrashRestored,
    VersionMinted,
)
from kgfs.stores.catalog.names import Names

NO_DOCUMENT = "none"
"""The decision of a Settled whose path is no document."""


class Before:
    """The catalog's state before a fact, read in the transaction that is to apply the fact."""

    def __init__(self, names: Names, has_inbox: Callable[[str], bool]) -> None:
        self.names = names
        self.has_inbox = has_inbox

    def live(self, name_id: int) -> Name:
        found = self.names.name(name_id)
        if found is None:
            raise MissingError(f"No live name has the id {name_id}; it was removed.")
        return found

    def live_file(self, name_id: int) -> Name:
        found = self.live(name_id)
        if found.kind is NameKind.FOLDER:
            raise IsAFolderError(f"{found.name} is a folder.")
        if found.kind is NameKind.LINK:
            raise BadInputError(f"{found.name} is a symbolic link and has no content.")
        return found

    def ontology(self, ontology_id: str) -> None:
        if self.names.ontology(ontology_id) is None:
            raise MissingError(f"There is no ontology with the id {ontology_id}.")

    def ontology_name_free(self, name: str, ontology_id: str) -> None:
        check_name(name)
        holder = self.names.ontology_named(name)
        if holder is not None and holder.id != ontology_id:
            raise ExistsError(f"There is an ontology {name} already.")

    def place(self, ontology_id: str, parent_id: int, name: str) -> Name | None:
        """Return the live entry at a place where a name is to appear; None if the place is free. Raises BadInputError
        or NameTooLongError for an impossible name, MissingError or NotAFolderError for the parent, and BadInputError
        if the parent is in another ontology."""
        check_name(name)
        parent = self.live(parent_id)
        if parent.kind is not NameKind.FOLDER:
            raise NotAFolderError(f"{parent.name} is not a folder.")
        if parent.ontology != ontology_id:
            raise BadInputError(f"The folder of {name} is of ontology {parent.ontology}, not {ontology_id}.")
        return self.names.child(parent_id, name)

    def empty(self, folder: Name) -> None:
        if self.names.children(folder.id, limit=1):
            raise NotEmptyError(f"{folder.name} is not empty.")

    def document(self, doc_id: str) -> None:
        if self.names.document(doc_id) is None:
            raise MissingError(f"There is no document {doc_id}.")


def check_name(name: str) -> None:
    """Raise BadInputError if the name is impossible in a folder, NameTooLongError if it is longer than a name may
    be."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise BadInputError(f"{name!r} is not a name.")
    if len(name) * 4 > MAX_NAME_BYTES and len(decode_name(name)) > MAX_NAME_BYTES:
        raise NameTooLongError(f"The name {name[:40]}… is longer than {MAX_NAME_BYTES} bytes.")


@singledispatch
def check(fact: object, before: Before) -> None:
    """Raise the error that ``Catalog.record`` promises if the fact cannot be recorded now. Changes nothing."""
    raise TypeError(f"{type(fact).__name__} is not a fact.")


@check.register
def _(fact: OntologyMade, before: Before) -> None:
    before.ontology_name_free(fact.name, fact.ontology)
    if before.names.ontology(fact.ontology) or before.names.name(fact.root):
        raise ExistsError(f"The ontology {fact.ontology} or its root {fact.root} exists already.")


@check.register
def _(fact: OntologyRenamed, before: Before) -> None:
    before.ontology(fact.ontology)
    before.ontology_name_free(fact.name, fact.ontology)


@check.register
def _(fact: OntologyRemoved, before: Before) -> None:
    found = before.names.ontology(fact.ontology)
    if found is None:
        raise MissingError(f"There is no ontology with the id {fact.ontology}.")
    if before.names.children(found.root, limit=1):
        raise NotEmptyError(f"The ontology {found.name} still has documents. Remove them first.")
    if before.names.saved_searches(found.id):
        raise NotEmptyError(f"The ontology {found.name} still has saved searches. Remove them first: rmdir search/*")
    if before.names.saved_questions(found.id):
        raise NotEmptyError(f"The ontology {found.name} still has saved questions. Remove them first: rmdir ask/*")


@check.register(FolderMade)
@check.register(FileMade)
@check.register(LinkMade)
def _(fact: FolderMade | FileMade | LinkMade, before: Before) -> None:
    if before.place(fact.ontology, fact.parent, fact.name):
        raise ExistsError(f"{fact.name} exists already.")
    if before.names.name(fact.id):
        raise ExistsError(f"The name id {fact.id} is in use.")


@check.register
def _(fact: ContentKept, before: Before) -> None:
    before.live_file(fact.id)
    if (fact.size == 0) != (fact.place == StorageTier.NONE):
        raise BadInputError("An empty content has place 'none', and only an empty one.")
    if fact.place == StorageTier.INBOX and not before.has_inbox(fact.sha256):
        raise BadInputError(f"The inbox has no content {fact.sha256}; give it in the same call.")


@check.register
def _(fact: AttributesSet, before: Before) -> None:
    before.live(fact.id)


@check.register
def _(fact: Moved, before: Before) -> None:
    moved = before.live(fact.id)
    if moved.parent == 0:
        raise RefusedError("The documents/ folder of an ontology cannot be moved.")
    standing = before.place(fact.ontology, fact.parent, fact.name)
    if fact.replaces:
        if standing is None or standing.id != fact.replaces:
            raise MissingError(f"{fact.name} is not what the move was to replace (any more).")
        if standing.id == moved.id:
            raise BadInputError("A name cannot replace itself.")
        _check_replacement(moved, standing, before)
    elif standing is not None and standing.id != moved.id:
        raise ExistsError(f"{fact.name} exists already.")
    if moved.kind is NameKind.FOLDER:
        above: Name | None = before.live(fact.parent)
        while above is not None:
            if above.id == moved.id:
                raise BadInputError(f"{moved.name} cannot be moved below itself.")
            above = before.names.name(above.parent)


def _check_replacement(moved: Name, goal: Name, before: Before) -> None:
    if goal.kind is NameKind.FOLDER:
        if moved.kind is not NameKind.FOLDER:
            raise IsAFolderError(f"{goal.name} is a folder; {moved.name} is not.")
        before.empty(goal)
    elif moved.kind is NameKind.FOLDER:
        raise NotAFolderError(f"{goal.name} is not a folder; {moved.name} is.")


@check.register
def _(fact: Removed, before: Before) -> None:
    found = before.live(fact.id)
    if found.parent == 0:
        raise RefusedError("The documents/ folder leaves with its ontology.")
    if found.kind is NameKind.FOLDER:
        before.empty(found)


@check.register
def _(fact: Settled, before: Before) -> None:
    found = before.live(fact.id)
    if found.sha256 != fact.sha256:
        raise BusyError(f"{found.name} was written since it was looked at.")
    path = before.names.path(fact.id) or ""
    if fact.decision == NO_DOCUMENT and found.kind is NameKind.FILE and found.size and is_document_name(path):
        raise BusyError(f"{path} had a name of passing when it was looked at.")


@check.register
def _(fact: VersionMinted, before: Before) -> None:
    found = before.live_file(fact.id)
    if found.sha256 != fact.sha256:
        raise BusyError(f"{found.name} was written since it was looked at.")
    if found.ontology != fact.ontology or before.names.path(fact.id) != fact.path:
        raise BusyError(f"{fact.path} was moved since it was looked at.")
    _, n = before.names.lineage_for(fact.id)
    if n != fact.n:
        raise BusyError(f"The next version of {fact.path} is {n}, not {fact.n}.")


@check.register
def _(fact: ReadingOwed, before: Before) -> None:
    before.document(fact.doc_id)
    if not before.names.held(fact.doc_id):
        raise MissingError(f"No path has the document {fact.doc_id} any more.")


@check.register(DocumentRead)
@check.register(DocumentText)
@check.register(DocumentFailed)
@check.register(DocumentForgotten)
def _(fact: DocumentRead | DocumentText | DocumentFailed | DocumentForgotten, before: Before) -> None:
    before.document(fact.doc_id)
    if isinstance(fact, DocumentRead):
        for doc_id in fact.superseded:
            before.document(doc_id)
    if isinstance(fact, DocumentText):
        for doc_id in fact.hides:
            before.document(doc_id)


@check.register
def _(fact: PartsFound, before: Before) -> None:
    before.document(fact.doc_id)
    of_each = (fact.given, fact.kinds, fact.media_types, fact.sha256s, fact.sizes, fact.keys)
    if any(len(values) != len(fact.names) for values in of_each) or len(set(fact.names)) != len(fact.names):
        raise BadInputError("Each part has one value of each field, and a name of its own.")
    for name in fact.names:
        check_name(name)


@check.register
def _(fact: SettingChanged, before: Before) -> None:
    if fact.ontology:
        before.ontology(fact.ontology)


@check.register(ConceptsMerged)
@check.register(ConceptSplit)
@check.register(PlacesAdded)
def _(fact: ConceptsMerged | ConceptSplit | PlacesAdded, before: Before) -> None:
    before.ontology(fact.ontology)
    for key in fact.decisions:
        before.document(key.split("/")[1])


@check.register
def _(fact: ClaimMarked, before: Before) -> None:
    before.ontology(fact.ontology)


@check.register
def _(fact: SearchSaved, before: Before) -> None:
    if fact.ontology:
        before.ontology(fact.ontology)
    for name in fact.words.split("/"):
        check_name(name)
    if any(saved.words == fact.words for saved in before.names.saved_searches(fact.ontology)):
        raise ExistsError(f"The search '{fact.words}' is saved already.")


@check.register
def _(fact: SearchRemoved, before: Before) -> None:
    if all(saved.words != fact.words for saved in before.names.saved_searches(fact.ontology)):
        raise MissingError(f"The search '{fact.words}' is not saved.")


@check.register
def _(fact: QuestionSaved, before: Before) -> None:
    if fact.ontology:
        before.ontology(fact.ontology)
    for name in fact.question.split("/"):
        check_name(name)


@check.register
def _(fact: QuestionRemoved, before: Before) -> None:
    if all(saved.question != fact.question for saved in before.names.saved_questions(fact.ontology)):
        raise MissingError(f"The question '{fact.question}' is not saved.")


@check.register
def _(fact: TrashRestored, before: Before) -> None:
    if before.names.trashed(fact.id) is None:
        raise MissingError(f"No removed file has the id {fact.id}.")
    if before.place(fact.ontology, fact.parent, fact.name):
        raise ExistsError(f"{fact.name} exists already. Restore it under another path with --as.")


@check.register
def _(fact: TrashEmptied, before: Before) -> None:
    for name_id in fact.ids:
        if before.names.trashed(name_id) is None:
            raise MissingError(f"No removed file has the id {name_id}.")


CASCADES = ("none", "orphans", "all")


@check.register
def _(fact: ForgettingOwed, before: Before) -> None:
    if fact.cascade not in CASCADES or (fact.cascade == "none" and fact.purge):
        raise BadInputError("The cascade is one of none, orphans, all; nothing stays of what is purged.")
    leaving: set[int] = set()
    for name_id in fact.names:
        found = before.live(name_id)
        if found.parent == 0:
            raise RefusedError("The documents/ folder leaves with its ontology.")
        if found.kind is NameKind.FOLDER and _stay_below(found.id, leaving, before):
            raise NotEmptyError(f"{found.name} is not empty.")
        leaving.add(name_id)
    owed = {doc_id for forgetting in before.names.forgettings() for doc_id in forgetting.doc_ids}
    for doc_id in fact.doc_ids:
        before.document(doc_id)
        if doc_id in owed:
            raise BusyError(f"Document {doc_id} is being forgotten already.")
        if any(name.id not in leaving for name in before.names.names_of(doc_id)):
            raise BusyError(f"Document {doc_id} has got another name since it was looked at.")
        if any(part.parent not in fact.doc_ids for part in before.names.part_of(doc_id)):
            raise BusyError(f"Document {doc_id} is a part of another document, which stays.")


def _stay_below(folder: int, leaving: set[int], before: Before) -> bool:
    after = ""
    while page := before.names.children(folder, after):
        if any(child.id not in leaving for child in page):
            return True
        after = page[-1].name
    return False


@check.register
def _(fact: ForgettingDone, before: Before) -> None:
    owed = next((known for known in before.names.forgettings() if known.order == fact.order), None)
    if owed is None:
        raise MissingError(f"The forgetting {fact.order} is not owed (any more).")
    if fact.purge and not set(fact.doc_ids) <= set(owed.doc_ids):
        raise BusyError("A Document that was to be purged has got a name again.")
    for doc_id in (*fact.doc_ids, *(key.split("/")[1] for key in fact.decisions)):
        before.document(doc_id)
