"""Define VIEWS: every virtual file and folder of the tree, its place, the function that serves it, and the changes
that invalidate it.

A new view is a module of its own and a row here. The order is that of listings and of the mount's README.md.
documents/ is first for programs that remove a tree in the order of the listing (:mod:`.tree_removal`).
"""

from __future__ import annotations

from typing import Any

from kgfs.stores.catalog.facts import (
    PartsFound,
    QuestionRemoved,
    QuestionSaved,
    SearchRemoved,
    SearchSaved,
    VersionMinted,
)
from kgfs.tree import (
    archive,
    ask,
    attachments,
    cite,
    claims,
    concepts,
    documents,
    domains,
    evidence,
    mentions,
    related,
    search,
    sessions,
    terms,
    text,
    versions,
)
from kgfs.tree.about import about_md
from kgfs.tree.changes import (
    ClaimChanged,
    ConceptChanged,
    DocumentChanged,
    DocumentPublished,
    DocumentPurged,
    EvidenceChanged,
    MentionsChanged,
    NameChanged,
    NameLeft,
    OntologyChanged,
    RelationshipChanged,
    SearchesChanged,
)
from kgfs.tree.garage import LEDGER, LedgerFolder
from kgfs.tree.places import CONCEPT, DOCUMENT, GARAGE, ONTOLOGY, ROOT
from kgfs.tree.readme import agents_md, ignore, readme_md
from kgfs.tree.search import FirstFolder
from kgfs.tree.status import NAME as STATUS
from kgfs.tree.status import StatusFolder
from kgfs.tree.view import View, Views, on

_CONCEPT = "concepts/<name>.concept"
_EVIDENCE = f"{_CONCEPT}/evidence/<n>"

VIEWS: tuple[View[Any], ...] = (
    # --------------------------------------------------------------------------------------- the mount
    View(STATUS, ROOT, lambda context, _: StatusFolder(context)),
    View("README.md", ROOT, readme_md),
    View("AGENTS.md", ROOT, agents_md),
    View(
        search.KIND.name,
        ROOT,
        lambda context, _: FirstFolder(context, search.KIND, "", context.mounted_at),
        listed=False,
        stale=(on(SearchesChanged, search.results_changed),),
    ),
    View(
        ask.KIND.name,
        ROOT,
        lambda context, _: FirstFolder(context, ask.KIND, "", context.mounted_at),
        listed=False,
        stale=(on(SearchesChanged, ask.answers_changed),),
    ),
    View(cite.NAME, ROOT, cite.folder, listed=False, stale=(on(SearchesChanged, cite.changed),)),
    # ------------------------------------------------------------------------------------- an ontology
    View(
        "documents",
        ONTOLOGY,
        lambda context, ontology: documents.DocumentsFolder(context, ontology, ontology.root),
        stale=documents.RULES,
        about=(("documents/", "the originals, byte for byte; write, rename and remove here"),),
    ),
    View(".ignore", ONTOLOGY, ignore),
    View(
        domains.NAME,
        ONTOLOGY,
        domains.SettingsFolder,
        listed=False,
        about=((f"{domains.NAME}/{domains.FILE}", "its domains and their keywords; write the file to set them"),),
    ),
    View(
        "about.md",
        ONTOLOGY,
        about_md,
        follows=(OntologyChanged,),
        about=(("about.md", "the overview"),),
    ),
    View(
        terms.NAME,
        ONTOLOGY,
        terms.TermsTsv,
        follows=(OntologyChanged,),
        about=((terms.NAME, "what could be looked up but is no concept: term, count, first place"),),
    ),
    View(
        "archive",
        ONTOLOGY,
        archive.ArchiveFolder,
        follows=(OntologyChanged,),
        stale=(
            on(VersionMinted, archive.minted),
            on(DocumentChanged, archive.folder_changed),
            on(DocumentPublished, archive.entries_changed),
            on(DocumentPurged, archive.purged),
        ),
        repeats=True,
        about=(("archive/<doc_id>/", "the stable home of one content: original, exact text, metadata, its concepts"),),
    ),
    View(
        "concepts",
        ONTOLOGY,
        concepts.ConceptsFolder,
        follows=(OntologyChanged,),
        stale=(on(ConceptChanged, concepts.concept_changed),),
    ),
    View(
        claims.NAME,
        ONTOLOGY,
        claims.folder,
        stale=(on(ClaimChanged, claims.claim_changed), on(OntologyChanged, claims.ontology_changed)),
        about=(
            (
                "claims/<role>/<name>.md",
                "a statement that documents make, by a language model, with the quotes it rests on; all are in `claims/all.md`",
            ),
            ("claims/rejected.ndjson", "statements that failed validation, each with the reason"),
        ),
    ),
    View(
        sessions.NAME,
        ONTOLOGY,
        sessions.folder,
        stale=(on(DocumentPublished, sessions.published), on(DocumentPurged, sessions.purged)),
        repeats=True,
        about=(
            (
                "sessions/<session_id>/",
                "a transcript of Claude Code or Codex: `session.md` to read, `entries/<n>.md`, `raw.jsonl`",
            ),
        ),
    ),
    View(
        "text",
        ONTOLOGY,
        lambda context, ontology: text.TextFolder(context, ontology.id, ontology.root),
        stale=(
            *text.MIRROR.rules(),
            on(NameChanged, text.name_changed),
            on(DocumentPublished, text.document_published),
        ),
        repeats=True,
        about=(("text/", "each document as readable Markdown"),),
    ),
    View(
        "versions",
        ONTOLOGY,
        lambda context, ontology: versions.VersionsFolder(context, ontology.root),
        stale=(
            *versions.MIRROR.rules(),
            on(VersionMinted, versions.history_changed),
            on(NameLeft, versions.name_left),
        ),
        repeats=True,
        about=(("versions/<path>@/<n>.<ext>", "earlier contents of a file"),),
    ),
    View(
        search.KIND.name,
        ONTOLOGY,
        lambda context, ontology: FirstFolder(context, search.KIND, ontology.id, ontology.made_at),
        listed=False,
        stale=(on(SearchSaved, search.saved), on(SearchRemoved, search.saved)),
        repeats=True,
        about=(
            (
                "search/<words>/",
                "a search, by words and by meaning: `results.md`, a file for each document; `passages/`, `page-2/`",
            ),
        ),
    ),
    View(
        ask.KIND.name,
        ONTOLOGY,
        lambda context, ontology: FirstFolder(context, ask.KIND, ontology.id, ontology.made_at),
        listed=False,
        stale=(on(QuestionSaved, ask.saved), on(QuestionRemoved, ask.saved)),
        repeats=True,
        about=(("ask/<question>/", "a question: `answer.md`, sentences of the documents that answer it, each cited"),),
    ),
    # --------------------------------------------------------------------------------------- a concept
    View(
        "concept.md",
        CONCEPT,
        concepts.ConceptMd,
        follows=(ConceptChanged,),
        about=((f"{_CONCEPT}/concept.md", "a concept: description, evidence, relationships"),),
    ),
    View(
        "evidence",
        CONCEPT,
        concepts.evidence,
        stale=(
            on(ConceptChanged, evidence.concept_changed),
            on(EvidenceChanged, evidence.evidence_changed),
            on(DocumentChanged, evidence.document_changed),
        ),
        about=(
            (f"{_EVIDENCE}/source.txt", "the passage, the quote between marks (`==`), lines numbered"),
            (f"{_EVIDENCE}/quote.txt", "the quote alone, exactly"),
            (f"{_EVIDENCE}/citation.json", "file, lines, characters, hashes"),
            (f"{_EVIDENCE}/document", "a link to the whole original"),
            (f"{_CONCEPT}/evidence/best/", "the strongest piece of evidence; not listed"),
        ),
    ),
    View(
        mentions.NAME,
        CONCEPT,
        mentions.MentionsTsv,
        stale=(on(MentionsChanged, mentions.changed),),
        about=((f"{_CONCEPT}/{mentions.NAME}", "every place where it is named: doc_id, line, characters, chunk_id"),),
    ),
    View(
        "related",
        CONCEPT,
        related.RelatedFolder,
        stale=(
            on(ConceptChanged, related.concept_changed),
            on(RelationshipChanged, related.relationship_changed),
        ),
        about=((f"{_CONCEPT}/related/<type>/<name>/", "another concept, and the evidence that they are related"),),
    ),
    # -------------------------------------------------------------------------------------- a document
    View(
        "attachments",
        DOCUMENT,
        attachments.folder,
        follows=(DocumentChanged,),
        stale=(on(PartsFound, attachments.found), on(DocumentPublished, attachments.published)),
        about=(("archive/<doc_id>/attachments/<name>", "what came with a mail, and `<name>.md`, its readable form"),),
    ),
    View("concepts", DOCUMENT, archive.found_concepts, follows=(DocumentChanged,)),
    View("metadata.json", DOCUMENT, archive.metadata_json, follows=(DocumentChanged,)),
    View("original", DOCUMENT, archive.original),
    View("text.txt", DOCUMENT, archive.text_txt, follows=(DocumentChanged,)),
    # ------------------------------------------------------------------------------------- the garage
    View(LEDGER, GARAGE, lambda _, view: LedgerFolder(view)),
)

TREE = Views(VIEWS)
