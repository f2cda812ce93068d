"""Configuration: one TOML file in the home, and ``KGFS_*`` environment variables, which take precedence.

Every setting has a variable: ``[pipeline] settle = 2`` in ``config.toml`` is ``KGFS_PIPELINE_SETTLE=2`` in the
environment. Unknown sections and keys are errors, so that a misspelt setting does not silently keep its default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from kgfs.errors import BadInputError
from kgfs.models.extractor import table as extractors
from kgfs.settings import Claims, Cluster, Garage, Graph, Llm, Models, Pipeline, Tree, Vectors, Watch

OTHER_VARIABLES = ("KGFS_QDRANT_URL",)
"""Variables that look like a setting and are none: tests read them."""


@dataclass(frozen=True, slots=True)
class Config:
    home: Path
    file: Path | None = None
    """The configuration file, if it is not the home's own ``config.toml``."""
    pipeline: Pipeline = field(default_factory=Pipeline)
    tree: Tree = field(default_factory=Tree)
    models: Models = field(default_factory=Models)
    llm: Llm = field(default_factory=Llm)
    claims: Claims = field(default_factory=Claims)
    garage_store: Garage = field(default_factory=Garage)
    """Section ``[garage]``."""
    graph: Graph = field(default_factory=Graph)
    vectors: Vectors = field(default_factory=Vectors)
    cluster: Cluster = field(default_factory=Cluster)
    """Section ``[compute]``."""
    watch: Watch = field(default_factory=Watch)

    @property
    def on_servers(self) -> bool:
        """Return whether any store is on a server, which needs a secret."""
        return (self.garage_store.store, self.graph.store, self.vectors.store) != ("files", "sqlite", "sqlite")

    def words(self) -> list[str]:
        """Return the command-line options that give another process of this machine the same configuration."""
        return ["--home", str(self.home), *(["--config", str(self.file)] if self.file else [])]

    # The layout of a home. Everything below the home has mode 0700 or 0600, whatever the umask.
    @property
    def catalog_db(self) -> Path:
        """Return the database of names, inbox, jobs, and ledger entries that are not shipped yet."""
        return self.home / "front.sqlite"

    @property
    def graph_db(self) -> Path:
        return self.home / "graph.sqlite"

    @property
    def vectors_db(self) -> Path:
        return self.home / "vectors.sqlite"

    @property
    def chunk_index_db(self) -> Path:
        return self.home / "chunks.sqlite"

    @property
    def garage(self) -> Path:
        return self.home / "garage"

    @property
    def garage_cache(self) -> Path:
        """Return the cache of garage objects where the garage is on a server. It may be removed at any time."""
        return self.home / "cache"

    @property
    def spool(self) -> Path:
        return self.home / "spool"

    @property
    def run(self) -> Path:
        """Return the folder of locks, process ids and records of mounts."""
        return self.home / "run"

    @property
    def prompts(self) -> Path:
        """Return the folder of prompts that the user puts in the place of those of kgfs."""
        return self.home / "prompts"

    @property
    def logs(self) -> Path:
        return self.home / "log"

    @property
    def errors_log(self) -> Path:
        """Return the file behind ``.kgfs/errors.ndjson``: one JSON object a line, appended by every process."""
        return self.logs / "errors.ndjson"

    def shown(self) -> dict[str, Any]:
        """Return all settings as plain data for ``kgfs config show``."""
        plain = asdict(self)
        plain["home"] = str(self.home)
        plain["file"] = str(self.file or self.home / "config.toml")
        for section, attribute in _ATTRIBUTES.items():
            plain[section] = plain.pop(attribute)
        return plain


_SECTIONS: Mapping[str, type] = {
    "pipeline": Pipeline,
    "tree": Tree,
    "models": Models,
    "llm": Llm,
    "claims": Claims,
    "garage": Garage,
    "graph": Graph,
    "compute": Cluster,
    "vectors": Vectors,
    "watch": Watch,
}
_ATTRIBUTES = {"garage": "garage_store", "compute": "cluster"}
"""Section → attribute of :class:`Config`, for sections whose name a folder or another room has already."""


_KINDS: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list of texts",
}


def default_home(environ: Mapping[str, str] = os.environ) -> Path:
    configured = environ.get("KGFS_HOME")
    if configured:
        return Path(configured)
    import platformdirs  # takes longer than the rest of this module, and is needed where no home is named only

    return Path(platformdirs.user_data_dir("kgfs", appauthor=False))


def load(home: Path | None = None, file: Path | None = None, environ: Mapping[str, str] = os.environ) -> Config:
    """Return the configuration of a home: defaults, then the configuration file, then the environment.

    The file is ``file``, else the file that ``KGFS_CONFIG`` names, else the home's ``config.toml``. Relative file
    names are resolved from the configuration file's folder, because mounts and workers run in other working
    directories than the command. Raises BadInputError for a named file that does not exist, a file that is unreadable
    or not valid TOML, an unknown section, key or variable, and a bad value.
    """
    home = _expanded(home or default_home(environ), "--home and KGFS_HOME name the home").absolute()
    named = file or (Path(environ["KGFS_CONFIG"]) if environ.get("KGFS_CONFIG") else None)
    path = (named or home / "config.toml").absolute()
    data: dict[str, Any] = {}
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if named:
            raise BadInputError(f"{path}: no such configuration file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: not valid TOML: {error}. Mend the file or remove it.") from error
    except OSError as error:
        another = "--config names another file" if named else "--home or KGFS_HOME name another home"
        raise BadInputError(f"{path}: cannot be read: {error.strerror}. {another}.") from error
    unknown = sorted(set(data) - set(_SECTIONS))
    if unknown:
        raise BadInputError(f"{path}: unknown section [{unknown[0]}]; known are {', '.join(sorted(_SECTIONS))}.")
    strange = [name for name in sorted(environ) if _is_nobodys(name)]
    if strange:
        raise BadInputError(f"{strange[0]}: no such setting; KGFS_{{{','.join(sorted(_SECTIONS)).upper()}}}_… are.")
    sections = {
        _ATTRIBUTES.get(name, name): _section(name, kind, data.get(name, {}), path, environ)
        for name, kind in _SECTIONS.items()
    }
    return Config(home=home, file=path if named else None, **sections)


def _section(name: str, kind: type, data: Any, path: Path, environ: Mapping[str, str]) -> Any:
    if not isinstance(data, dict):
        raise BadInputError(f"{path}: [{name}] must be a table.")
    known = {item.name: item for item in fields(kind)}
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise BadInputError(f"{path}: unknown key '{unknown[0]}' in [{name}]; known are {', '.join(sorted(known))}.")
    twins = {f"KGFS_{name}_{key}".upper() for key in known}
    strange = sorted(twin for twin in environ if twin.startswith(f"KGFS_{name.upper()}_") and twin not in twins)
    if strange:
        raise BadInputError(f"{strange[0]}: no such setting; known are {', '.join(sorted(twins))}.")
    values: dict[str, Any] = {}
    for key, item in known.items():
        twin = f"KGFS_{name}_{key}".upper()
        if twin in environ:
            values[key] = _typed(environ[twin], item.default, twin)
        elif key in data:
            values[key] = _typed(data[key], item.default, f"{path}: {name}.{key}")
        if key.endswith("_file") and isinstance(item.default, str) and values.get(key):
            values[key] = _file(values[key], path.parent, twin if twin in environ else f"{path}: {name}.{key}")
    try:
        section = kind(**values)
        if isinstance(section, Models):
            extractors.check(section.extractor)
        return section
    except BadInputError as error:
        raise BadInputError(f"{error} [{name}] stands in {path}, or in KGFS_{name.upper()}_… variables.") from error


def _is_nobodys(variable: str) -> bool:
    """Return whether a variable ends like a setting but has no known section.

    Otherwise the setting that was meant would silently keep its default.
    """
    rest = variable.removeprefix("KGFS_")
    known = tuple(f"{name.upper()}_" for name in _SECTIONS)  # these are checked with their section
    if rest == variable or variable in OTHER_VARIABLES or rest.startswith(known):
        return False
    return any(rest.endswith(f"_{item.name.upper()}") for kind in _SECTIONS.values() for item in fields(kind))


def _file(named: str, folder: Path, where: str) -> str:
    """Return a file name as an absolute path, but one with ``~`` as it is, for settings that other machines get."""
    if named.startswith("~"):
        _expanded(Path(named), where)
        return named
    return str(folder / named)


def _expanded(path: Path, where: str) -> Path:
    """Return the path with ``~`` expanded. Raise BadInputError where the user's home folder is unknown."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise BadInputError(
            f"{where}: nobody knows whose folder '{path}' begins with. Name it from the root."
        ) from error


def _typed(value: Any, default: Any, where: str) -> Any:
    wanted = type(default)
    try:
        if wanted is tuple:
            return _texts(value)
        if isinstance(value, str) and wanted is bool:
            value = {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
        elif isinstance(value, str) and wanted is not str:
            return wanted(value)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
    except ValueError as error:
        raise BadInputError(f"{where}: '{value}' is not {_KINDS[wanted]}.") from error
    if not isinstance(value, wanted) or isinstance(value, bool) is not (wanted is bool):
        raise BadInputError(f"{where}: '{value}' is not {_KINDS[wanted]}.")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts; a variable has them parted by ``:``, as ``PATH`` does. Raise ValueError for what is none."""
    if isinstance(value, str):
        return tuple(filter(None, value.split(os.pathsep)))
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError
    return tuple(value)
