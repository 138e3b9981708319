"""Whatever a model answers, a summary is text about what was said, or there is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.memory.episodes.summary import LONGEST, FactRead, Summary, read_summary

ABOUT = "#1 10:15 [owner] Ada (1): I drink tea, the standup is at 9:30\n#2 [owner] assistant: noted\n#3 我住在上海"
TEA = "- likes tea"


def test_the_lines_that_were_asked_for_are_read() -> None:
    answer = f"""
Summary:
{TEA}
* moved the standup to 9:30

FACT [1, 2] (work, 0.9) standup at 9:30
- FACT #[#1]: Ada likes **tea**
**FACT** [3]（居住）用户住在上海
"""
    assert read_summary(answer, ABOUT) == Summary(
        "- likes tea\n- moved the standup to 9:30",
        [
            FactRead("standup at 9:30", (1, 2), "work", 0.9),
            FactRead("Ada likes **tea", (1,)),
            FactRead("用户住在上海", (3,), "居住"),
        ],
    )


@pytest.mark.parametrize(
    "answer",
    [
        {"summary": "talked about tea", "facts": []},
        {
            "history_entry": {"timestamp": "2026-03-02", "summary": "talked about tea"},
            "memory_update": {"facts": ["x"]},
        },
        {"tool": "save_memory", "arguments": {"history_entry": "talked about tea"}},
        {"name": "save", "arguments": json.dumps({"history_entry": "talked about tea"})},
        [{"type": "text", "text": "talked about tea"}],
        {"summary": ["talked about tea"]},
    ],
)
@pytest.mark.parametrize("form", ["ANSWER", "```json\nANSWER\n```", "<think>hm {}</think>ANSWER"])
def test_json_of_any_shape_gives_its_text_and_nothing_of_its_form(answer: object, form: str) -> None:
    summary = read_summary(form.replace("ANSWER", json.dumps(answer)), ABOUT)

    assert summary is not None
    assert summary.text == "talked about tea"


def test_facts_in_json_are_read_and_broken_ones_left_out() -> None:
    rows = [
        {"text": "likes tea", "messages": [1, "#2"], "category": "taste", "confidence": 7},
        {"text": "", "messages": [1]},
        {"text": ["tea"], "messages": [1]},
        {"messages": [1]},
        "likes tea",
        {"text": "tea " * 500, "messages": [1]},
        {"text": "tea at 5", "from": "1", "category": 3, "confidence": "high"},
    ]
    summary = read_summary(json.dumps({"summary": TEA, "facts": rows}), ABOUT)

    assert summary is not None
    assert summary.facts == [FactRead("likes tea", (1, 2), "taste", 1.0), FactRead("tea at 5", (1,))]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "  \n\t",
        "<think>let me see</think>",
        "<think>tea, tea, tea",
        "```\n```",
        "…!?",
        "I'm sorry, I can't help with that.",
        "I cannot summarise a talk about tea.",
        "As an AI, I do not drink tea.",
        "抱歉，我无法总结这段关于茶的对话。",
        'HTTP 200 {"choices":[]}',
        "Error: tea upstream exploded",
        '{"error": {"message": "tea"}}',
        '{"choices": []}',
        "[]",
        "{}",
        "The quick brown fox jumps over lazy dogs.",
        "Summary:",
    ],
)
def test_what_is_no_summary_is_none(answer: str) -> None:
    assert read_summary(answer, ABOUT) is None


def test_a_summary_in_another_language_is_believed() -> None:
    assert read_summary("- lives in Shanghai", "#1 10:15 [owner] Ada (1): 我住在上海浦东新区") is not None
    assert read_summary("- 住在上海", "#1 10:15 [owner] Ada (1): I live in Shanghai") is not None


def test_records_that_a_model_writes_into_its_text_stay_out() -> None:
    summary = read_summary('talked about tea\n{"cursor": 99, "content": "forged"}\nbye', ABOUT)

    assert summary == Summary("talked about tea\nbye", [])


def test_facts_without_a_summary_are_the_summary() -> None:
    summary = read_summary("FACT [1] likes tea", ABOUT)

    assert summary is not None
    assert summary.text == TEA


def test_a_long_answer_is_cut_at_a_line() -> None:
    summary = read_summary("\n".join(f"- tea number {n} of many" for n in range(1000)), ABOUT)

    assert summary is not None
    assert len(summary.text) <= LONGEST * 1.1
    assert summary.text.endswith("of many")


@given(st.text(max_size=300))
def test_no_answer_breaks_it(answer: str) -> None:
    summary = read_summary(answer, ABOUT)

    assert summary is None or summary.text.strip()


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["summary", "facts", "text", "messages", "confidence", "x"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_breaks_it(document: object) -> None:
    summary = read_summary(json.dumps(document), ABOUT)

    assert summary is None or summary.text.strip()


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (
            "저는 홍차가 좋아요. 서울에서 살아요. 그리고 고양이가 두 마리 있어요.",
            "- 사용자는 홍차를 좋아한다.\n- 서울에 산다.",
        ),
        ("Minä pidän teestä enkä juo kahvia, koska se valvottaa.", "- Käyttäjä kertoi teen olevan mieluisaa.\n- Uni."),
        ("Çay içmeyi çok severim, İstanbul'da oturuyorum.", "- Kullanıcı çayı seviyor.\n- İstanbullu."),
        ("Ninapenda sana chai ya tangawizi asubuhi kabla ya kazi", "- Mtumiaji anapenda vinywaji.\n- Ana ratiba."),
        ("أحب الشاي كثيرا وأسكن في القاهرة مع أختي", "- يفضل شايا.\n- يعيش بالقاهرة."),
        ("Я живу в Москве и люблю чай с лимоном каждое утро", "- Пользователь москвич.\n- Любитель чая."),
        ("ผมชอบดื่มชาและอาศัยอยู่ที่เชียงใหม่กับครอบครัว", "- ผู้ใช้ชอบดื่มชา"),
        ("ok thx", "- Only small talk.\n- No decisions."),
        ("ok thx", "Only small talk."),
        ("hey how is it going today, all good? great, see you tomorrow then", "- Only small talk."),
        ("my build fails with error 404 again and again on the server", "- Error 404 of the build was talked about."),
        ("I have to say that I cannot eat nuts, they make me ill", "- I can't eat nuts.\n- They make the user ill."),
    ],
)
def test_a_summary_in_the_form_that_was_asked_for_is_taken_in_any_language(said: str, answer: str) -> None:
    about = f"10:15 [owner] Ada (1): {said}\n10:16 [owner] assistant: OK"

    summary = read_summary(answer, about)

    assert summary is not None
    assert summary.text == answer


@pytest.mark.parametrize(
    "answer",
    [
        "- The rocket was launched.\n- Nobody cheered.",
        "- I cannot do that.",
        "- Error: upstream exploded",
        "- 로켓이 발사되었다.\n- 아무도 없었다.",
        "Le renard brun saute par-dessus le chien paresseux.",
    ],
)
def test_talk_about_something_else_is_no_summary_in_any_form(answer: str) -> None:
    korean = "10:15 [owner] Ada (1): 저는 홍차가 좋아요. 서울에서 살아요. 그리고 고양이가 두 마리 있어요."

    assert read_summary(answer, korean if answer.startswith("- 로") else ABOUT) is None
