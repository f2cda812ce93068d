"""The extractor that asks a language model for concepts, relationships and claims of one passage.

It makes prompts and reads answers. The worker sends the prompts (``ingest.working.asking``), since an answer costs money and
time: it keeps each one before anything reads it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgfs.domain.knowledge import AUTHORITIES, CLAIM_ROLES, RELATIONSHIP_TYPES, SCOPES
from kgfs.errors import BadInputError
from kgfs.models.contract import Extraction, Passage, RawClaim, RawConcept, RawQuote, RawRelationship, Tokens
from kgfs.models.llm import Prompt
from kgfs.settings import Llm

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

CLAIMS, CONCEPTS = 20, 40
"""Most items of one answer that are kept."""
LONGEST_PROMPT = 8_000
"""Tokens of a prompt, whatever the model's window is [FULL 5]."""
LISTS = ("concepts", "relationships", "claims")

_TEXT: Mapping[str, Any] = {"type": "string"}
_TEXTS: Mapping[str, Any] = {"type": "array", "items": _TEXT}
_NUMBER: Mapping[str, Any] = {"type": "number"}


def _items(required: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": required.split()},
    }


def _one_of(words: Iterable[str]) -> dict[str, Any]:
    return {"enum": list(words)}


_SCHEMA: Mapping[str, Any] = {
    "concepts": _items("label quotes", label=_TEXT, aliases=_TEXTS, kind=_TEXT, description=_TEXT, quotes=_TEXTS),
    "relationships": _items(
        "subject type object quote",
        subject=_TEXT,
        type=_one_of(RELATIONSHIP_TYPES),
        object=_TEXT,
        quote=_TEXT,
        confidence=_NUMBER,
        holds={"type": "boolean"},
    ),
    "claims": _items(
        "quote actor timeframe role claim scope confidence authority",
        quote=_TEXT,
        actor=_TEXT,
        timeframe=_TEXT,
        role=_one_of(CLAIM_ROLES),
        claim=_TEXT,
        domain=_TEXT,
        scope=_one_of(SCOPES),
        confidence=_NUMBER,
        authority=_one_of(AUTHORITIES),
    ),
}
"""No length is bounded: a bounded string stalls one server and makes another glue words."""

_CONTEXT_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"context": _TEXT}, "required": ["context"]}
CONTEXT_TOKENS = 150
"""Most tokens of what describes a document [CITE 4]."""

_PLACEHOLDER = re.compile(r"<[a-z][a-z ]+>")


class LlmExtractor:
    """An Extractor whose answers are asked for apart. Any number of threads may call."""

    name = "llm"
    version = "1"
    billed = True
    takes_known = True

    def __init__(self, settings: Llm, prompts: Path | None = None) -> None:
        """Read the prompts: files of kgfs, or those of the folder ``prompts`` with the same names."""
        self._settings = settings
        self._prompts = {name: prompt_text(name, prompts) for name in ("concepts", "claims")}
        self._context = prompt_text("context", prompts)
        self._placeholders = {found for text in self._prompts.values() for found in _PLACEHOLDER.findall(text)}
        self.model = settings.model or Path(settings.base_url.removeprefix("local:")).name or "default"
        shaped = json.dumps([self._prompts, settings.calls, settings.temperature, _SCHEMA], sort_keys=True)
        self.prompt_hash = hashlib.sha256(shaped.encode()).hexdigest()[:16]

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """Return the lists that each request for a passage asks for."""
        return (LISTS,) if self._settings.calls == "one" else (LISTS[:2], LISTS[2:])

    def prompt(self, passage: Passage, part: int, known: Sequence[str], tokens: Tokens) -> Prompt:
        """Return a request about a passage. As many ``known`` labels are shown as fit, at most ``[llm] known_tokens`` tokens.

        Raise BadInputError where the passage alone is longer than a prompt may be.
        """
        wanted = self.parts[part]
        system = self._system(wanted)
        properties = {name: _SCHEMA[name] for name in wanted}
        schema = {"type": "object", "properties": properties, "required": list(wanted)}
        head = header(passage)
        body = f"Passage:\n<<<\n{passage.text.strip()}\n>>>"
        used = tokens.count(f"{system}{head}{body}{json.dumps(schema)}")
        # About twice a full answer, of which most repeats the passage.
        longest = min(self._settings.max_tokens, max(1_024, 6 * tokens.count(passage.text)))
        room = min(LONGEST_PROMPT, self._settings.context_tokens - longest) - used
        if room < 0:
            raise BadInputError(f"The passage and its prompt have {used:,} tokens, {-room:,} too many.")
        shown = _fitting(known, min(room, self._settings.known_tokens), tokens) if "concepts" in wanted else []
        names = f"Known names: {'; '.join(shown)}\n" if shown else ""
        return Prompt(system, f"{head}{names}{body}", longest, schema)

    @property
    def context_shape(self) -> str:
        """Return a hash of everything but the document that shapes what describes it."""
        model = self._settings.context_model or self.model
        return hashlib.sha256(f"{model} {self._settings.temperature} {self._context}".encode()).hexdigest()[:16]

    def context_prompt(self, head: Passage) -> Prompt:
        """Return the request to describe a document, of which ``head`` has the beginning."""
        body = f'Title "{plain(head.title)}"\n<<<\n{head.text.strip()}\n>>>'
        return Prompt(self._context, body, 2 * CONTEXT_TOKENS, _CONTEXT_SCHEMA)

    def parse_context(self, raw: str) -> Extraction:
        """Read an answer to it. Raise BadInputError for one of another form."""
        return Extraction((), (), context=context_said(raw))

    def _system(self, wanted: Sequence[str]) -> str:
        if len(wanted) == len(LISTS):
            return f"{self._prompts['concepts']}\n\nIn the same JSON object, with the same rules for quotes:\n\n{self._prompts['claims']}"
        return self._prompts["claims" if "claims" in wanted else "concepts"]

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        """Raise AssertionError: the worker asks the model, before documents are read."""
        raise AssertionError("a language model is asked by the worker, apart from reading")

    def parse(self, raw: str) -> Extraction:
        """Read an answer. Raise BadInputError where it has no JSON object, or none of the lists.

        A bad item is dropped and counted, and the others stay.
        """
        body = json_object(raw)
        if not any(isinstance(body.get(name), list) for name in LISTS):
            raise BadInputError(f"the answer has none of the lists {', '.join(LISTS)}")
        dropped: Counter[str] = Counter()
        rows = {name: self._rows(name, body.get(name), dropped) for name in LISTS}
        denied = sum(not row.get("holds", True) for row in rows["relationships"])
        dropped["relationship: the text denies or only supposes it"] += denied
        return Extraction(
            tuple(_concept(row) for row in rows["concepts"]),
            tuple(_relationship(row) for row in rows["relationships"] if row.get("holds", True)),
            claims=tuple(_claim(row) for row in rows["claims"]),
            dropped=dict(sorted((+dropped).items())),
        )

    def _rows(self, name: str, rows: Any, dropped: Counter[str]) -> list[dict[str, Any]]:
        validator = _validator(name)
        word = name.removesuffix("s")
        kept: list[dict[str, Any]] = []
        for row in rows if isinstance(rows, list) else []:
            flat = _flat(row) if name == "claims" else row
            fault = min(validator.iter_errors(flat), key=lambda error: (len(error.path), str(error.path)), default=None)
            if fault is not None:
                dropped[f"{word}: {_said(fault, flat)}"] += 1
            elif any(text in self._placeholders for text in _texts(flat)):
                dropped[f"{word}: words of the prompt's example"] += 1
            else:
                kept.append(flat)
        most = {"claims": CLAIMS, "concepts": CONCEPTS}.get(name, len(kept))
        if len(kept) > most:
            dropped[f"{word}: more than {most} in one answer"] += len(kept) - most
        return kept[:most]


class MixedExtractor(LlmExtractor):
    """An Extractor whose mentions come from grammar, and whose claims and typed relationships come from a language model.

    Both parts have Records of their own, so this object only names them together.
    """

    name = "llm+grammar"

    def __init__(self, llm: LlmExtractor, grammar_version: str, grammar_model: str) -> None:
        self.version = f"{llm.version}+{grammar_version}"
        self.model = f"{llm.model} + {grammar_model}"
        self.prompt_hash = llm.prompt_hash


@cache
def _validator(name: str) -> Draft202012Validator:
    """Return what validates an item of a list."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_SCHEMA[name]["items"])


def prompt_text(name: str, folder: Path | None) -> str:
    """Return the text of a prompt: the user's file ``folder/name.md`` if there is one, else that of kgfs.

    Raise BadInputError where the user's file cannot be read.
    """
    own = folder / f"{name}.md" if folder is not None else None
    if own is not None and own.is_file():
        try:
            return own.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInputError(f"{own}: the prompt cannot be read: {error}.") from error
    return (resources.files("kgfs.models") / "prompts" / f"{name}.md").read_text("utf-8").strip()


def context_said(raw: str) -> str:
    """Return what an answer says of a document. Raise BadInputError for an answer of another form."""
    said = json_object(raw).get("context")
    if not isinstance(said, str) or not said.strip() or _PLACEHOLDER.fullmatch(said.strip()):
        raise BadInputError("the answer has no context")
    return " ".join(said.split())


def header(passage: Passage) -> str:
    """Return what stands above a passage: title, file, sections, date and domains, as the model sees them."""
    said = [
        f'title "{plain(passage.title)}"' if passage.title else "",
        f'section "{plain(" > ".join(passage.section_path))}"' if passage.section_path else "",
        f"date {plain(passage.date)}" if passage.date else "",
    ]
    domains = f"Domains: {', '.join(map(plain, passage.domains))}\n" if passage.domains else ""
    return f"Header: {', '.join(filter(None, said))}\n{domains}"


def plain(text: str) -> str:
    """Return a text for a line of a prompt: quotation marks, brackets and line ends cannot end what it stands in."""
    return re.sub(
        r"\s+", " ", text.replace('"', "'").replace("<<<", "«").replace(">>>", "»").replace("[", "(").replace("]", ")")
    )


def json_object(raw: str) -> dict[str, Any]:
    """Return the JSON object of an answer, which may stand in a fence or between words. Raise BadInputError without one."""
    start, end = raw.find("{"), raw.rfind("}")
    if start < 0 or end < start:
        raise BadInputError("the answer has no JSON object")
    try:
        body = json.loads(raw[start : end + 1], strict=False)
    except ValueError as error:
        raise BadInputError(f"the answer is no valid JSON: {error}") from error
    except RecursionError as error:
        raise BadInputError("the answer is nested too deeply") from error
    if not isinstance(body, dict):
        raise BadInputError("the answer is no JSON object")
    return body


def _fitting(known: Sequence[str], room: int, tokens: Tokens) -> list[str]:
    shown: list[str] = []
    for label, count in zip(known, tokens.counts([f"; {plain(label)}" for label in known]), strict=True):
        room -= count
        if room < 0:
            break
        shown.append(plain(label))
    return shown


def _flat(row: Any) -> Any:
    """Return a claim with the fields of ``context``, as the seed nests them, beside the others."""
    if isinstance(row, dict) and isinstance(row.get("context"), dict):
        return {**row["context"], **{name: value for name, value in row.items() if name != "context"}}
    return row


def _said(fault: Any, row: Any) -> str:
    """Return why an item is dropped, without words of the answer."""
    if fault.validator == "required":
        missing = next((name for name in fault.validator_value if name not in row), "")
        return f"its {missing} is missing"
    if fault.path:
        value = row.get(fault.path[0]) if isinstance(row, dict) else None
        if fault.path[0] == "role" and value in ("quote", "other"):
            return f"its role is {value}"
        wrong = "is none of those asked for" if fault.validator == "enum" else "has another form"
        return f"its {fault.path[0]} {wrong}"
    return "it is no object"


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _concept(row: Mapping[str, Any]) -> RawConcept:
    quotes = tuple(RawQuote(text) for text in row["quotes"])
    aliases = tuple(row.get("aliases") or ())
    kind = " ".join(str(row.get("kind") or "term").casefold().split())
    return RawConcept(row["label"], kind, 0.5, max(1, len(quotes)), quotes, None, aliases, row.get("description") or "")


def _relationship(row: Mapping[str, Any]) -> RawRelationship:
    quote = RawQuote(row["quote"])
    return RawRelationship(row["subject"], row["type"], row["object"], quote, float(row.get("confidence", 0.7)))


def _claim(row: Mapping[str, Any]) -> RawClaim:
    said: dict[str, Any] = {name: row.get(name) or "" for name in _SCHEMA["claims"]["items"]["properties"]}
    return RawClaim(**said | {"quote": RawQuote(row["quote"]), "confidence": float(row["confidence"])})
