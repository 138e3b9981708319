"""What of a configuration must not be seen in a log."""

from pathlib import Path

from nanobot.config import load, secrets_of
from nanobot.workspace import Home

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
