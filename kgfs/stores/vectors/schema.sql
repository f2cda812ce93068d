-- Rows of every embedding model. A row has a slot: its line in the model's matrix. A slot is used for one vector only
-- while the layout lasts; replacing a row gives it a new slot. Compaction starts a new layout.

CREATE TABLE model (
    key        INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    layout     TEXT NOT NULL,                     -- random, so that no matrix of another life is taken for this one's
    slots      INTEGER NOT NULL DEFAULT 0,        -- the next free slot
    gone       INTEGER NOT NULL DEFAULT 0         -- how many slots hold no row any more
);

CREATE TABLE row (
    model          INTEGER NOT NULL REFERENCES model (key),
    kind           TEXT NOT NULL,
    item           TEXT NOT NULL,
    window         INTEGER NOT NULL,
    slot           INTEGER NOT NULL,
    ontology       TEXT NOT NULL,
    doc_id         TEXT NOT NULL,
    chunk_index    INTEGER NOT NULL,
    source_variant TEXT NOT NULL,
    role           TEXT NOT NULL,
    domain         TEXT NOT NULL,
    authority      TEXT NOT NULL,
    PRIMARY KEY (model, kind, item, window)
) WITHOUT ROWID;
CREATE UNIQUE INDEX row_slot ON row (model, slot);
CREATE INDEX row_document ON row (model, doc_id);

CREATE TABLE vector (
    model  INTEGER NOT NULL REFERENCES model (key),
    slot   INTEGER NOT NULL,
    vector BLOB NOT NULL,                         -- float32, little-endian, length 1
    PRIMARY KEY (model, slot)
);

CREATE TABLE gone (
    model INTEGER NOT NULL REFERENCES model (key),
    n     INTEGER NOT NULL,                       -- in the order in which slots went, from 1
    slot  INTEGER NOT NULL,
    PRIMARY KEY (model, n)
) WITHOUT ROWID;
