-- The graph. Booleans are 0/1, times nanoseconds, lists JSON. An "edition" of a document (one row of `document`) is one
-- document under one commit; sources, instances and mentions belong to editions and are seen exactly while theirs is
-- shown, so publishing or taking out a document of any size flips one value.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
-- identity tells an index of words outside the database which database it was derived from.
INSERT INTO meta VALUES ('epoch', 0), ('clears', 0), ('changes_above', 0), ('identity', abs(random() / 2));

CREATE TABLE "commit" (
    commit_id TEXT PRIMARY KEY,
    epoch     INTEGER NOT NULL,
    kind      TEXT NOT NULL,                      -- publish, forget
    at        INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE document (
    key               INTEGER PRIMARY KEY,
    state             INTEGER NOT NULL,           -- 0 staged, 1 shown, 2 leaving (its rows are being removed)
    doc_id            TEXT NOT NULL,
    commit_id         TEXT NOT NULL,
    ontology          TEXT NOT NULL DEFAULT '',
    source_id         TEXT NOT NULL DEFAULT '',
    content_hash      TEXT NOT NULL DEFAULT '',   -- SHA-256 of the original
    garage_key        TEXT NOT NULL DEFAULT '',
    original_filename TEXT NOT NULL DEFAULT '',
    size_bytes        INTEGER NOT NULL DEFAULT 0,
    chunk_count       INTEGER NOT NULL DEFAULT 0, -- how many sources it has
    ingested_at       INTEGER NOT NULL DEFAULT 0,
    deposit           INTEGER NOT NULL DEFAULT 0,
    source_title      TEXT NOT NULL DEFAULT '',
    source_uri        TEXT NOT NULL DEFAULT '',
    document_type     TEXT NOT NULL DEFAULT '',
    text_sha256       TEXT NOT NULL DEFAULT '',
    content_length    INTEGER NOT NULL DEFAULT 0,
    reading           TEXT NOT NULL DEFAULT '',
    ingest_version    INTEGER NOT NULL DEFAULT 0,
    content_version   INTEGER NOT NULL DEFAULT 1,
    status            TEXT NOT NULL DEFAULT '',
    text_md_size      INTEGER NOT NULL DEFAULT 0,
    sources           INTEGER NOT NULL DEFAULT 0, -- how many rows of each kind are this edition's
    instances         INTEGER NOT NULL DEFAULT 0,
    title_size        INTEGER NOT NULL DEFAULT 0, -- bytes that the title takes on a line of concept.md
    pages             INTEGER NOT NULL DEFAULT 0,
    language          TEXT NOT NULL DEFAULT '',
    dimensions        TEXT NOT NULL DEFAULT '',   -- width and height of a picture
    guessed_encoding  TEXT NOT NULL DEFAULT '',   -- empty where the encoding is known
    dated             INTEGER,                    -- the date that it gives itself; see ``commit.DATED``
    hidden_by         TEXT NOT NULL DEFAULT '',   -- the document that hides its text
    message_id        TEXT,                       -- of a mail, and the conversation that it says it belongs to:
    thread            TEXT,
    -- Transcripts of sessions. Segments have no session_id.
    session_id TEXT, interface TEXT, entry_count INTEGER, first_entry INTEGER, first_at TEXT, last_at TEXT,
    entry_sizes TEXT, conversation_size INTEGER,
    -- Nothing fills these yet. Hierarchy, e-mail, attachment, processing:
    parent_id TEXT, root_id TEXT, depth INTEGER NOT NULL DEFAULT 0, path TEXT NOT NULL DEFAULT '[]',
    file_path TEXT, file_name TEXT,
    email_subject TEXT, email_participants TEXT, email_initiator TEXT,
    email_date_start INTEGER, email_date_end INTEGER, email_message_count INTEGER,
    attachment_content_type TEXT, attachment_size_bytes INTEGER,
    error_message TEXT, processed_at INTEGER, created_at INTEGER, updated_at INTEGER,
    -- Where an archive has it:
    archive_path TEXT, archive_browse_uri TEXT, archive_download_uri TEXT,
    -- Among its versions:
    version INTEGER, supersedes TEXT, superseded_by TEXT, shard_origin TEXT,
    -- What it is to whoever keeps it (its content is the full_text of the sources, in order):
    source_type TEXT, source_url TEXT, title TEXT, project TEXT, storage_type TEXT, chunk_ids TEXT,
    UNIQUE (doc_id, commit_id)
);
CREATE UNIQUE INDEX document_shown ON document (doc_id) WHERE state = 1;
CREATE INDEX document_listed ON document (ontology, doc_id) WHERE state = 1;
CREATE INDEX document_staged ON document (commit_id) WHERE state = 0;
CREATE INDEX document_leaving ON document (key) WHERE state = 2;
CREATE INDEX document_source_id ON document (source_id);
CREATE INDEX document_ingest_version ON document (ingest_version);
-- Finds the documents deposited since a number without a scan of all documents.
CREATE INDEX document_deposit ON document (ontology, deposit) WHERE state = 1;
CREATE INDEX document_message ON document (ontology, message_id) WHERE state = 1 AND message_id IS NOT NULL;
CREATE INDEX document_thread ON document (ontology, thread) WHERE state = 1 AND thread IS NOT NULL;
CREATE INDEX document_session ON document (ontology, session_id, deposit) WHERE state = 1 AND session_id IS NOT NULL;
CREATE INDEX document_hidden ON document (hidden_by) WHERE hidden_by != '';
CREATE INDEX document_text ON document (ontology) WHERE state = 1 AND status = 'text';
-- Counts the documents that an ingest version read.
CREATE INDEX document_read_by ON document (ingest_version) WHERE state = 1;

CREATE TABLE source (
    key             INTEGER PRIMARY KEY,
    document        INTEGER NOT NULL REFERENCES document (key),
    chunk_index     INTEGER NOT NULL,
    chunk_id        TEXT NOT NULL,
    char_start      INTEGER NOT NULL,             -- of the text, as all offsets and lines here
    char_end        INTEGER NOT NULL,
    line_start      INTEGER NOT NULL,             -- from 1 on
    line_end        INTEGER NOT NULL,
    byte_start      INTEGER NOT NULL,
    byte_end        INTEGER NOT NULL,
    section_path    TEXT NOT NULL,
    chunk_method    TEXT NOT NULL,
    overlap_chars   INTEGER NOT NULL,
    tokens          INTEGER NOT NULL,
    gated           TEXT NOT NULL,
    page_number     INTEGER,
    paragraph       INTEGER,
    -- Nothing fills these yet: they would repeat what the document says.
    source_title TEXT, source_uri TEXT, source_id TEXT, garage_key TEXT, content_hash TEXT,
    archive_browse_uri TEXT, archive_download_uri TEXT, metadata TEXT NOT NULL DEFAULT '{}', created_at INTEGER,
    context_summary TEXT NOT NULL DEFAULT '',
    embedding_text  TEXT NOT NULL DEFAULT '',
    full_text       TEXT NOT NULL,                -- last: SQLite walks over long values to reach later columns
    UNIQUE (document, chunk_index)
);
CREATE INDEX source_chunk_id ON source (chunk_id);
-- Counts the Sources that the gate refused, by reason.
CREATE INDEX source_gated ON source (document, gated) WHERE gated != '';

-- The words of all Sources, without soft hyphens, zero-width spaces and joiners. Holds those of staged ones too; the state of their edition decides who is found.
CREATE VIRTUAL TABLE source_words USING fts5 (
    full_text, content = 'source', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE instance (
    owner         TEXT NOT NULL,
    n             INTEGER NOT NULL,
    document      INTEGER NOT NULL REFERENCES document (key),
    instance_id   TEXT NOT NULL,
    owner_kind    TEXT NOT NULL,
    chunk_index   INTEGER NOT NULL,
    chunk_id      TEXT NOT NULL,
    quote         TEXT NOT NULL,
    char_start    INTEGER NOT NULL,
    char_end      INTEGER NOT NULL,
    byte_start    INTEGER NOT NULL,
    byte_end      INTEGER NOT NULL,
    line_start    INTEGER NOT NULL,
    line_end      INTEGER NOT NULL,
    section_path  TEXT NOT NULL,
    page          INTEGER,
    defines       INTEGER NOT NULL,
    confidence    REAL NOT NULL,
    source_size   INTEGER NOT NULL,
    citation_size INTEGER NOT NULL,
    mtime         INTEGER NOT NULL,
    quote_size    INTEGER NOT NULL,               -- bytes of its words, without markup, on a line of concept.md
    locator       TEXT NOT NULL DEFAULT '',       -- its place in the original, as JSON
    PRIMARY KEY (owner, n, document)
) WITHOUT ROWID;
-- Pages show the strongest evidence first.
CREATE INDEX instance_strength ON instance (owner, defines DESC, confidence DESC, n, document);
CREATE INDEX instance_telling ON instance (owner, defines DESC, confidence DESC, n);
-- Finds the concepts that one Source of a long document is evidence for without a look at all of its evidence.
CREATE INDEX instance_document ON instance (document, chunk_index);

-- A dead concept or relationship keeps its row, emptied of words: its directory name and its evidence numbers are never
-- used for another thing.
CREATE TABLE concept (
    key         INTEGER PRIMARY KEY,
    concept_id  TEXT NOT NULL UNIQUE,
    ontology    TEXT NOT NULL,
    name        TEXT NOT NULL,
    live        INTEGER NOT NULL,
    norm        TEXT NOT NULL,
    label       TEXT NOT NULL,
    aliases     TEXT NOT NULL,
    description TEXT NOT NULL,
    kind        TEXT NOT NULL,
    founded     INTEGER NOT NULL,                 -- the earliest deposit among its mentions
    evidence    INTEGER NOT NULL,
    related     INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    mtime       INTEGER NOT NULL,
    last_n      INTEGER NOT NULL,
    label_size  INTEGER NOT NULL DEFAULT 0,       -- bytes that the label takes on a line of concept.md
    norm_hash   TEXT NOT NULL DEFAULT '',
    named       INTEGER NOT NULL DEFAULT 0,
    named_size  INTEGER NOT NULL DEFAULT 0,
    named_at    INTEGER NOT NULL DEFAULT 0,
    documents   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (ontology, name)
);
-- Covering indexes with all that a directory of concepts shows, so that a million concepts are listed or looked up
-- without reading their rows. `live` is in them because SQLite 3.40 reads it although the condition implies it.
CREATE INDEX concept_listed ON concept (ontology, name, concept_id, mtime, live) WHERE live = 1;
CREATE INDEX concept_drawn ON concept (ontology, concept_id, name, mtime, live) WHERE live = 1;
-- Orders concepts equally in all graphs that have read the same documents.
CREATE INDEX concept_hashed ON concept (ontology, norm_hash, concept_id, live) WHERE live = 1;
CREATE INDEX concept_popular ON concept (ontology, related + evidence DESC, norm_hash, concept_id) WHERE live = 1;

CREATE TABLE mention (
    concept    INTEGER NOT NULL REFERENCES concept (key),
    document   INTEGER NOT NULL REFERENCES document (key),
    ordinal    INTEGER NOT NULL,                  -- two labels of one document may turn out to be one concept
    deposit    INTEGER NOT NULL,
    label      TEXT NOT NULL,
    forms      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    score      REAL NOT NULL,
    definition TEXT NOT NULL,
    kinds      TEXT NOT NULL DEFAULT '[]',
    passed     INTEGER NOT NULL DEFAULT 1,        -- whether it makes a concept, or only adds to one that others have
    PRIMARY KEY (concept, document, ordinal)
) WITHOUT ROWID;
CREATE INDEX mention_document ON mention (document);

-- Every normalised form of every living concept. rank: 0 founding label, 1 label, 2 any other form.
CREATE TABLE concept_form (
    concept  INTEGER NOT NULL REFERENCES concept (key),
    form     TEXT NOT NULL,
    rank     INTEGER NOT NULL,
    ontology TEXT NOT NULL,
    folded   TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (concept, form)
) WITHOUT ROWID;
CREATE INDEX concept_form_match ON concept_form (ontology, form);
-- Finds concepts by a form, whatever its number, hyphens and case.
CREATE INDEX concept_form_folded ON concept_form (ontology, folded, rank, concept);

CREATE TABLE relationship (
    relationship_id TEXT PRIMARY KEY,
    ontology        TEXT NOT NULL,
    subject         TEXT NOT NULL,
    type            TEXT NOT NULL,
    object          TEXT NOT NULL,
    evidence        INTEGER NOT NULL,             -- it lives while it has any, or by_name is 1
    confidence      REAL NOT NULL,
    mtime           INTEGER NOT NULL,             -- when its evidence last changed
    last_n          INTEGER NOT NULL,
    by_name         INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX relationship_by_name ON relationship (subject) WHERE by_name = 1;

-- Each living relationship as seen from both its ends.
CREATE TABLE neighbour (
    concept         TEXT NOT NULL,
    type            TEXT NOT NULL,                -- the inverse type when seen from the object
    name            TEXT NOT NULL,                -- directory name of the other
    relationship_id TEXT NOT NULL,
    other           TEXT NOT NULL,
    incoming        INTEGER NOT NULL,
    strength        REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (concept, type, name, relationship_id, incoming)
) WITHOUT ROWID;
-- Pages show the strongest relationships first.
CREATE INDEX neighbour_strength ON neighbour (concept, strength DESC, type, name, relationship_id, incoming);

CREATE TABLE counter (
    ontology      TEXT PRIMARY KEY,
    documents     INTEGER NOT NULL DEFAULT 0,
    sources       INTEGER NOT NULL DEFAULT 0,
    concepts      INTEGER NOT NULL DEFAULT 0,
    relationships INTEGER NOT NULL DEFAULT 0,
    instances     INTEGER NOT NULL DEFAULT 0,
    changed_at    INTEGER NOT NULL DEFAULT 0      -- when a commit last changed what is shown
) WITHOUT ROWID;

CREATE TABLE change (
    key      INTEGER PRIMARY KEY,
    epoch    INTEGER NOT NULL,
    what     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    ontology TEXT NOT NULL,
    owner    TEXT NOT NULL,
    name     TEXT NOT NULL
);
CREATE INDEX change_epoch ON change (epoch);

-- Statements of persons about the concept of a label; see Mark.
CREATE TABLE mark (
    mark     TEXT NOT NULL,
    concept  TEXT NOT NULL,
    ontology TEXT NOT NULL,
    joined   INTEGER NOT NULL,
    PRIMARY KEY (mark, concept)
) WITHOUT ROWID;
CREATE INDEX mark_concept ON mark (concept);

-- What is known of the Text of documents that left. A document that is shown again may have a row, too.
CREATE TABLE earlier_text (
    doc_id      TEXT PRIMARY KEY,
    ontology    TEXT NOT NULL,
    reading     TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    is_original INTEGER NOT NULL
) WITHOUT ROWID;

-- What concepts are kinds of by their names.
CREATE TABLE concept_kind (
    concept  INTEGER NOT NULL REFERENCES concept (key),
    kind     TEXT NOT NULL,
    ontology TEXT NOT NULL,
    PRIMARY KEY (concept, kind)
) WITHOUT ROWID;
CREATE INDEX concept_kind_named ON concept_kind (ontology, kind, concept);

-- Acronyms that editions introduce, and the concepts that were joined by them: see ``joined``.
CREATE TABLE introduced (
    document INTEGER NOT NULL REFERENCES document (key),
    ontology TEXT NOT NULL,
    short    TEXT NOT NULL,
    long     TEXT NOT NULL,
    PRIMARY KEY (document, short, long)
) WITHOUT ROWID;
CREATE INDEX introduced_short ON introduced (ontology, short);
CREATE INDEX introduced_long ON introduced (ontology, long);

CREATE TABLE joined (
    younger  TEXT PRIMARY KEY,
    older    TEXT NOT NULL,
    ontology TEXT NOT NULL,
    short    TEXT NOT NULL,
    long     TEXT NOT NULL,
    own      TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX joined_pair ON joined (ontology, short, long);

-- Where concepts are named. `places` are packed as ``named`` says; the sums of a concept are right while it lives.
CREATE TABLE named (
    owner    TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES document (key),
    matched  INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    size     INTEGER NOT NULL,
    places   BLOB NOT NULL,
    PRIMARY KEY (owner, document, matched)
) WITHOUT ROWID;
CREATE INDEX named_document ON named (document, owner, matched, count, size);

-- What could be looked up: the candidates of editions, and their sums in an ontology, see ``terms``. A term whose line
-- stands in terms.tsv has a size; `document` is the edition with its first place.
CREATE TABLE candidate (
    document   INTEGER NOT NULL REFERENCES document (key),
    folded     TEXT NOT NULL,
    ontology   TEXT NOT NULL,
    label      TEXT NOT NULL,
    heading    INTEGER NOT NULL,
    count      INTEGER NOT NULL,
    line       INTEGER NOT NULL,
    char_start INTEGER NOT NULL,
    char_end   INTEGER NOT NULL,
    PRIMARY KEY (document, folded)
) WITHOUT ROWID;
CREATE INDEX candidate_folded ON candidate (ontology, folded, document);

CREATE TABLE term (
    ontology  TEXT NOT NULL,
    folded    TEXT NOT NULL,
    documents INTEGER NOT NULL,
    headings  INTEGER NOT NULL,
    count     INTEGER NOT NULL,
    document  INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    PRIMARY KEY (ontology, folded)
) WITHOUT ROWID;
CREATE INDEX term_listed ON term (ontology, folded, size) WHERE size > 0;
CREATE INDEX term_heavy ON term (ontology, count DESC, folded) WHERE size > 0;
CREATE INDEX term_folded ON term (folded) WHERE size > 0;

CREATE TABLE term_word (
    ontology TEXT NOT NULL,
    word     TEXT NOT NULL,
    folded   TEXT NOT NULL,
    PRIMARY KEY (word, ontology, folded)
) WITHOUT ROWID;
CREATE INDEX term_words ON term_word (ontology, folded);

CREATE TABLE term_file (
    ontology TEXT PRIMARY KEY,
    terms    INTEGER NOT NULL,
    size     INTEGER NOT NULL
) WITHOUT ROWID;

-- Concepts whose places in earlier documents are still to be looked for, in the documents behind `after`.
CREATE TABLE risen (
    concept_id TEXT PRIMARY KEY,
    ontology   TEXT NOT NULL,
    after      TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX risen_together ON risen (ontology, after DESC, concept_id);

-- What a concept's pages show without reading all that mentions it: see ``sayings``. Points as in
-- ``domain.knowledge.points``.
CREATE TABLE saying (
    concept    INTEGER NOT NULL REFERENCES concept (key),
    label      TEXT NOT NULL,
    forms      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    definition TEXT NOT NULL,
    kinds      TEXT NOT NULL,
    passed     INTEGER NOT NULL,
    mentions   INTEGER NOT NULL,
    points     INTEGER NOT NULL,
    best       REAL NOT NULL,
    first      INTEGER NOT NULL,
    PRIMARY KEY (concept, label, forms, kind, definition, kinds, passed)
) WITHOUT ROWID;

-- The written history of the ingest logic, for who asks the file itself.
CREATE TABLE ingest_version (
    version          INTEGER PRIMARY KEY,
    description      TEXT NOT NULL,
    breaking_changes INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL DEFAULT 0
);

-- What editions claim, one row for each piece of evidence; see ``claims``. A claim that was refused has a reason in
-- `rejected` and no id. `chunk_index` is -1 where the quote was not found.
CREATE TABLE claim (
    document INTEGER NOT NULL REFERENCES document (key),
    ordinal  INTEGER NOT NULL,                    -- its place among the document's claims
    ontology TEXT NOT NULL,
    own_id   TEXT NOT NULL,                       -- by its words alone
    claim_id TEXT NOT NULL,                       -- after what persons said; see ``claim_mark``
    claim TEXT NOT NULL, role TEXT NOT NULL, domain TEXT NOT NULL, actor TEXT NOT NULL, actor_class TEXT NOT NULL,
    timeframe TEXT NOT NULL, timeframe_class TEXT NOT NULL, time_horizon TEXT NOT NULL, scope TEXT NOT NULL,
    authority TEXT NOT NULL, confidence REAL NOT NULL, added TEXT NOT NULL, rejected TEXT NOT NULL,
    chunk_index INTEGER NOT NULL, chunk_id TEXT NOT NULL, quote TEXT NOT NULL,
    char_start INTEGER NOT NULL, char_end INTEGER NOT NULL, byte_start INTEGER NOT NULL, byte_end INTEGER NOT NULL,
    line_start INTEGER NOT NULL, line_end INTEGER NOT NULL, section_path TEXT NOT NULL, page INTEGER,
    locator  TEXT NOT NULL,                       -- its place in the original, as JSON
    vector   BLOB NOT NULL,                       -- numbers of two bytes; empty where no model was there
    vector_model TEXT NOT NULL,
    stems    TEXT NOT NULL,                       -- of the claim's words, each between two spaces
    actor_key TEXT NOT NULL, measures TEXT NOT NULL, -- by which claims are compared: see ``domain.claims``
    PRIMARY KEY (document, ordinal)
) WITHOUT ROWID;
CREATE INDEX claim_shown ON claim (claim_id, document) WHERE claim_id != '';
CREATE INDEX claim_listed ON claim (ontology, role, claim_id) WHERE claim_id != '';
CREATE INDEX claim_about ON claim (ontology, actor_key, measures) WHERE claim_id != '';
CREATE INDEX claim_own ON claim (own_id) WHERE claim_id != '';
CREATE INDEX claim_rejected ON claim (ontology, document, ordinal) WHERE claim_id = '';

-- What persons said: the claim that another one was merged into; '' where its evidence was split by document.
CREATE TABLE claim_mark (
    claim_id TEXT PRIMARY KEY,
    ontology TEXT NOT NULL,
    into_id  TEXT NOT NULL
) WITHOUT ROWID;

-- Nothing fills the tables from here on yet: Records, insights, sessions.

-- Where the Records of a source are: the exact outputs stand in the garage.
CREATE TABLE record (
    record_id TEXT PRIMARY KEY, document INTEGER NOT NULL REFERENCES document (key), chunk_index INTEGER NOT NULL,
    garage_key TEXT NOT NULL, model TEXT NOT NULL, prompt_hash TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX record_document ON record (document);

CREATE TABLE insight (
    insight_id TEXT PRIMARY KEY, ontology TEXT NOT NULL, content TEXT NOT NULL, content_length INTEGER NOT NULL,
    type TEXT NOT NULL, confidence REAL NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE insight_evidence (
    insight_id TEXT NOT NULL, n INTEGER NOT NULL, source_id TEXT NOT NULL, evidence_text TEXT NOT NULL,
    relevance REAL NOT NULL DEFAULT 1.0, PRIMARY KEY (insight_id, n)
) WITHOUT ROWID;

CREATE TABLE session (
    session_id TEXT PRIMARY KEY, ontology TEXT NOT NULL, filepath TEXT NOT NULL, interface TEXT NOT NULL,
    entry_count INTEGER NOT NULL, total_size INTEGER NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE session_entry (
    session_id TEXT NOT NULL, n INTEGER NOT NULL, entry_id TEXT NOT NULL, entry_type TEXT NOT NULL, role TEXT,
    timestamp TEXT, content TEXT NOT NULL, content_length INTEGER NOT NULL, raw_entry TEXT NOT NULL,
    created_at INTEGER NOT NULL, PRIMARY KEY (session_id, n)
) WITHOUT ROWID;
