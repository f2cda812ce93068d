"""Additions to ``schema.sql`` since it was first published. The rules are in ``kgfs.stores.migrations``."""

from __future__ import annotations

from kgfs.stores.graph.rows import SHOWN

MIGRATIONS: tuple[str, ...] = (
    # Finds the documents deposited since a number without a scan of all documents.
    "CREATE INDEX document_deposit ON document (ontology, deposit) WHERE state = 1;",
    # Statements of persons about the concept of a label; see Mark.
    """CREATE TABLE mark (
        mark     TEXT NOT NULL,
        concept  TEXT NOT NULL,
        ontology TEXT NOT NULL,
        joined   INTEGER NOT NULL,
        PRIMARY KEY (mark, concept)
    ) WITHOUT ROWID;
    CREATE INDEX mark_concept ON mark (concept);""",
    # Covering indexes with all that a directory of concepts shows, so that a million concepts are listed or looked up
    # without reading their rows. ``live`` is in them because SQLite 3.40 reads it although the condition implies it.
    """DROP INDEX concept_listed;
    CREATE INDEX concept_listed ON concept (ontology, name, concept_id, mtime, live) WHERE live = 1;
    DROP INDEX concept_drawn;
    CREATE INDEX concept_drawn ON concept (ontology, concept_id, name, mtime, live) WHERE live = 1;""",
    # Bytes that the words take on a line of concept.md, so that its size is computed without rendering it. Older rows
    # have a number that makes any sum negative. page_hash is not used any more.
    """ALTER TABLE instance ADD COLUMN quote_size INTEGER NOT NULL DEFAULT -1099511627776;
    ALTER TABLE document ADD COLUMN title_size INTEGER NOT NULL DEFAULT -1099511627776;
    ALTER TABLE concept ADD COLUMN label_size INTEGER NOT NULL DEFAULT -1099511627776;""",
    # Orders concepts equally in all homes that have read the same documents.
    """ALTER TABLE concept ADD COLUMN norm_hash TEXT NOT NULL DEFAULT '';
    UPDATE concept SET norm_hash = norm_hash(norm) WHERE live = 1;
    CREATE INDEX concept_hashed ON concept (ontology, norm_hash, concept_id, live) WHERE live = 1;
    DROP INDEX concept_popular;
    CREATE INDEX concept_popular ON concept (ontology, related + evidence DESC, norm_hash, concept_id) WHERE live = 1;""",
    # The version of the renderers that gave the stored sizes; see ``sizes``.
    "INSERT INTO meta VALUES ('rendered', 0);",
    # Pages show the strongest relationships first.
    """ALTER TABLE neighbour ADD COLUMN strength REAL NOT NULL DEFAULT 0;
    UPDATE neighbour SET strength = (SELECT CASE type WHEN 'RELATED_TO' THEN evidence / (evidence + 1.0) ELSE 1 + confidence END
        FROM relationship WHERE relationship.relationship_id = neighbour.relationship_id);
    CREATE INDEX neighbour_strength ON neighbour (concept, strength DESC, type, name, relationship_id, incoming);""",
    # The place in the original of each quote, as JSON.
    "ALTER TABLE instance ADD COLUMN locator TEXT NOT NULL DEFAULT '';",
    # What is known of the Text of documents that left. A document that is shown again may have a row, too.
    """CREATE TABLE IF NOT EXISTS earlier_text (
        doc_id      TEXT PRIMARY KEY,
        ontology    TEXT NOT NULL,
        reading     TEXT NOT NULL,
        bytes       INTEGER NOT NULL,
        is_original INTEGER NOT NULL
    ) WITHOUT ROWID;""",
    # Finds concepts by a form, whatever its number, hyphens and case.
    """ALTER TABLE concept_form ADD COLUMN folded TEXT NOT NULL DEFAULT '';
    UPDATE concept_form SET folded = form_key(form);
    CREATE INDEX concept_form_folded ON concept_form (ontology, folded, rank, concept);""",
    # What concepts are kinds of by their names. A relationship lives while it has evidence, or by_name is 1.
    """ALTER TABLE mention ADD COLUMN kinds TEXT NOT NULL DEFAULT '[]';
    CREATE TABLE concept_kind (
        concept  INTEGER NOT NULL REFERENCES concept (key),
        kind     TEXT NOT NULL,
        ontology TEXT NOT NULL,
        PRIMARY KEY (concept, kind)
    ) WITHOUT ROWID;
    CREATE INDEX concept_kind_named ON concept_kind (ontology, kind, concept);
    ALTER TABLE relationship ADD COLUMN by_name INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX relationship_by_name ON relationship (subject) WHERE by_name = 1;""",
    # Pages show the strongest evidence first.
    "CREATE INDEX instance_strength ON instance (owner, defines DESC, confidence DESC, n, document);",
    # Pages of documents; the Message-ID of a mail, and the conversation that it says it belongs to.
    """ALTER TABLE document ADD COLUMN pages INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE document ADD COLUMN message_id TEXT;
    ALTER TABLE document ADD COLUMN thread TEXT;
    CREATE INDEX document_message ON document (ontology, message_id) WHERE state = 1 AND message_id IS NOT NULL;
    CREATE INDEX document_thread ON document (ontology, thread) WHERE state = 1 AND thread IS NOT NULL;""",
    # Transcripts of sessions. Segments have no session_id.
    """ALTER TABLE document ADD COLUMN session_id TEXT;
    ALTER TABLE document ADD COLUMN interface TEXT;
    ALTER TABLE document ADD COLUMN entry_count INTEGER;
    ALTER TABLE document ADD COLUMN first_entry INTEGER;
    ALTER TABLE document ADD COLUMN first_at TEXT;
    ALTER TABLE document ADD COLUMN last_at TEXT;
    ALTER TABLE document ADD COLUMN entry_sizes TEXT;
    ALTER TABLE document ADD COLUMN conversation_size INTEGER;
    CREATE INDEX document_session ON document (ontology, session_id, deposit) WHERE state = 1 AND session_id IS NOT NULL;""",
    # Acronyms that editions introduce, and the concepts that were joined by them: see ``joined``.
    """CREATE TABLE introduced (
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
    CREATE INDEX joined_pair ON joined (ontology, short, long);""",
    # Text that is shown before its document is read: which document hides the text of a predecessor, and which have none
    # but text.
    """ALTER TABLE document ADD COLUMN hidden_by TEXT NOT NULL DEFAULT '';
    CREATE INDEX document_hidden ON document (hidden_by) WHERE hidden_by != '';
    CREATE INDEX document_text ON document (ontology) WHERE state = 1 AND status = 'text';""",
    # Where concepts are named. ``places`` are packed as ``named`` says; the sums of a concept are right while it lives.
    """CREATE TABLE named (
        owner    TEXT NOT NULL,
        document INTEGER NOT NULL REFERENCES document (key),
        matched  INTEGER NOT NULL,
        count    INTEGER NOT NULL,
        size     INTEGER NOT NULL,
        places   BLOB NOT NULL,
        PRIMARY KEY (owner, document, matched)
    ) WITHOUT ROWID;
    CREATE INDEX named_document ON named (document, owner, matched, count, size);
    ALTER TABLE concept ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE concept ADD COLUMN named_size INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE concept ADD COLUMN named_at INTEGER NOT NULL DEFAULT 0;""",
    # Tells an index of words outside the database which database it was derived from.
    "INSERT INTO meta VALUES ('identity', abs(random() / 2));",
    # What could be looked up: the candidates of editions, and their sums in an ontology, see ``terms``. A term whose line
    # stands in terms.tsv has a size; ``document`` is the edition with its first place.
    """CREATE TABLE candidate (
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
    ) WITHOUT ROWID;""",
    # Counts the documents that earlier versions read.
    "CREATE INDEX document_read_by ON document (ingest_version) WHERE state = 1;",
    # Width and height of pictures.
    "ALTER TABLE document ADD COLUMN dimensions TEXT NOT NULL DEFAULT '';",
    # The languages of documents.
    "ALTER TABLE document ADD COLUMN language TEXT NOT NULL DEFAULT '';",
    # Whether a document makes a concept of what it mentions, or only adds to a concept that others have; and the concepts
    # whose places in earlier documents are still to be looked for, in the documents behind ``after``.
    """ALTER TABLE mention ADD COLUMN passed INTEGER NOT NULL DEFAULT 1;
    CREATE TABLE risen (
        concept_id TEXT PRIMARY KEY,
        ontology   TEXT NOT NULL,
        after      TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
    CREATE INDEX risen_together ON risen (ontology, after DESC, concept_id);""",
    # What a concept's pages show without reading all that mentions it: see ``sayings``; the number of documents; the
    # strongest evidence first. Points as in ``domain.knowledge.points``.
    f"""CREATE TABLE saying (
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
    INSERT INTO saying SELECT mention.concept, label, forms, kind, definition, kinds, passed, count(*),
        sum(CAST(score * 1e9 + 0.5 AS INTEGER)), max(score), min(mention.deposit)
        FROM mention CROSS JOIN document ON document.key = mention.document WHERE document.state = {SHOWN}
        GROUP BY mention.concept, label, forms, kind, definition, kinds, passed;
    ALTER TABLE concept ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
    UPDATE concept SET documents = (
        SELECT count(DISTINCT mention.document) FROM mention CROSS JOIN document ON document.key = mention.document
        WHERE mention.concept = concept.key AND document.state = {SHOWN}
    ) WHERE live = 1;
    CREATE INDEX instance_telling ON instance (owner, defines DESC, confidence DESC, n);""",
    # The date that a document gives itself; see ``commit.DATED``.
    """ALTER TABLE document ADD COLUMN dated INTEGER;
    UPDATE document SET dated = coalesce(email_date_end, (SELECT own_date(full_text) FROM source
        WHERE source.document = document.key AND chunk_index = 0 AND document.document_type LIKE 'text/%')) WHERE state = 1;""",
    # Finds the concepts that one Source of a long document is evidence for without a look at all of its evidence.
    """DROP INDEX instance_document;
    CREATE INDEX instance_document ON instance (document, chunk_index);""",
)
