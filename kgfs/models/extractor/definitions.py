"""The sentences that define a concept, and the words of the definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.models.extractor.candidates import is_vague
from kgfs.models.extractor.noun_phrases import article, is_plural, phrase_of, set_off

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

FEWEST, MOST = 3, 40
"""The numbers of words of a definition."""
_SHORT_TERM = 6
"""The largest number of words before the colon."""
_POINTING = frozenset(("this", "these", "those", "such", "we", "i", "he", "she", "our", "my", "me", "myself"))
_HEDGING = frozenset(("may", "might", "could", "would", "should", "must", "will", "can", "not", "n't", "never"))
_JUDGING = frozenset(
    """problem issue reason example way thing result consequence question matter choice concern fact case lot goal idea
    requirement mistake pain step start solution improvement resource term
    part aspect""".split()  # noqa: SIM905 - reads better as a paragraph
)
_CLASSES = frozenset(("type", "kind", "form", "sort", "variant", "family", "class"))
_RELATING = frozenset(
    "that which who whose where of for to with between in from on at against by used".split()  # noqa: SIM905
)
"""Words behind a class that what sets a thing apart begins with."""
_EVALUATING = frozenset(
    "bad better best big common crucial essential fundamental good great hard helpful important integral interesting major missing nice popular simple useful vital worse".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Defining:
    """A definition: ``defined`` is the head of the defined noun phrase, and the tokens ``first:last`` define it.

    ``pointed`` is whether the phrase has "the", so that it may stand for one thing of its kind: "the queue is a list of …".
    """

    defined: Token
    first: int
    last: int
    pointed: bool = False


def defining(sentence: Span, *, listed: bool = False, marked: int = 0) -> Iterator[Defining]:
    """Yield the definitions in a sentence.

    The forms are 'X is a Y that …', 'Xs are Ys that …', 'X, a Y that …', 'Xs, which are Ys that …', 'X refers to …',
    'X means doing …', and 'X: …' or 'X — …' where X is marked up (the token ``marked`` is the first behind it) or, in a list
    item (``listed``), the text begins with an article. A class alone defines nothing.
    """
    if sentence.text.rstrip().endswith("?"):
        return
    for found in (
        *_glossary(sentence, listed=listed, marked=marked),
        *_by_verb(sentence, marked),
        *_apposed(sentence),
        *_related(sentence),
    ):
        first, last = found.first, _without_stop(sentence, found.last)
        opened = sum((word.text == "(") - (word.text == ")") for word in sentence.doc[first:last])
        if opened > 0 and last < sentence.end and sentence.doc[last].text == ")":
            last += 1
        if last < sentence.end and not _is_border(sentence.doc[last]):
            last = _without_stop(sentence, sentence.end)  # the grammar cut it
        words = sentence.doc[first:last]
        count = sum(1 for word in words if not word.is_punct and not word.is_space)
        if FEWEST <= count <= MOST and not any(word.lower_ in _POINTING for word in words):
            yield Defining(found.defined, first, last, found.pointed)


def _is_border(token: Token) -> bool:
    """Return whether a definition may end before a token: a mark, but no bracket, or the start of another clause."""
    return (token.is_punct and token.text not in "([-/") or token.pos_ in ("CCONJ", "SCONJ")


def names_a_thing(phrase: Span) -> bool:
    """Return whether the words below a term say what it is: a noun phrase with something after its noun."""
    root = phrase.root
    if (
        any(char in phrase.text for char in "#<=")
        or root.pos_ not in ("NOUN", "PROPN")
        or root.i == phrase.end - 1
        or phrase[0].lower_ in (_POINTING | {"the"})
    ):
        return False
    return FEWEST <= sum(1 for word in phrase if not word.is_punct and not word.is_space) <= MOST


def _glossary(sentence: Span, *, listed: bool, marked: int) -> Iterator[Defining]:
    doc = sentence.doc
    if not (listed or marked):
        return
    for at in range(
        marked or sentence.start + 1, min(marked + 1 if marked else sentence.start + _SHORT_TERM, sentence.end - 3)
    ):
        if doc[at].text in (":", "–", "—") or (doc[at].text == "-" and doc[at].whitespace_ and doc[at - 1].whitespace_):
            first = at + 1
            if marked and doc[first].lower_ in ("it", "this") and doc[first + 1].lower_ == "is":
                if _sets_apart(doc, first + 2, sentence.end):
                    yield Defining(doc[at - 1], first + 2, sentence.end)
            elif (
                marked
                and _is_name_of(doc, first, sentence.end)
                and _sets_apart(doc, first, sentence.end, term=doc[at - 1].lemma_.lower())
            ) or (doc[first].lower_ in ("a", "an", "the") and not _asserts(doc, first, sentence.end)):
                yield Defining(doc[at - 1], first, sentence.end)
            return


def _asserts(doc: Doc, first: int, end: int) -> bool:
    return any(word.pos_ in ("VERB", "AUX") and word.dep_ in ("ROOT", "ccomp") for word in doc[first:end])


def _is_name_of(doc: Doc, first: int, end: int) -> bool:
    """Return whether words are a noun phrase with its clauses, and no sentence: "functions that fetch data"."""
    inside = range(first, end)
    for word in doc[first:end]:
        if word.tag_ in ("VBZ", "VBP", "VBD", "MD", "VB") and word.pos_ in ("VERB", "AUX"):
            at = word
            while (
                at.dep_ not in ("relcl", "acl", "advcl", "ccomp", "pcomp", "xcomp")
                and at.head != at
                and at.head.i in inside
            ):
                at = at.head
            if at.dep_ not in ("relcl", "acl", "advcl", "ccomp", "pcomp", "xcomp") or at.head.i < first:
                return False
    return True


def _sets_apart(doc: Doc, first: int, end: int, *, plural: bool = False, term: str = "") -> bool:
    """Return whether words begin with a class, and go on with what sets a thing apart in it: "a tool for …", "copies of …".

    Without an article the class of a ``plural`` is one too. A class that is the ``term`` itself tells nothing.
    """
    at = first + (doc[first].lower_ in ("a", "an", "the"))
    begin = at
    while at < end and (
        doc[at].pos_ in ("NOUN", "PROPN", "ADJ", "NUM")
        or doc[at].text in ("-", "/", "&")
        or (doc[at].lower_ in ("and", "or") and at > begin)
        or doc[at].pos_ == "ADV"
        or (doc[at].tag_ in ("VBN", "VBG") and doc[at].dep_ in ("amod", "compound", "nmod"))
    ):
        at += 1
    while at > begin and doc[at - 1].pos_ in ("ADV", "CCONJ", "PUNCT"):
        at -= 1
    head = doc[at - 1]
    if at == begin or at >= end or head.pos_ not in ("NOUN", "PROPN"):
        return False
    if doc[at].text == "(" and doc[at + 1].lower_ in ("a", "an", "the"):  # "process ID (the number that …)"
        return _sets_apart(doc, at + 1, end)
    if begin == first:  # no article
        if doc[begin].tag_ in ("VB", "VBG", "VBP") or (plural and not is_plural(head)):
            return False
        if doc[begin].pos_ == "PROPN" and not is_plural(head):
            return False  # a name
        if is_plural(doc[begin]) and (begin < at - 1 or doc[at].lower_ in ("for", "to")):
            return False  # it may be a verb: "allows for …", "specifies names of …"
        if is_plural(head) and doc[begin].dep_ == "compound":
            return False  # or an order: "Optimize functions that …"
        if head.lemma_.lower() == term:
            return False
    if (head.lemma_.lower() in _JUDGING and doc[at].lower_ != "to") or any(
        word.lower_ in _EVALUATING or word.lower_ in ("other", "another") or word.tag_ in ("JJS", "RBS")
        for word in doc[begin:at]
    ):
        return False
    if doc[at].text == "(":  # "functions (keyed hash functions) that …"
        at = next((one.i + 1 for one in doc[at:end] if one.text == ")"), end)
        if at >= end:
            return False
    after = doc[at]
    told = after.lower_ in _RELATING or (after.tag_ in ("VBN", "VBG", "VBD") and after.dep_ in ("acl", "relcl"))
    if after.text == "," and at + 1 < end:
        told = doc[at + 1].lower_ in ("which", "where", "who") and doc[min(at + 2, end - 1)].lemma_ != "mean"
    if head.lemma_.lower() in _CLASSES and after.lower_ == "of":
        return _sets_apart(doc, at + 1, end)
    return told


def _by_verb(sentence: Span, marked: int) -> Iterator[Defining]:
    root = sentence.root
    subject = next((child for child in root.children if child.dep_ == "nsubj"), None)
    if root.pos_ not in ("VERB", "AUX") or root.tag_ not in ("VBZ", "VBP") or subject is None:
        return
    if (
        (phrase_of(subject) is None and marked != subject.i + 1)
        or subject.left_edge.i != root.sent.start
        or subject.i > root.i
    ):
        return
    if any(child.lower_ in _HEDGING for child in root.children):
        return
    lemma, doc = root.lemma_.lower(), sentence.doc
    if lemma == "be":
        told = next((child for child in root.children if child.dep_ == "attr" and child.pos_ == "NOUN"), None)
        if told is not None and told.i > root.i and _says_what(told, subject):
            yield Defining(subject, told.left_edge.i, _with_list(told, sentence), _is_one_of_its_kind(subject))
        elif _is_class(doc, root.i + 1, subject) and _sets_apart(
            doc, root.i + 1, sentence.end, plural=is_plural(subject)
        ):
            yield Defining(subject, root.i + 1, _end_of(root, sentence), _is_one_of_its_kind(subject))
    elif lemma == "refer":
        told = next((child for child in root.children if child.dep_ == "prep" and child.lower_ == "to"), None)
        if told is not None and told.i == root.i + 1 and not is_pointed(subject):
            yield Defining(subject, told.i + 1, told.right_edge.i + 1)
    elif lemma == "mean" and root.i + 1 < sentence.end and doc[root.i + 1].tag_ == "VBG" and not article(subject):
        yield Defining(subject, root.i + 1, _end_of(root, sentence))


def _is_one_of_its_kind(subject: Token) -> bool:
    """Return whether a subject of one word has "the", so that it may be a certain thing of its kind."""
    return subject.doc[subject.left_edge.i].lower_ == "the" and not any(c.dep_ == "compound" for c in subject.children)


def _is_class(doc: Doc, first: int, subject: Token) -> bool:
    """Return whether a predicate begins as a class does: with an article, or as a plural behind a plural."""
    return first < len(doc) and (
        doc[first].lower_ in ("a", "an", "the") or (is_plural(subject) and doc[first].pos_ in ("NOUN", "ADJ"))
    )


def _with_list(told: Token, sentence: Span) -> int:
    """Return where a predicate ends, with the rest of a list that the grammar cut: "for making apps for phones, and the web"."""
    end = told.right_edge.i + 1
    rest = sentence.doc[end : sentence.end]
    listed = len(rest) > 1 and rest[0].text == "," and not any(word.pos_ in ("VERB", "AUX") for word in rest)
    return sentence.end if listed and all(word.text not in ":;—" for word in rest) else end


def _end_of(root: Token, sentence: Span) -> int:
    """Return where the predicate ends: before another clause of its own that follows."""
    ends = [next((word.i for word in sentence.doc[root.i : sentence.end] if word.text in (":", ";")), sentence.end)]
    for child in root.children:
        own = any(one.dep_ in ("nsubj", "nsubjpass", "expl") for one in child.children)
        own |= child.dep_ == "advcl" and sentence.doc[child.left_edge.i - 1].text == ","
        if child.i > root.i and child.dep_ in ("conj", "advcl", "ccomp") and child.pos_ in ("VERB", "AUX") and own:
            first = child.left_edge.i
            while first - 1 > root.i and sentence.doc[first - 1].pos_ in ("CCONJ", "PUNCT", "SCONJ"):
                first -= 1
            ends.append(first)
    return min(ends)


def _related(sentence: Span) -> Iterator[Defining]:
    """Yield what a clause behind a comma says a thing is: "parameters, which are special variables that …"."""
    doc = sentence.doc
    for verb in sentence:
        if verb.dep_ != "relcl" or verb.lower_ not in ("is", "are") or verb.i < sentence.start + 3:
            continue
        noun = verb.head
        if doc[verb.i - 1].lower_ != "which" or doc[verb.i - 2].text != "," or noun.i != verb.i - 3:
            continue
        if (
            is_pointed(noun)
            or phrase_of(noun, restricted=True) is None
            or any(c.lower_ in _HEDGING for c in verb.children)
        ):
            continue
        if _is_class(doc, verb.i + 1, noun) and _sets_apart(doc, verb.i + 1, sentence.end, plural=is_plural(noun)):
            yield Defining(noun, verb.i + 1, verb.right_edge.i + 1)


def is_pointed(noun: Token) -> bool:
    """Return whether the noun stands for one that the text named before: 'the name refers to …'."""
    return article(noun) == "the"


def _says_what(attribute: Token, subject: Token) -> bool:
    """Return whether a predicate names a class and what sets the thing apart in it: a clause behind it, or an adjective."""
    plural = is_plural(attribute) and not article(attribute) and (is_plural(subject) or attribute.head.lower_ == "are")
    if article(attribute) != "a" and not plural:
        return False
    if attribute.lemma_.lower() in _JUDGING:
        return False
    children = list(attribute.children)
    if any(child.lower_ in _EVALUATING or child.tag_ in ("JJS", "RBS") for child in children):
        return False
    rest = [child for child in children if child.i > attribute.i and child.dep_ in ("relcl", "acl", "prep", "appos")]
    rest = [child for child in rest if not (child.dep_ == "relcl" and child.lemma_ == "mean")]
    if attribute.lemma_.lower() in _CLASSES and len(rest) == 1 and rest[0].lower_ == "of":
        inner = next((child for child in rest[0].children if child.dep_ == "pobj"), None)
        return inner is not None and inner.right_edge.i > inner.i  # "a kind of matcher" is a class alone
    kinds = (child for child in children if child.i < attribute.i and child.dep_ in ("amod", "compound"))
    return bool(rest) or any(not is_vague(child) for child in kinds)


def _apposed(sentence: Span) -> Iterator[Defining]:
    for noun in sentence:
        if noun.dep_ != "appos" or noun.pos_ != "NOUN" or article(noun) != "a" or not set_off(noun):
            continue
        phrase = phrase_of(noun.head)
        if phrase is not None and phrase[0] > 0 and sentence.doc[phrase[0] - 1].text == ",":
            continue  # a list: "cameras, screen sharing, a switcher that …"
        if phrase is not None and phrase[1] == noun.left_edge.i - 1 and _says_what(noun, noun.head):
            yield Defining(noun.head, noun.left_edge.i, noun.right_edge.i + 1)


def _without_stop(sentence: Span, last: int) -> int:
    while last > sentence.start and (sentence.doc[last - 1].is_punct or sentence.doc[last - 1].is_space):
        if sentence.doc[last - 1].text in (")", '"', "”"):
            break
        last -= 1
    return last
