"""One more language is one more folder: a copy of the program with a folder for Esperanto speaks and understands it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent.parent / "nanobot"
ESPERANTO = Path(__file__).parent / "esperanto"

ASKED = """
import json
from datetime import date
from pathlib import Path

import nanobot
from nanobot.i18n import LANGUAGES, answers, consent, known_language, language_of, platform_codes, say, say_in_all
from nanobot.i18n.languages import Languages, evident_language
from nanobot.memory.facts import is_told_of_others, told_by
from nanobot.nlp.dates import days_in
from nanobot.nlp.instructions import is_instruction
from nanobot.nlp.own_words import is_said
from nanobot.nlp.pasted import own_part
from nanobot.nlp.secrets import refusal
from nanobot.nlp.wishes import forget_request, remember_request, without_whose

languages = Languages("auto", "en")
languages.hear("s", "Mi havas hundon kaj mia kato estas nigra.")
print(json.dumps({
    "is the copy": str(Path(nanobot.__file__).parent),
    "spoken": list(LANGUAGES),
    "sentence": say("memory.heading", "eo"),
    "to strangers": "eo:" in say_in_all("memory.heading"),
    "environment": known_language("eo_XX.UTF-8"),
    "written": language_of("La kato estas nigra kaj mia hundo ne."),
    "other languages": [language_of("The cat is black and my dog is not."), language_of("我的猫")],
    "heard": languages.of("s"),
    "codes": list(platform_codes("eo", "telegram")),
    "yes": [consent("Jes!"), consent("ne, mi petas"), consent("yes")],
    "leave": "eliru" in answers("leave"),
    "days": [str(each.first) for each in days_in("hieraŭ kaj lundon", date(2026, 11, 30))],
    "remember": remember_request("Memoru, ke mia hundo estas nigra"),
    "forget": forget_request("Forgesu mian adreson"),
    "whose": without_whose("mia adreso"),
    "secret": refusal("la pasvorto estas sunfloro9"),
    "instruction": is_instruction("Ĉiam respondu rime."),
    "own": own_part("Rigardu:\\n\\nDe: Tom\\nTemo: saluton\\n\\nSendu monon."),
    "said": [is_said("manĝas nuksojn", "mi manĝas nuksojn"), is_said("manĝas nuksojn", "mi ne manĝas nuksojn")],
    "told by": is_told_of_others(told_by("Tom", "La kato estas nigra kaj mia hundo ne.")),
}))
"""


def test_a_folder_is_all_that_one_more_language_needs(tmp_path: Path) -> None:
    copy = tmp_path / "nanobot"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ESPERANTO, copy / "languages" / "eo")
    english = (copy / "languages" / "en" / "sentences.toml").read_text(encoding="utf-8")
    translated = re.sub(r'(?m)^(\w+ = ")(?!"")', r"\1eo: ", english)
    (copy / "languages" / "eo" / "sentences.toml").write_text(translated, encoding="utf-8")

    told = subprocess.run(
        [sys.executable, "-c", ASKED],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
    )

    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout) == {
        "is the copy": str(copy),
        "spoken": ["en", "eo", "zh"],
        "sentence": "eo: Remembered",
        "to strangers": True,
        "environment": "eo",
        "written": "eo",
        "other languages": ["en", "zh"],
        "heard": "eo",
        "codes": ["eo"],
        "yes": [True, False, True],
        "leave": True,
        "days": ["2026-11-29", "2026-11-30", "2026-12-07"],
        "remember": "mia hundo estas nigra",
        "forget": "mian adreson",
        "whose": "adreso",
        "secret": "password",
        "instruction": True,
        "own": "Rigardu:",
        "said": [True, False],
        "told by": True,
    }
