"""What a language model wrote is held against the Sources that it was shown, and a question's intent read: pure, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from kgfs.errors import BadInputError
from kgfs.knowledge.ask.stated import borne_out, closest, sentences_in, tidied
from kgfs.knowledge.intent import by_rules
from kgfs.models.answering import compose, read_intent
from kgfs.models.tokens import Estimate
from kgfs.render.answer_context import AnswerSource, short_header
from kgfs.settings import Llm


def shown_source(chunk_id: str, text: str) -> AnswerSource:
    return AnswerSource(
        text=text,
        score=0.0,
        chunk_id=chunk_id,
        doc_id="d" * 16,
        source_id="s/report.md",
        source_uri="report.md",
        source_title='A "report" | [June]',
        section_path=(),
        page=None,
        lines=None,
        archive_uri=None,
        download_uri=None,
    )


A, B = "a" * 12, "b" * 12
REVENUE = shown_source(A, "Revenue was **$18,442.75** in June.\nThat leaves a margin of 50.5 percent, before tax.")
CHURN = shown_source(B, 'Churn fell to 3.1 percent. "We never\ncalled them," said Ilse.')


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (f"It was $18,442.75. [C:{A}]", [("It was $18,442.75.", (A,))]),
        (f"It was much [C:{A}]. It grew. It fell [C:{B}].", [("It was much.", (A,)), ("It fell.", (B,))]),
        (f"It was [C:{A}, C:{B}].", [("It was.", (A, B))]),
        (
            f"- It was [{'C: ' + A} | Report]\n- It fell [S:doc | D:12345678 | C:{B} | p:3]",
            [("- It was", (A,)), ("- It fell", (B,))],
        ),
        ("It was [C:id]. It was [C:0123456789ab].", []),
        (f"Not found in sources [C:{A}].", []),
        (
            f'It says "a margin of 50.5 percent, before tax" [C:{B}].',
            [('It says "a margin of 50.5 percent, before tax".', (A,))],
        ),
        (f"“We never called … said Ilse”, it says [C:{A}].", [("“We never called … said Ilse”, it says.", (B,))]),
        ("It says “a margin of 50.5 percent”.", [("It says “a margin of 50.5 percent”.", (A,))]),
        (f'It says "a margin of 51 percent, before tax" [C:{A}].', []),
        (f'They call it "net margin" [C:{A}].', [('They call it "net margin".', (A,))]),
        (f"# Answer [C:{A}]\n\nTools, e.g. Briefloop, help [C:{A}].", [("Tools, e.g. Briefloop, help.", (A,))]),
    ],
)
def test_a_written_sentence_stays_where_a_shown_source_bears_it_out(written: str, kept: list[Any]) -> None:
    shown = {A: REVENUE, B: CHURN}
    found = [
        borne_out(one, shown, lambda text, cited: False, lambda cited: True) for one in sentences_in(tidied(written))
    ]
    assert [(one.text, one.chunk_ids) for one in found if one] == kept


def test_what_is_invented_or_beside_the_question_is_left_out() -> None:
    (sentence,) = sentences_in(tidied(f"It was $18,442.75 [C:{A}][C:{B}]."))
    shown = {A: REVENUE, B: CHURN}
    only_churn = borne_out(sentence, shown, lambda text, cited: False, lambda cited: cited == B)
    assert only_churn is not None and only_churn.chunk_ids == (B,)
    assert borne_out(sentence, shown, lambda text, cited: A in cited, lambda cited: True) is None
    assert borne_out(sentence, shown, lambda text, cited: False, lambda cited: False) is None


def test_a_statement_rests_on_the_sentence_that_is_most_like_it() -> None:
    text = "# Money\n\nRevenue was $18,442.75. Costs were $9,120.30.\n\n    code = 1\n"
    start, end = closest(text, "The costs were $9,120.30 in June.")
    assert text[start:end] == "Costs were $9,120.30."
    assert closest("\n# Only a heading\n", "anything") == (1, 17)


@pytest.mark.parametrize(
    ("question", "intent", "stage"),
    [
        ("What is a koan?", "educational", "awareness"),
        ("Is it better to refresh old articles or to publish new ones?", "comparative", "consideration"),
        ("How do I set up a sitemap?", "procedural", "decision"),
        ("Does buying backlinks work?", "contrarian", "decision"),
        ("Why should we invest in content?", "persuasive", "decision"),
        ("koans in China", "", "unknown"),
    ],
)
def test_cue_words_tell_what_a_question_is_after(question: str, intent: str, stage: str) -> None:
    found = by_rules(question, {"SEO": ("backlink", "sitemap")})
    assert (found.intent, found.funnel_stage) == (intent, stage)
    assert found.domain == ("SEO" if "sitemap" in question or "backlink" in question else "")


def test_a_prompt_has_as_many_whole_blocks_as_fit_and_the_question_last() -> None:
    tokens, blocks = Estimate(), [f"[C:{n:012x} | t]\n{'word ' * 900}" for n in range(30)]
    for window, most in ((16_384, 8), (4_096, 3), (2_048, 1)):
        settings = Llm(context_tokens=window, max_tokens=512)
        composed = compose(
            "answer", blocks, "Why\nnot?", "Cite only these ids.", settings=settings, prompts=None, tokens=tokens
        )
        content = composed.prompt.messages()[0]["content"]
        assert composed.shown == tuple(range(len(composed.shown))) and len(composed.shown) == most
        assert tokens.count(content) <= min(8_000, window - composed.prompt.max_tokens)
        assert content.startswith(blocks[0]) and content.endswith("Question: Why not?\nCite only these ids.")
    assert compose(
        "answer",
        [*blocks[:1] * 2, "short"],
        "Why?",
        "",
        settings=Llm(context_tokens=2_048, max_tokens=512),
        prompts=None,
        tokens=tokens,
    ).shown == (0, 2)
    with pytest.raises(BadInputError):
        compose("other", [], "Why?", "", settings=Llm(), prompts=None, tokens=tokens)
    with pytest.raises(BadInputError, match="too long"):
        compose("answer", [], "why " * 9_000, "", settings=Llm(), prompts=None, tokens=tokens)


def test_a_title_ends_no_header() -> None:
    assert short_header(REVENUE) == f'[C:{A} | A \\"report\\" \\| \\[June\\]]'


def test_of_a_told_intent_only_what_is_known_is_taken() -> None:
    told = read_intent(
        '```{"intent": "poetic", "domain": "SEO\\n", "funnel_stage": "late", "expansions": ["a", 7, " "]}```'
    )
    assert told == {"intent": "", "domain": "SEO", "funnel_stage": "unknown", "expansions": ["a"]}
    with pytest.raises(BadInputError):
        read_intent("educational")
