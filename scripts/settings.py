"""Print ``docs/settings.md``, which is made from ``kgfs/settings.py``: ``python -m scripts.settings > docs/settings.md``."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import fields

from kgfs import config

HEAD = """\
# Settings

<!-- Made by `python -m scripts.settings` from kgfs/settings.py. Change the texts there. -->

Settings are in `config.toml` in the home, or in `KGFS_*` environment variables, which take precedence:

    [pipeline]
    settle = 5.0

    [models]
    extractor = "statistics"

`kgfs config show` prints every setting in force. An unknown section or setting is an error, and so is a variable such as
`KGFS_GRAF_URI`, which ends like a setting but names no section.

**Which home.** kgfs takes the home from `--home`; else from the mount that contains a path on the command line; else from the
mount that you are in; else from `KGFS_HOME`; else it uses `~/.local/share/kgfs` (the XDG data folder). `kgfs status` shows which.
`kgfs mount` and `kgfs restore` do not look at mounts.

**Which file.** `--config` or `KGFS_CONFIG` names a file to use instead of the home's `config.toml`. Relative names in settings that end
in `_file` are relative to the folder of the configuration file, wherever they are set.
"""


def page() -> str:
    """Return the page: a table for each section of the configuration."""
    return HEAD + "".join(
        f"\n## [{name}]\n\n| setting | variable | default | meaning |\n| --- | --- | --- | --- |\n"
        + "".join(f"| {' | '.join(row)} |\n" for row in rows(name, kind))
        for name, kind in config._SECTIONS.items()
    )


def rows(name: str, kind: type) -> Iterator[tuple[str, str, str, str]]:
    """Yield the row of each setting of a section. What it means is the text below it in the source."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for at, following in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(at, ast.AnnAssign) and isinstance(following, ast.Expr):
            assert isinstance(at.target, ast.Name)
            texts[at.target.id] = " ".join(ast.literal_eval(following.value).split()).replace("``", "`")
    for item in fields(kind):
        if item.name not in texts:
            raise SystemExit(f"{name}.{item.name} does not say what it means.")
        yield (
            f"`{item.name}`",
            f"`KGFS_{name}_{item.name}`".upper(),
            f"`{in_toml(item.default)}`" if item.default != "" else "empty",
            texts[item.name],
        )


def in_toml(value: object) -> str:
    """Return a value as a configuration file has it, a text without its quotes."""
    if isinstance(value, tuple):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    print(page(), end="")
