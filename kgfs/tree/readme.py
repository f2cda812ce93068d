"""Make the files that explain the tree: README.md and AGENTS.md of the mount, and ``.ignore`` of an ontology."""

from __future__ import annotations

import os
from collections.abc import Callable

from kgfs.domain.documents import Ontology
from kgfs.render import readme
from kgfs.render.words import encode
from kgfs.tree import keys, view
from kgfs.tree.derived import Page
from kgfs.tree.places import ONTOLOGY
from kgfs.tree.tree_context import TreeContext

WRITTEN_AT = max(os.stat(file).st_mtime_ns for file in (readme.__file__, view.__file__))
"""Time at which this installation of kgfs got the text, in nanoseconds. Copies of the mount stay up to date across
mounts until the text is replaced.
"""


def readme_md(context: TreeContext, _: None) -> Page:
    """Return README.md of the mount."""
    about = [line for row in context.views.rows for line in row.about]
    return _fixed(context, keys.fixed("README.md"), lambda: readme.readme(about), WRITTEN_AT)


def agents_md(context: TreeContext, _: None) -> Page:
    """Return AGENTS.md of the mount."""

    def text() -> str:
        from kgfs.formats.table import FORMATS  # takes a while, and few mounts need it

        about = [line for row in context.views.rows for line in row.about]
        return readme.agents(about, {extension for one in FORMATS for extension in one.extensions})

    return _fixed(context, keys.fixed("AGENTS.md"), text, WRITTEN_AT)


def ignore(context: TreeContext, ontology: Ontology) -> Page:
    """Return ``.ignore`` of an ontology, which lists the views that repeat the text of documents/."""
    names = [view.name for view in context.views.at(ONTOLOGY).values() if view.repeats]
    return _fixed(context, keys.part(ontology.id, ".ignore"), lambda: readme.ignore(names), ontology.made_at)


def _fixed(context: TreeContext, key: keys.Key, text: Callable[[], str], mtime: int) -> Page:
    return Page(context, key, lambda: (encode(text()), mtime))
