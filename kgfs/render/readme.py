"""The fixed files: README.md and AGENTS.md of the mount, ``.ignore`` of an ontology."""

from __future__ import annotations

from collections.abc import Iterable

_README = """\
# Knowledge

This folder is a filesystem of knowledge. Copy documents in; what they say comes out as concepts, each with
evidence highlighted in the originals. Everything is ordinary files: `ls`, `cat`, `grep`, `find`, `cp`, `mv`, `rm`,
`rsync` and editors work.

## Start

    mkdir Philosophy                            # an ontology: a named body of knowledge
    cp notes.txt papers/*.md Philosophy/        # lands in Philosophy/documents/
    kgfs wait                                   # until everything is read (or look at .kgfs/status.json)
    cat Philosophy/about.md                     # counts, main concepts, terms, newest documents
    ls Philosophy/concepts

## What is where

| place in an ontology | what it is |
| --- | --- |
@@VIEWS@@

`<name>.concept` also works directly below an ontology, and so does the name of a document: `cat Philosophy/notes.txt`.

`search/` is not listed, and every name in it is a search: `cat 'Philosophy/search/what is a koan?/results.md'`. The one
beside this file searches all ontologies. `touch search/<words>` has `search/` list it, `rmdir` takes it out again.

So it is with `ask/`: `cat 'Philosophy/ask/What is a koan?/answer.md'` shows the sentences that answer, each with its source.
`touch ask/<question>` keeps the answer until the question is touched again. `kgfs ask "What is a koan?"` needs no mount.

`cite/<chunk_id>/`, beside this file and not listed, is what a citation points at, for every `chunk_id` ever issued:
`text.txt`, `citation.json`, and `document`, a link to the original.

## Good to know

- `documents/` is yours. Everything else follows from it and is read-only; change a document and the rest follows.
- A folder copied to the top becomes an ontology (`cp -r Notes .`), its folders stand in `Notes/documents/`, and are found
  as `Notes/<folder>` too. A folder in it that is called `archive`, `text`, or as another of the above, is in `Notes/documents/` alone.
  To copy more into an ontology: `cp -r ~/Notes/. Notes/documents/`.
- `rm -r Philosophy` takes a whole ontology away; its documents stay in the trash for a while.
- Copying returns when the file is safe. Reading it for knowledge happens afterwards, in the background.
- Removing a document takes its evidence away, and concepts that had no other evidence.
- Formats that kgfs cannot read are kept all the same; `.kgfs/status.json` counts them, `archive/<doc_id>/metadata.json`
  says why.
- Failures are in `.kgfs/errors.ndjson`, work under way in `.kgfs/jobs/`.
"""

_AGENTS = """\
# For agents with a shell

Knowledge is mounted here as plain files. No API and no key are needed: `ls`, `cat`, `grep`, `find`, `cp` are enough.

## Answer a question from what is known

    ls                                                    # ontologies
    cat <Ontology>/about.md                               # overview; start here
    ls <Ontology>/concepts | grep -i <word>               # find a concept by name
    cat <Ontology>/<name>.concept/concept.md              # description, evidence, relationships, with links
    cat <Ontology>/<name>.concept/evidence/best/source.txt   # the strongest evidence: a passage in context
    cat '<Ontology>/search/<any words>/results.md'        # the best documents, by words and by meaning (or results.json)
    cat 'search/<any words>/results.md'                   # the same over all ontologies
    cat '<Ontology>/ask/<a question>/answer.md'           # sentences that answer it, each cited, or "Not found in sources"
    grep -rli '<words>' <Ontology>/text                   # full text of all documents, as Markdown

A search needs no making: every name below `search/` (which is not listed) is one. Ask it in plain words;
`01~<name>.md` … are the documents found, with what matches; `page-2/` has more of them, `passages/` the best passages
whole. In `results.json` `full_content` is their exact text. `"a phrase"`, `-without`, `path:notes%2F`, `type:md`, `concept:koan`,
`after:2024-01` and `before:` narrow a search, and `search/<a>/<b>/` searches within the documents of the first. It takes up to ten seconds; "Resource temporarily unavailable"
means that too many were asked at once: ask again. Where `results.md` says "full text only", no worker was there to
compare meanings.

`ask/<question>/answer.json` has the same with exact places; its `state` is `done`, `not_found`, `pending` (read it again in a
moment) or `failed`. `context.md` is what was looked at. A question longer than a name goes on in a folder below. Where kgfs is
installed, `kgfs ask "<question>" --json`, `kgfs search <words> --json` and `kgfs match <words> --json` (by meaning alone, exact, with filters)
say the same without a mount, and `kgfs cite <chunk_id> --document` prints the whole document of a passage.

Follow `related/<TYPE>/<name>/concept.md` from concept to concept; the evidence for the relationship stands beside it.

## Cite

Quote from `evidence/<n>/quote.txt`: it is exact. Take the place from `evidence/<n>/citation.json`:

- `document`, `line_start`, `line_end`: where a person finds it (below the ontology's folder; lines from 1, ended by LF)
- `paths`: all files that have the same bytes now, `document` first; none while it is stale or the original was removed
- `char_start`, `char_end`: characters of `archive/<doc_id>/text.txt`, from 0, end exclusive
- `byte_start`, `byte_end`: bytes of that file
- `doc_id`, `chunk_id`, `content_hash`: stable whatever is renamed; `archive/<doc_id>/` stays, and so does
  `cite/<chunk_id>/` at the top (not listed): `text.txt`, `citation.json` with its place, and a link `document`
- `source_start`, `source_end` (or `source_spans`, to be joined): characters of `source.txt`
- `stale` is true when the file has newer content that is not read yet, `removed` when the original was forgotten and
  its knowledge kept

In `source.txt` lines with `>` hold the quote and the marks around it (`==`) are not part of the text. Control
characters are shown there as one visible character each; `quote.txt` and `text.txt` are exact.

## Add knowledge

    mkdir <Ontology>                            # names starting with '.' are refused
    cp file.md <Ontology>/documents/            # returns when it is safe; it is read in the background
    kgfs wait --timeout 600                     # or: until `owed` in .kgfs/status.json is 0

A file is read by what it contains; the names of formats that kgfs reads end in @@FORMATS@@. Other files are kept as they are. `getfattr -d <file>` in `documents/` shows
`user.kgfs.state`, `user.kgfs.doc_id`, `user.kgfs.sha256`. Writing is possible in `documents/` (and, for files, directly
below the ontology); elsewhere it fails with EROFS. Errors are in `.kgfs/errors.ndjson`, one JSON object a line.

## What is where

| place in an ontology | what it is |
| --- | --- |
@@VIEWS@@

## Do not

- Do not `grep -r` an ontology as a whole: `documents/`, `text/`, `archive/` and `versions/` hold the same words several
  times. Search `text/` or `concepts/`. (`rg` and `fd` skip archive/, versions/ and text/ by themselves.)
- Do not take numbers of evidence folders for ranks: they are fixed names, gaps are normal, and `1` need not exist.
  `evidence/best/` (which is not listed) is always the strongest piece.
"""

_IGNORE = """\
# For rg and fd: these hold the words of documents/ once more. Use --no-ignore to search them, too.
"""


def readme(views: Iterable[tuple[str, str]]) -> str:
    """Return README.md. ``views`` are paths in an ontology, each with its description."""
    return _README.replace("@@VIEWS@@", _rows(views))


def agents(views: Iterable[tuple[str, str]], extensions: Iterable[str]) -> str:
    """Return AGENTS.md. ``extensions`` are those of the formats that are read, without the dot."""
    known = ", ".join(f".{extension}" for extension in sorted(extensions))
    return _AGENTS.replace("@@VIEWS@@", _rows(views)).replace("@@FORMATS@@", known)


def _rows(views: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"| `{path}` | {what} |" for path, what in views)


def ignore(names: Iterable[str]) -> str:
    """Return ``.ignore``, which lists the names of folders that search programs are to skip."""
    return _IGNORE + "".join(f"/{name}/\n" for name in names)
