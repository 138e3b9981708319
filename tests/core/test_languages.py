"""What teaches the bot which language somebody reads."""

import pytest

from nanobot.i18n import Language
from nanobot.i18n.languages import Languages

NO_SENTENCES = [
    "!ls; seq 1 60",
    "/status",
    "$ git commit -m fix",
    "ls -la | wc -l",
    "report_final.docx",
    "notes.txt src/main.py",
    "README",
    "gpt-4o",
    "https://example.com/what-is-this",
    "```python\nfor each in them:\n    print('what is this for you')\n```",
    "`git push --force`",
    "def is_it(a, b):\n    return a in b",
    "import os\nfrom sys import argv",
    "if you == me: it = the",
    "SELECT name FROM people WHERE age > 3;",
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: it is not a number',
    '{"what": "this is", "to": "you"}',
    "docker compose up",
    "42",
    "",
]
ENGLISH = [
    "What is the weather like?",
    "Please answer in English from now on.",
    "Thank you!",
    "tell me a joke",
    "What does main.py do?",
    "Can you explain `git rebase` to me",
]
CHINESE = [
    "你好",
    "帮我看看 README.md",
    "请解释 docker compose up --build 是什么意思",
    "运行：\n```\nls -la the files of you\n```",
]


@pytest.mark.parametrize("text", NO_SENTENCES)
@pytest.mark.parametrize("before", ["你好，请问你是谁？", "Hello, who are you?"])
def test_what_is_no_sentence_leaves_the_language_as_it_is(text: str, before: str) -> None:
    languages = Languages("auto", "en")
    languages.hear("cli:default", before)
    spoken = languages.of("cli:default")
    languages.hear("cli:default", text)
    assert languages.of("cli:default") == spoken == ("zh" if before.startswith("你") else "en")


@pytest.mark.parametrize(("text", "language"), [(t, "en") for t in ENGLISH] + [(t, "zh") for t in CHINESE])
def test_a_sentence_of_somebody_is_answered_in_its_language(text: str, language: Language) -> None:
    languages = Languages("auto", "en" if language == "zh" else "zh")
    languages.hear("cli:default", text)
    assert languages.of("cli:default") == language


def test_a_terminal_is_answered_in_its_language_until_its_person_has_written_a_sentence() -> None:
    languages = Languages("auto", "en")
    languages.presume("cli:default", "zh")
    assert (languages.of("cli:default"), languages.of("cli:other")) == ("zh", "en")
    languages.hear("cli:default", "What is the weather like?")
    languages.presume("cli:default", "zh")
    assert languages.of("cli:default") == "en"
    chosen = Languages("en", "en")
    chosen.presume("cli:default", "zh")
    assert chosen.of("cli:default") == "en"
