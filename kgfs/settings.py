"""The settings, by section: what each is, what it is unless it is set, and what it may be. ``kgfs.config`` reads them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kgfs.errors import BadInputError

STRATEGIES = ("random", "popularity", "hybrid")
EMBEDDERS = ("auto", "minilm", "minilm-int8", "none")

LONGEST = 86_400.0
"""Seconds, a day, that a server may have for an answer: a socket waits for 24 at most, and some waits are ten time-outs."""
DISTANT = 1e9
"""Seconds, 31 years, that may lie between two things that kgfs does: times are whole nanoseconds in 64 bits, centuries are too far."""
LARGEST_FILE = (1 << 63) - 1
"""Bytes that a kernel counts a file by."""
DISTANT_DAYS = 100_000
"""Days that something may be kept, for the same reason."""
MANY = 1_000_000
"""CPUs that nobody has."""
LOOPBACK = ("localhost", "ip6-localhost", "ip6-loopback")
"""Names of the loopback interface; the last two are Debian's."""
GRAPH_SCHEMES = ("bolt", "bolt+s", "neo4j", "neo4j+s")
"""The driver also has ``+ssc``, by which any certificate will do: who stands between is then spoken to as the server."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The settings of ``[pipeline]``."""

    settle: float = 2.0
    """Seconds of quiet after which a written file becomes a version."""
    chunk_tokens: int = 400
    """Target length of a Source, in tokens (cl100k)."""
    overlap_tokens: int = 60
    """Tokens before each Source that models see as context."""
    concepts_per_document: int = 40
    """Maximum number of concepts of one document; short documents have fewer."""
    match_threshold: float = 0.92
    """Cosine similarity of two labels at which they become one concept."""
    known_concepts: int = 500
    """How many existing concepts each document is compared with by meaning."""
    strategy: str = "hybrid"
    """Which existing concepts those are: ``popularity`` (the best documented), ``random``, or ``hybrid`` (70 % popular, 30 % random)."""
    max_attempts: int = 3
    """Attempts to read a document before its state becomes ``failed``."""
    lease: float = 60.0
    """Seconds without a sign of life after which another worker takes over a document."""
    parser_memory: int = 2 << 30
    """Memory limit, in bytes, of the process that parses one PDF, Office file, web page or mail."""
    parser_cpu: float = 60.0
    """Seconds of CPU time that this process may spend on one page."""
    parser_files: int = 64
    """Open files allowed in this process."""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise BadInputError(f"pipeline.strategy is '{self.strategy}'; known are {', '.join(STRATEGIES)}.")
        if not 0 <= self.match_threshold <= 1:
            raise BadInputError("pipeline.match_threshold is between 0 and 1.")
        _at_least("pipeline", self, 1, "chunk_tokens", "concepts_per_document", "max_attempts")
        _at_least("pipeline", self, 0, "overlap_tokens", "known_concepts")
        _at_least("pipeline", self, 256 << 20, "parser_memory")
        _at_least("pipeline", self, 1, "parser_cpu", most=LONGEST)
        _at_least("pipeline", self, 16, "parser_files", most=MANY)
        _at_least("pipeline", self, 0, "settle", "lease", most=DISTANT)


@dataclass(frozen=True, slots=True)
class Tree:
    """The settings of ``[tree]``."""

    mark_start: str = "=="
    """Text inserted before a quote in ``source.txt``."""
    mark_end: str = "=="
    """Text inserted after it."""
    max_file: int = 1 << 40
    """Maximum size of a file in ``documents/``, in bytes (1 TiB). Larger files, sparse ones included, are refused with EFBIG."""
    trash_days: int = 30
    """Days for which the contents of removed files are kept."""
    on_duplicate: str = "alias"
    """What happens to a copy of a file that the ontology already has under another path: ``alias`` makes it one more name of the same document, ``refuse`` is an error."""
    archive_base_url: str = ""
    """Address at which a web server shows the mount. It is put before ``<ontology>/archive/…`` in the links of ``metadata.json``; if empty, links are paths."""

    def __post_init__(self) -> None:
        if self.on_duplicate not in ("alias", "refuse"):
            raise BadInputError(f"tree.on_duplicate is 'alias' or 'refuse', not '{self.on_duplicate}'.")
        if self.archive_base_url and not self.archive_base_url.startswith(("http://", "https://")):
            raise BadInputError(f"tree.archive_base_url is no http(s)://host/path: '{self.archive_base_url}'.")
        _at_least("tree", self, 1, "max_file", most=LARGEST_FILE)
        _at_least("tree", self, 0, "trash_days", most=DISTANT_DAYS)


@dataclass(frozen=True, slots=True)
class Watch:
    """The settings of ``[watch]``."""

    folders: tuple[str, ...] = ()
    """Folders that a worker keeps ontologies in step with: ``ONTOLOGY=FOLDER``, or ``ONTOLOGY/SUB=FOLDER`` for a folder below documents/."""

    def __post_init__(self) -> None:
        for pair in self.folders:
            ontology, equals, folder = pair.partition("=")
            if not (ontology.strip("/") and equals and folder):
                raise BadInputError(f"watch.folders has '{pair}'; each is ONTOLOGY=FOLDER, as in \"Notes=~/vault\".")


@dataclass(frozen=True, slots=True)
class Models:
    """The settings of ``[models]``."""

    embedder: str = "auto"
    """``auto`` (the model that the home has vectors of, else ``minilm-int8``), ``minilm`` (float32), ``minilm-int8``, ``none``.
    With another model than before the worker embeds all documents again; until all have its vectors searches go by words, and ``kgfs status`` says how far that is. With ``auto``, ``kgfs reprocess`` does that."""
    extractor: str = "auto"
    """``auto`` (grammar where its model is installed, else statistics), ``grammar``, ``statistics``, ``llm`` (the language model of
    ``[llm]``), or ``llm+grammar`` (claims and typed relationships from the language model, everything else from grammar).
    New documents use it; ``kgfs regenerate`` reads earlier ones with it."""
    threads: int = 0
    """Threads of the embedding model; 0 means one for each core."""
    rerank_url: str = ""
    """A reranking server for ``kgfs search --rerank``: ``http(s)://host:port``, asked with ``POST /v1/rerank``."""
    rerank_model: str = ""
    """The model to ask it for; empty for the server's default."""
    rerank_key_file: str = ""
    """File with its key."""
    rerank_timeout: float = 30.0
    """Seconds to wait for an answer."""
    rerank_path: str = ""
    """A folder with the ``model.onnx`` and ``tokenizer.json`` of a cross-encoder, to use instead of a server."""

    def __post_init__(self) -> None:
        if self.embedder not in EMBEDDERS:
            raise BadInputError(f"models.embedder is '{self.embedder}'; known are {', '.join(EMBEDDERS)}.")
        if self.rerank_url and not is_address(self.rerank_url, "http", "https", below=True):
            raise BadInputError(f"models.rerank_url is no http(s)://host:port: '{self.rerank_url}'.")
        if self.rerank_url and self.rerank_path:
            raise BadInputError("models.rerank_url and models.rerank_path name two models; set one of them.")
        _holds_no_secret("models.rerank_url", self.rerank_url, "models.rerank_key_file")
        _more_than_0("models", self, LONGEST, "rerank_timeout")
        _at_least("models", self, 0, "threads")


@dataclass(frozen=True, slots=True)
class Llm:
    """The settings of ``[llm]``: the language model that finds claims, answers questions and describes documents."""

    base_url: str = ""
    """An OpenAI-compatible server, ``https://host/v1`` or ``http://host:port/v1``; ``local:/path/model.gguf`` runs a model on this machine. Empty for no model.
    The address alone changes nothing: ``models.extractor`` says what reads documents."""
    model: str = ""
    """The model to ask for; empty for the first that the server lists."""
    context_model: str = ""
    """The model that describes documents; empty for the same."""
    api_key_file: str = ""
    """File with the API key. Without one ``OPENAI_API_KEY`` is used."""
    context_tokens: int = 16_384
    """Tokens that a prompt and its answer may have together; at least 2,048."""
    max_tokens: int = 4_096
    """Most tokens of an answer."""
    temperature: float = 0.0
    """Randomness of the answers."""
    concurrency: int = 4
    """Requests at the same time, over all documents."""
    timeout: float = 120.0
    """Seconds that the server may be silent."""
    retry_for: float = 300.0
    """Seconds for which a request is repeated after a fault; then its document waits until the server answers again."""
    price_in: float = 0.0
    """Price of a million input tokens, for plans and limits."""
    price_out: float = 0.0
    """Price of a million output tokens."""
    day_limit: float = 0.0
    """Most that may be spent in one day (UTC), in the money of the prices, or in tokens where no price is set; 0 for no limit."""
    run_limit: float = 0.0
    """Most that one ``kgfs regenerate`` may spend, likewise."""
    calls: str = "one"
    """Requests for each passage: ``one``, or ``two`` with claims apart, which suits small models."""
    known_tokens: int = 500
    """Tokens of existing concept names that each prompt shows."""
    contexts: str = "auto"
    """Whether the model describes each document in two or three sentences, which help search: ``on``, ``off``, or ``auto`` (on, except for models on this machine)."""
    intent: bool = False
    """Whether the model says what a question is after; else rules do."""
    trust: str = "auto"
    """``high``, ``low`` (an answer must share half of the question's weight with the passage that it cites), or ``auto`` (low for ``local:`` models)."""

    def __post_init__(self) -> None:
        if self.base_url and self.file is None:
            if not is_address(self.base_url, "http", "https", below=True):
                raise BadInputError(
                    f"llm.base_url is http(s)://host:port/v1 or local:/path/model.gguf, not '{self.base_url}'."
                )
            _holds_no_secret("llm.base_url", self.base_url, "llm.api_key_file")
        choices = {"calls": ("one", "two"), "contexts": ("auto", "on", "off"), "trust": ("auto", "high", "low")}
        for key, known in choices.items():
            if getattr(self, key) not in known:
                raise BadInputError(f"llm.{key} is {', '.join(known[:-1])} or {known[-1]}, not '{getattr(self, key)}'.")
        _at_least("llm", self, 2_048, "context_tokens", most=LARGEST_FILE)
        _at_least("llm", self, 16, "max_tokens", most=self.context_tokens)
        _at_least("llm", self, 1, "concurrency", most=1_000)
        _at_least("llm", self, 0, "temperature", "price_in", "price_out", "day_limit", "run_limit", "known_tokens")
        _at_least("llm", self, 0, "retry_for", most=LONGEST)
        _more_than_0("llm", self, LONGEST, "timeout")

    @property
    def file(self) -> Path | None:
        """Return the file of a model that runs in a process of kgfs; None for a server."""
        is_file = self.base_url.startswith("local:")
        return Path(self.base_url.removeprefix("local:")).expanduser() if is_file else None

    @property
    def is_local(self) -> bool:
        """Return whether the model runs on this machine: in a process of kgfs, or behind a loopback address."""
        return self.file is not None or is_loopback(urlsplit(self.base_url).hostname or "")

    @property
    def describes(self) -> bool:
        """Return whether the model describes documents."""
        return bool(self.base_url) and (self.contexts == "on" or (self.contexts == "auto" and not self.is_local))

    @property
    def is_trusted(self) -> bool:
        """Return whether answers need no check of how much of the question their passages have."""
        return self.trust == "high" or (self.trust == "auto" and self.file is None)


@dataclass(frozen=True, slots=True)
class Claims:
    """The settings of ``[claims]``."""

    min_tokens: int = 20
    """Fewest words of a claim; shorter ones are kept apart. ``kgfs reprocess`` applies another value without asking a model."""

    def __post_init__(self) -> None:
        _at_least("claims", self, 0, "min_tokens")


@dataclass(frozen=True, slots=True)
class Garage:
    """The settings of ``[garage]``."""

    store: str = "files"
    """Where originals, Readings and the ledger are kept: ``files`` of the home, or ``s3``, a bucket."""
    endpoint: str = ""
    """The S3 server: ``https://host``, or ``http://host:port`` on this machine."""
    bucket: str = "kgfs"
    """The bucket. `kgfs doctor --create` makes one."""
    prefix: str = ""
    """What all names in the bucket begin with, so that several homes can use one bucket."""
    region: str = ""
    """The bucket's region; where it is empty the server is asked."""
    path_style: bool = True
    """Whether to ask for ``host/bucket/name``; else for ``bucket.host/name``."""
    access_key_file: str = ""
    """File with the access key. Without one ``AWS_ACCESS_KEY_ID``, then ``~/.aws/credentials``, then the machine's instance is asked."""
    secret_key_file: str = ""
    """File with the secret key, likewise."""
    ca_file: str = ""
    """File with the certificates to trust, instead of those of well-known authorities."""
    timeout: float = 30.0
    """Seconds that the server may be silent."""
    cache_bytes: int = 1 << 30
    """Bytes of contents that are kept on the local disk; 0 for none."""
    snapshot_facts: int = 20_000
    """Facts after which a worker puts a snapshot into the bucket, with which a machine that takes over begins; 0 for none."""

    def __post_init__(self) -> None:
        if self.store not in ("files", "s3"):
            raise BadInputError(f"garage.store is 'files' or 's3', not '{self.store}'.")
        _holds_no_secret("garage.endpoint", self.endpoint, "garage.access_key_file and garage.secret_key_file")
        if self.store == "s3" and not is_address(self.endpoint, "http", "https"):
            raise BadInputError(f"garage.endpoint is http://host:port or https://host, not '{self.endpoint}'.")
        if self.prefix.strip("/") and {"", ".", ".."} & {*self.prefix.strip("/").split("/")}:
            # Which clients and servers take for a shorter one, some of them in what they keep and not in what they list.
            raise BadInputError(f"garage.prefix has no empty part, and none that is '.' or '..'; '{self.prefix}' does.")
        if not re.fullmatch(r"[A-Za-z0-9_-]*", self.region):
            raise BadInputError(f"garage.region is made of letters, digits, '_' and '-', not {self.region!r}.")
        _more_than_0("garage", self, LONGEST, "timeout")
        _at_least("garage", self, 0, "cache_bytes", "snapshot_facts")


@dataclass(frozen=True, slots=True)
class Graph:
    """The settings of ``[graph]``."""

    store: str = "sqlite"
    """``neo4j``: the graph, which stands in a file of the home in any case, is also written to a Neo4j server (docs/graph.md)."""
    uri: str = ""
    """The server: ``bolt://host:port``, or ``neo4j://host:port`` for a cluster; ``bolt+s://`` and ``neo4j+s://`` with TLS."""
    user: str = "neo4j"
    """Its user."""
    password_file: str = ""
    """File with the password."""
    database: str = "neo4j"
    """The database on the server."""
    namespace: str = "kgfs"
    """The graph in that database. Homes that do not share one garage need one each."""
    ca_file: str = ""
    """File with the certificates to trust, instead of those of well-known authorities."""
    timeout: float = 30.0
    """Seconds in which Neo4j is to answer; a transaction that writes has ten times as long. Nothing waits for it."""

    def __post_init__(self) -> None:
        if self.store not in ("sqlite", "neo4j"):
            raise BadInputError(f"graph.store is 'sqlite' or 'neo4j', not '{self.store}'.")
        _holds_no_secret("graph.uri", self.uri, "graph.password_file")
        if self.store == "neo4j" and not self.uri:
            raise BadInputError("graph.store is 'neo4j', and graph.uri names no server.")
        if self.store == "neo4j" and not is_address(self.uri, *GRAPH_SCHEMES, below=True):
            raise BadInputError(f"graph.uri is no {', '.join(GRAPH_SCHEMES)}://host:port: '{self.uri}'.")
        _more_than_0("graph", self, LONGEST, "timeout")


@dataclass(frozen=True, slots=True)
class Cluster:
    engine: str = "local"
    """Where documents are read: ``local``, processes of this machine, or ``ray``, processes of a Ray cluster."""
    address: str = ""
    """The cluster (``host:port`` of its head); where it is empty one is started on this machine, on loopback."""
    token_file: str = ""
    """File with the cluster's token, instead of ``~/.ray/auth_token``."""
    places: int = 0
    """Processes that read, one document at a time each; 0 for one a core, four at most, or as many as the cluster has CPUs for."""
    cpus_each: float = 1.0
    """CPUs that each is given."""
    timeout: float = 120.0
    """Seconds for them to have loaded their models; those that have not are done without."""

    def __post_init__(self) -> None:
        if self.engine not in ("local", "ray"):
            raise BadInputError(f"compute.engine is 'local' or 'ray', not '{self.engine}'.")
        _holds_no_secret("compute.address", self.address, "compute.token_file")
        head = f"ray://{self.address}"
        if self.engine == "ray" and self.address and not (is_address(head, "ray") and urlsplit(head).port):
            raise BadInputError(f"compute.address is 'host:port' of a Ray cluster's head, not '{self.address}'.")
        _at_least("compute", self, 0, "places")
        _more_than_0("compute", self, LONGEST, "timeout")
        _more_than_0("compute", self, MANY, "cpus_each")


@dataclass(frozen=True, slots=True)
class Vectors:
    """The settings of ``[vectors]``."""

    store: str = "sqlite"
    """Where embeddings stand: ``sqlite``, a file of the home, or ``qdrant``, a server."""
    url: str = ""
    """The server: ``https://host:port``, or ``http://host:port`` on this machine."""
    api_key_file: str = ""
    """File with the API key. Without one ``QDRANT_API_KEY`` is taken."""
    prefix: str = "kgfs"
    """What names of collections begin with. Homes that share one garage have the same; others need one each."""
    exact: bool = True
    """Whether the server compares with every row; else by its graph, which is faster and may miss some."""
    quantisation: bool = False
    """Whether the server keeps 8-bit copies in memory, for the first pass of a search."""
    on_disk: bool = False
    """Whether the server keeps full vectors on its disk rather than in memory."""
    content: bool = True
    """Whether the server keeps the text of Sources in full beside their vectors; one over 900,000 bytes never (docs/servers.md)."""
    ca_file: str = ""
    """File with the certificates to trust, instead of those of well-known authorities."""
    timeout: float = 30.0
    """Seconds that the server may be silent."""

    def __post_init__(self) -> None:
        if self.store not in ("sqlite", "qdrant"):
            raise BadInputError(f"vectors.store is 'sqlite' or 'qdrant', not '{self.store}'.")
        _holds_no_secret("vectors.url", self.url, "vectors.api_key_file")
        if self.store == "qdrant" and not is_address(self.url, "http", "https", below=True):
            raise BadInputError(f"vectors.store is 'qdrant', and vectors.url is no http(s)://host:port: '{self.url}'.")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", self.prefix):
            raise BadInputError("vectors.prefix is made of letters, digits, '_' and '-'.")
        _at_least("vectors", self, 1, "timeout", most=LONGEST)


def _at_least(section: str, values: Any, least: float, *keys: str, most: float = float("inf")) -> None:
    for key in keys:
        found = getattr(values, key)
        if not found >= least:  # which is said of no number that is none, either
            raise BadInputError(f"{section}.{key} is {least} or more, not {found}.")
        if found > most:
            raise BadInputError(f"{section}.{key} is {most:,.0f} at most, not {found}.")


def _more_than_0(section: str, values: Any, most: float, *keys: str) -> None:
    for key in keys:
        if not 0 < (found := getattr(values, key)) <= most:
            raise BadInputError(f"{section}.{key} is more than 0 and {most:,.0f} at most, not {found}.")


def is_address(url: str, *schemes: str, below: bool = False) -> bool:
    """Return whether it names a server that is spoken to in one of these ways, and nothing of that but, with ``below``, a path there
    or a question."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # no address, or no number of a port
        return False
    is_bare = not (parts.path.strip("/") or parts.query or parts.fragment)
    is_known = parts.scheme in schemes and bool(parts.hostname) and port != 0 and not re.search(r"\s", url)
    return is_known and parts.username is None and (below or is_bare)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        name = host.removesuffix(".")
        return name in LOOPBACK or name.endswith(".localhost")


def secret_in(named: str, setting: str) -> str:
    """Return the content of the file that a setting names, without surrounding white space. Raises BadInputError
    if the file cannot be read or is empty; the message names the file and never shows its content."""
    path = Path(named).expanduser()
    try:
        found = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadInputError(f"{path}: the secret ({setting}) cannot be read: {reason}.") from None
    if not found:
        raise BadInputError(f"{path}: the secret ({setting}) is empty.")
    return found


def key_in(named: str, setting: str) -> str:
    """Return the content of a file like :func:`secret_in`, for use in a request header. Raises BadInputError too
    if a header cannot hold it."""
    if not is_sayable(found := secret_in(named, setting)):
        raise BadInputError(f"{Path(named).expanduser()}: {what_is_no_key(setting)}")
    return found


def is_sayable(key: str) -> bool:
    """Return whether a key can stand in a request header. HTTP clients refuse other keys with messages that quote
    them."""
    return key.isascii() and key.isprintable()


def what_is_no_key(setting: str) -> str:
    """Return the message for a secret that a request header cannot hold."""
    return f"the secret ({setting}) is no key: it has more than one line, or other characters than keys have."


def _holds_no_secret(setting: str, address: str, instead: str) -> None:
    if re.search(r"@|[?&][^=]*(key|token|secret|password)[^=]*=", address, re.IGNORECASE):
        raise BadInputError(f"{setting} holds a secret. Put it into a file, and name that with {instead}.")
