"""What of a configuration must not be seen in a log, nor in what a tool prints."""

import json
from pathlib import Path

from nanobot.config import load, secrets_here, secrets_of
from nanobot.workspace import Home
from tests.fakes.gateway import configure, nanobot
from tests.fakes.openai_answers import call, say
from tests.fakes.openai_server import FakeOpenAI

TEXT = """
models:
  main: {base_url: "https://ada:pass-word@example.com/v1", api_key: key-of-the-model, model: big,
         extra_headers: {X-Team: header-value}}
  spare: {base_url: "http://127.0.0.1/v1?api_key=key-in-the-address", model: small}
telegram: {token: "123456:AAtoken", webhook: {url: "https://example.com/hook", secret: hook-secret}}
discord: {token: MTk4.discord}
transcription: {base_url: "http://127.0.0.1/v1", model: ears, api_key: key-of-the-ears}
plugins: {weather: {token: token-of-a-plugin, city: Amsterdam, accounts: [{password: nested-password}]}}
"""


def test_every_secret_is_found_wherever_it_stands_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(TEXT, encoding="utf-8")

    assert secrets_of(load(Home(tmp_path), env={})) == {
        "pass-word",
        "key-of-the-model",
        "header-value",
        "key-in-the-address",
        "123456:AAtoken",
        "hook-secret",
        "MTk4.discord",
        "key-of-the-ears",
        "token-of-a-plugin",
        "nested-password",
    }


def test_what_is_too_short_to_guard_anything_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("models: {m: {base_url: 'http://127.0.0.1/v1', api_key: k, model: x}}\n")

    assert secrets_of(load(Home(tmp_path), env={})) == frozenset()


def test_variables_whose_names_say_so_hold_secrets_and_ordinary_words_do_not(tmp_path: Path) -> None:
    env = {
        "WEATHER_API_KEY": "8f2c91d07aa43e",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI+K7MDENG",
        "KEYBOARD_LAYOUT": "us",
        "XDG_SESSION_KEY": "a-desktop-session",
        "SSH_KEY_FILE": "/home/ada/.ssh/id_ed25519",
        "PASSWORD_HINT": "the usual one 1234",
        "HOME": "/home/ada-long-enough",
    }
    config = load(Home(tmp_path), env={})

    assert secrets_here(config, env) == {"8f2c91d07aa43e", "wJalrXUtnFEMI+K7MDENG"}


async def test_what_tools_print_reaches_neither_the_model_nor_the_session(private_home: Path) -> None:
    async with FakeOpenAI() as server:
        configure(private_home, server.base_url)
        notes = private_home / "workspace" / "keys.txt"
        notes.parent.mkdir(parents=True)
        notes.write_text("the key is key-of-the-model, keep it\n", encoding="utf-8")
        server.will(call(("read_file", {"path": "keys.txt"})), say("read"))
        assert (await nanobot(private_home, "chat", "-m", "read keys.txt")).code == 0
        (result,) = [one for one in server.requests[1].body["messages"] if one["role"] == "tool"]

    assert "the key is ********, keep it" in result["content"]
    assert "key-of-the-model" not in json.dumps([received.body for received in server.requests])
    (session,) = (private_home / "workspace" / "sessions").rglob("*.jsonl")
    assert "key-of-the-model" not in session.read_text(encoding="utf-8")
