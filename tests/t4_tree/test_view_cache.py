"""What is remembered between two news never makes a thing look there that is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.errors import MissingError
from kgfs.tree.change_feed import ChangeFeed
from kgfs.tree.node import File
from kgfs.tree.vfs import Vfs, space_of
from tests.support.library import library_at, read

SOURCE = "Zen/concepts/zen.concept/evidence/1/source.txt"


def test_what_could_not_be_opened_is_not_found_again(home: Path) -> None:
    """Its Source left the graph after its Instance was looked at, and the news have not been heard yet."""
    with library_at(home) as library:
        library.add("Zen/documents/a.txt", b"Zen is here, and a koan.\n", {"Zen": ["Zen is here"]})
        library.add("Zen/documents/b.txt", b"Here Zen is here, too.\n", {"Zen": ["Zen is here"]})
        news = ChangeFeed(library.context, Vfs(library.root, lambda: space_of("/")))
        node = library.node(SOURCE)
        assert isinstance(node, File)
        node.attr()
        library.add("Zen/documents/a.txt", b"Only a koan is left.\n", {"Koan": ["a koan"]})
        assert library.find(SOURCE) is not None, "remembered"
        with pytest.raises(MissingError):
            read(node)
        assert library.find(SOURCE) is None
        news.poll()
        assert library.find(SOURCE) is None
