"""Names that stand for an example in a listing are terms; what the document is about stays a concept."""

from __future__ import annotations

from dataclasses import replace

from kgfs.domain.knowledge import FoundConcept, Quote
from kgfs.formats.table import parse
from kgfs.ingest.reading.choice import MOST_OF_A_TERM
from kgfs.ingest.reading.examples import without_examples

NOTE = """# Reading with read_all

```python
class FishMarket(CountFish):
    pass

def read_all(source): ...
def read_some(source): ...
limit = 3
```

FishMarket extends CountFish. read_some reads some. It has read_some. A limit bounds what is read.
"""


def _found(label: str, quotes: int = 1, definition: str = "") -> FoundConcept:
    said = tuple(Quote(at, at + 1, 0) for at in range(quotes))
    return FoundConcept(label, label.lower(), (label,), "term", 0.5, definition, said, 3.0)


def test_a_name_that_a_listing_declares_is_a_term_where_nothing_more_is_said_of_it() -> None:
    text = parse("note.md", NOTE.encode())
    some = (
        _found("FishMarket"),
        _found("limit"),
        _found("CountFish"),
        _found("read_all"),
        _found("read_some", quotes=2),
        _found("limit", definition="what bounds the reading"),
    )
    odds = [one.odds for one in without_examples(text, some)]
    assert odds == [MOST_OF_A_TERM, MOST_OF_A_TERM, 3.0, 3.0, 3.0, 3.0]
    [chosen] = without_examples(text, [replace(some[0], odds=None)])
    assert chosen.odds is None
