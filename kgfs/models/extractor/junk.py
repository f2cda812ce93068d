"""Rules that tell which labels are no concepts, and which differently written labels are the same."""

from __future__ import annotations

import re

from kgfs.domain.forms import singular
from kgfs.domain.identity import normalise_label

MAX_WORDS = 7
MAX_CHARACTERS = 80

STOP_WORDS = frozenset(
    """a about above across after again against all almost alone along already also although always am among an and another any
    anybody anyone anything anywhere are around as at away back be became because become becomes been before behind being below
    between both but by call can cannot could did do does doing done down due during each either else ever every everybody
    everyone everything everywhere few for from further get give given go goes had has have having he hence her here hers
    herself him himself his how however i if in indeed instead into is it its itself just keep last least less let like
    made make makes many may me might mine more moreover most mostly much must my myself namely neither never nevertheless next
    no nobody none nor not nothing now nowhere of off often on once one only onto or other others otherwise our ours ourselves
    out over own per perhaps please put quite rather re really regarding same say see seem seems several she should since so
    some somebody somehow someone something sometimes somewhere still such take than that the their theirs them themselves then
    thence there thereby therefore these they this those though through throughout thus to together too toward towards under
    unless until up upon us use used using various very via was we well were what whatever when whenever where whereas whether
    which while who whoever whole whom whose why will with within without would yet you your yours yourself yourselves""".split()  # noqa: SIM905 - reads better as a paragraph
)

HOLLOW = frozenset(
    """ability above abstract acceptance addition advantage agenda aim announcement aob attendee alternative amount answer appendix approach argument aspect
    author authors background bar basis business baz behaviour behavior benefit bit case cases category cause chance change changes chapter choice
    circumstance class comment common concept conclusion concern condition consequence consideration content context contrast copy copyright
    couple course criticism day days deal decision default degree detail details difference difficulty direction discussion
    disadvantage document draft e.g. effect eg ie effort end entry etc everyone evidence example examples exception existence
    experience explanation extent fact faq factor fashion feature figure finding first following foo footnote footnotes form future
    goal group half hand help history i.e. idea ideas impact implication importance insight instance intent intention introduction issue
    issues item kind lack level line list lot lots main majority manner matter mean meaning means meeting mention method mind minor minutes
    moment month months motivation name names nature need needs new note notes notion number numbers object objection
    objective old one ones open option options order outline outset overview page paper paragraph part parts past people period
    person perspective place plan point points position possibility problem problems procedure process proposal proposals purpose
    question questions range rate rationale reader reason reasons recommendation reference references regard rejected relation remainder
    requirement respect rest result results role rule rules section sections sense set shape share side sign similar situation snippet
    solution something sort specific specification start state statement status step steps stuff subject success such
    suggestion summary support table tables takeaway technique term terms test text thing things thought time times title today topic
    total transition truth type types update usage use user users value values variety version versions view want way ways week
    weeks whole wish word words work works world year years yes""".split()  # noqa: SIM905 - reads better as a paragraph
)
"""Nouns that mean nothing alone. They are allowed inside a longer phrase."""

_PLACEHOLDERS = frozenset(("foo", "foobar", "baz", "qux", "quux"))
"""Names that stand for any name in examples of code."""
_PART = re.compile(r"[\s._()]+")
_ADDRESS = re.compile(r"(?:https?|ftp|file)://|www\.|\S+@\S+\.\w|\b\w+\.(?:com|org|net|html?|io)\b", re.IGNORECASE)
_MARKUP = re.compile(r"[`|\\^~{}<>=$]|\*\*|\]\(|\[\d*\]|::|&\w+;|^[#@*:]|[*:]$|^\.\.")
_CODE = re.compile(r"[()\[\];!?\"]|[+*/%=]=|->|\w\.\w+\.|^[-–—/.,']|[-–—/,']$")
_NUMBERED = re.compile(r"#\d")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_DATE = re.compile(
    r"(?:\d{1,2}[-/. ])?(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?:mon|tue|wed|thu|fri|sat|sun|tues|wednes|thurs|satur)(?:day)?s?)\.?(?:[-/. ,]+\d{1,4})*"
    r"|\d{1,4}(?:st|nd|rd|th)|today|tomorrow|yesterday"
)
_ABBREVIATION = re.compile(r"[^\W\d_]{2,5}\.")
"""A title or another word that is cut: "Prof."."""
_AMOUNT = re.compile(r"\d[\d.,]*[a-z%]{1,2}|[A-Z]{3}\s?\d[\d.,]*[.,]\d+|[€$£¥]\s?\d[\d.,]*\w*")


def reason(label: str) -> str:
    """Return why a label is junk, as one of these words, or '' if it is not junk.

    The words are: empty, number, letter, stop words, hollow, markup, address, code, date, long.
    """
    norm = normalise_label(label)
    words = norm.split()
    if not words or not any(char.isalnum() for char in norm):
        return "empty"
    if len(words) > MAX_WORDS or len(norm) > MAX_CHARACTERS:
        return "long"
    if not any(char.isalpha() for char in norm):
        return "number"
    if len(norm) == 1:
        return "letter"
    if _ADDRESS.search(label):
        return "address"
    if _ABBREVIATION.fullmatch(label.strip()):
        return "letter"
    if _NUMBERED.search(label) or _AMOUNT.fullmatch(label):
        return "number"
    if _CODE.search(label) and not _DOTTED.fullmatch(label):
        return "code"
    if _MARKUP.search(label):
        return "markup"
    if _DATE.fullmatch(norm):
        return "date"
    if all(word in STOP_WORDS or not any(char.isalpha() for char in word) or len(word) == 1 for word in words):
        return "stop words"
    if len(words) == 1 and (norm in HOLLOW or fold(norm) in HOLLOW):
        return "hollow"
    if len(words) == 2 and words[0] in HOLLOW and words[1].isdigit():
        return "hollow"
    if not _PLACEHOLDERS.isdisjoint(_PART.split(norm)):
        return "hollow"
    return ""


fold = singular
"""Return a normalised label with its last word in the singular."""
