"""`nanobot config` shows what is in effect and nothing that is secret."""

import json
from pathlib import Path

import pytest
import yaml

from nanobot.cli import main
from nanobot.config import load
from nanobot.workspace import Home

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"

SECRETS = """
models:
  main:
    base_url: https://me:s3cret@api.example.com/v1?api_key=s3cret&region=eu
    model: big
    api_key: ${KEY}
    extra_headers: {Authorization: Bearer s3cret}
    extra_body: {region: eu, api_token: s3cret, deep: [{password: s3cret}]}
telegram:
  token: 1:s3cret
  proxy: socks5://me:s3cret@127.0.0.1:1080
  webhook: {url: https://bot.example.com/hook, secret: s3cret}
transcription: {base_url: http://127.0.0.1/v1, model: ear, api_key: s3cret}
tools:
  mcp: {a: {command: [run, --token=s3cret, --port=80], env: {A: s3cret}}, b: {url: http://h, headers: {X: s3cret}}}
plugins:
  weather: {city: Berlin, apiKey: s3cret}
"""


@pytest.fixture
def config(private_home: Path) -> Path:
    private_home.mkdir()
    return private_home / "config.yaml"


def test_show_masks_every_secret_and_nothing_else(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(SECRETS)
    monkeypatch.setenv("KEY", "s3cret")
    assert main(["config", "show"]) == 0
    said = capsys.readouterr().out
    assert "s3cret" not in said
    for shown in ("https://me:***@api.example.com/v1?api_key=***&region=eu", "region: eu", "city: Berlin", "--port=80"):
        assert shown in said
    assert config.read_text() == SECRETS


def test_show_prints_yaml_that_means_the_same(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(
        "memory: {archive_after: 90m, dream: {every: off}}\ntelegram: {token: '1:t', groups: {-5: open}}\n"
    )
    monkeypatch.setenv("NANOBOT_LOG__LEVEL", "debug")
    assert main(["config", "show", "--workspace", "/w"]) == 0
    said = capsys.readouterr().out
    assert "archive_after: 90m  # line 1" in said
    assert "level: debug  # NANOBOT_LOG__LEVEL" in said
    assert "workspace: /w  # --workspace" in said
    assert "max_steps: 40\n" in said
    again = config.with_name("again.yaml")
    again.write_text(said.replace("********", "1:t"))
    assert load(Home(config.parent), again) == load(Home(config.parent), config, Path("/w"))


def test_check_says_whether_it_can_be_used(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check"]) == 0
    assert f"There is no {config}; every key has its default." in capsys.readouterr().out
    config.write_text("language: zh\n")
    assert main(["config", "check"]) == 0
    assert f"{config} 可以使用。" in capsys.readouterr().out
    config.write_text("language: de\n")
    assert main(["config", "check"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"nanobot: {config}: language on line 1 must be auto, en or zh; it is 'de'\n"


@pytest.mark.parametrize("secret", ["api_key: '${NO_SUCH_KEY}'", "extra_headers: {X-Key: 'a${NO_SUCH_KEY}'}"])
def test_a_model_that_cannot_be_asked_here_is_nothing_that_can_be_used(
    config: Path, capsys: pytest.CaptureFixture[str], secret: str
) -> None:
    main_ = f"main: {{base_url: 'http://127.0.0.1:9/v1', model: m, {secret}}}"
    spare = "spare: {base_url: 'http://127.0.0.1:9/v1', model: m}"
    config.write_text(f"models:\n  {main_}\nlanguage: en\n")
    assert main(["config", "check"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"nanobot: {config}: models.main.")
    assert "on line 2 uses ${NO_SUCH_KEY}, but the environment has no NO_SUCH_KEY" in said.err

    config.write_text(f"models:\n  {main_}\n  {spare}\nfallbacks: [spare]\nlanguage: en\n")
    assert main(["config", "check"]) == 0
    said = capsys.readouterr()
    assert "can be used" in said.out
    assert "models.main." in said.out
    config.write_text(f"models:\n  {main_}\n  {spare}\nmodel: spare\nlanguage: en\n")
    assert main(["config", "check"]) == 0


def test_keys_that_are_set_and_have_no_effect_yet_are_named_wherever_one_might_rely_on_them(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    config.write_text(
        "models: {mine: {base_url: 'http://127.0.0.1:9/v1', model: m, attempts: 1, price: {input: 1}}}\n"
        "limits: {total: {cost_per_day: 2}}\ntools: {web: {search: off}, exec: {owner: ask}}\n"
        "heartbeat:\nlanguage: en\n"
    )
    assert main(["config", "check"]) == 0
    said = capsys.readouterr().out
    assert "models.mine.price, tools.web, limits: these keys have no effect yet." in said
    assert "nothing stops the models" in said
    main(["doctor"])
    assert "limits: these keys have no effect yet." in capsys.readouterr().out
    main(["chat", "-m", "hello"])
    assert "limits: these keys have no effect yet." in capsys.readouterr().err

    config.write_text("jobs: {per_chat: 5}\nlanguage: zh\n")
    main(["config", "check"])
    said = capsys.readouterr().out
    assert "jobs：这个配置项现在还不起作用" in said
    assert "limits" not in said


def test_path_is_told_also_when_the_file_is_broken(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text("]")
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{config}\n"


def test_schema_is_json_with_a_meaning_for_each_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert "while_busy" in schema["properties"]["agent"]["anyOf"][0]["properties"]
    assert schema["properties"]["language"]["description"]


def test_the_documentation_has_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "keys"]) == 0
    table = capsys.readouterr().out
    assert "| `memory.dream.every` | a duration" in table
    assert DOCS.read_text(encoding="utf-8").endswith(f"\n\n{table}"), "put the output of `nanobot config keys` there"


def test_the_configuration_in_the_documentation_loads(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = DOCS.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    assert list(yaml.safe_load(sample)) == ["models"]
    config.write_text(sample)
    monkeypatch.setenv("EXAMPLE_API_KEY", "k")
    assert main(["config", "check"]) == 0
    assert "can be used" in capsys.readouterr().out
