-- The graph. Booleans are 0/1, times nanoseconds, lists JSON. An "edition" of a document (one row of `document`) is one
-- document under one commit; sources, instances and mentions belong to editions and are seen exactly while theirs is
-- shown, so publishing or taking out a document of any size flips one value.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('epoch', 0), ('clears', 0), ('changes_above', 0);

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

-- Sources that passed the gate. Holds staged ones too; the state of their edition decides who is found.
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
    PRIMARY KEY (owner, n, document)
) WITHOUT ROWID;
CREATE INDEX instance_document ON instance (document);

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
    page_hash   BLOB NOT NULL,
    last_n      INTEGER NOT NULL,
    UNIQUE (ontology, name)
);
CREATE INDEX concept_listed ON concept (ontology, name) WHERE live = 1;
CREATE INDEX concept_drawn ON concept (ontology, concept_id) WHERE live = 1;
CREATE INDEX concept_popular ON concept (ontology, related + evidence DESC, concept_id) WHERE live = 1;

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
    PRIMARY KEY (concept, document, ordinal)
) WITHOUT ROWID;
CREATE INDEX mention_document ON mention (document);

-- Every normalised form of every living concept. rank: 0 founding label, 1 label, 2 any other form.
CREATE TABLE concept_form (
    concept  INTEGER NOT NULL REFERENCES concept (key),
    form     TEXT NOT NULL,
    rank     INTEGER NOT NULL,
    ontology TEXT NOT NULL,
    PRIMARY KEY (concept, form)
) WITHOUT ROWID;
CREATE INDEX concept_form_match ON concept_form (ontology, form);

CREATE TABLE relationship (
    relationship_id TEXT PRIMARY KEY,
    ontology        TEXT NOT NULL,
    subject         TEXT NOT NULL,
    type            TEXT NOT NULL,
    object          TEXT NOT NULL,
    evidence        INTEGER NOT NULL,             -- it lives while it has any
    confidence      REAL NOT NULL,
    mtime           INTEGER NOT NULL,             -- when its evidence last changed
    last_n          INTEGER NOT NULL
) WITHOUT ROWID;

-- Each living relationship as seen from both its ends.
CREATE TABLE neighbour (
    concept         TEXT NOT NULL,
    type            TEXT NOT NULL,                -- the inverse type when seen from the object
    name            TEXT NOT NULL,                -- directory name of the other
    relationship_id TEXT NOT NULL,
    other           TEXT NOT NULL,
    incoming        INTEGER NOT NULL,
    PRIMARY KEY (concept, type, name, relationship_id, incoming)
) WITHOUT ROWID;

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

-- The written history of the ingest logic, for who asks the file itself.
CREATE TABLE ingest_version (
    version          INTEGER PRIMARY KEY,
    description      TEXT NOT NULL,
    breaking_changes INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL DEFAULT 0
);
INSERT INTO ingest_version (version, description) VALUES (1, 'The first: structured chunks, citations, offline extraction');

-- Nothing fills the tables from here on yet: claims and the Records they came from, insights, sessions.
CREATE TABLE claim (
    claim_id TEXT PRIMARY KEY, document INTEGER NOT NULL REFERENCES document (key), chunk_index INTEGER NOT NULL,
    chunk_text TEXT NOT NULL, chunk_role TEXT NOT NULL, authority TEXT NOT NULL, confidence REAL NOT NULL,
    time_horizon TEXT NOT NULL, domain TEXT NOT NULL, actor TEXT NOT NULL, scope TEXT NOT NULL,
    source_variant TEXT NOT NULL DEFAULT 'normalized'
) WITHOUT ROWID;
CREATE INDEX claim_document ON claim (document);

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
