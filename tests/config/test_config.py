"""The configuration says what was written, or which line to change."""

import dataclasses
import os
from collections.abc import Callable
from datetime import time
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.config import EMBEDDED, Config, ModelPreset, chosen, known, load, presets, read, secrets_of, use_model
from nanobot.config.describing import idle_keys, schema
from nanobot.config.section import Section, keys_of
from nanobot.config.source import Node, Scalar, SourcePlace, read_file, read_text
from nanobot.config.values import Anything, duration, size
from nanobot.errors import ConfigError
from nanobot.workspace import Home

Loads = Callable[..., Config]
ENDPOINT = "models: {main: {base_url: http://127.0.0.1/v1, model: big}}\n"
EXAMPLE = Path(__file__).parents[2] / "examples" / "config.yaml"
EXAMPLE_ENV = {"EXAMPLE_API_KEY": "k", "TELEGRAM_TOKEN": "1:t", "DISCORD_TOKEN": "d.d"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home")


@pytest.fixture
def loads(home: Home) -> Loads:
    def loads(text: str | bytes, **env: str) -> Config:
        home.config.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(home, env=env)

    return loads


@pytest.fixture
def refuses(loads: Loads, home: Home) -> Callable[..., str]:
    """The message about a text that cannot be used; the file must be as it was."""

    def refuses(text: str | bytes, **env: str) -> str:
        with pytest.raises(ConfigError) as refused:
            loads(text, **env)
        assert home.config.read_bytes() == (text if isinstance(text, bytes) else text.encode())
        return str(refused.value)

    return refuses


# What may be left out


def test_without_a_file_every_key_has_its_default_and_nothing_is_written(home: Home) -> None:
    config = load(home, env={})
    assert config.workspace == home.workspace
    assert config.model is None
    assert chosen(config, home) == EMBEDDED
    assert config.telegram is None
    assert config.memory.budget.memory == 32 * 1024
    assert config.heartbeat.hours == (time(8), time(22))
    assert not list(home.root.iterdir())


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n", "---\n", "agent:\n", "telegram:\nmodels:\n", "null"])
def test_a_file_that_says_nothing_is_as_good_as_none(text: str, loads: Loads, home: Home) -> None:
    assert loads(text) == load(Home(home.root / "elsewhere"), workspace=home.workspace, env={})


def test_a_key_without_a_value_counts_as_left_out(loads: Loads) -> None:
    config = loads("agent:\n  max_steps:\ntelegram:\n  token: 1:t\n  owners:\n  proxy: null\n")
    assert config.agent.max_steps == 40
    assert config.telegram is not None
    assert config.telegram.owners == ()


def test_a_file_that_was_asked_for_must_exist(home: Home) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load(home, home.root / "other.yaml", env={})


def test_a_folder_is_no_configuration(home: Home) -> None:
    home.config.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load(home, env={})


def test_a_link_to_nothing_is_not_taken_for_no_configuration(home: Home) -> None:
    home.config.symlink_to("gone.yaml")
    with pytest.raises(ConfigError, match="a link to a file that is not there"):
        load(home, env={})


# The whole tree


def test_the_example_uses_every_top_level_key_that_has_an_effect_and_loads(home: Home) -> None:
    written = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    assert {key.name for key in keys_of(Config) if not key.is_idle} - set(written) == {"workspace"}
    loaded = read(home, EXAMPLE, None, EXAMPLE_ENV)
    assert idle_keys(loaded) == []
    config = loaded.config
    assert config.telegram is not None
    assert config.telegram.groups == {"-1001234567890": "mention"}
    assert config.memory.semantic == "off"
    assert config.models["main"].api_key == "k"
    assert config.models["here"].compact
    assert config.tools.exec.timeout == 60.0


def test_no_default_is_refused_when_it_is_written_down(loads: Loads) -> None:
    def written(cls: type) -> dict[str, object]:
        return {
            each.name: written(each.kind.cls) if isinstance(each.kind, Section) else each.kind.show(each.default)
            for each in keys_of(cls)
            if each.default is not None
        }

    text = yaml.safe_dump(written(Config) | {"workspace": "w"})
    assert dataclasses.replace(loads(text), workspace=Path()) == dataclasses.replace(loads(""), workspace=Path())


def test_secrets_are_not_part_of_what_a_log_would_show(loads: Loads) -> None:
    config = loads(
        "telegram: {token: '1:s3cret', webhook: {url: https://a.example, secret: s3cret}}\n"
        "models: {m: {base_url: http://h/v1, model: x, api_key: s3cret, extra_headers: {A: s3cret}}}"
    )
    assert "s3cret" not in repr(config)


# Values


@pytest.mark.parametrize(
    ("typed", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400), ("1h30m", 5400)]
)
def test_a_duration_is_read_as_seconds(typed: str, seconds: float, loads: Loads) -> None:
    assert loads(f"memory: {{archive_after: {typed}}}").memory.archive_after == seconds


@given(st.integers(1, 365 * 86400))
def test_a_duration_that_is_shown_reads_the_same(seconds: int) -> None:
    kind = duration("1s", "365d")
    assert kind.read(Scalar("", SourcePlace(""), str(kind.show(float(seconds))))) == pytest.approx(seconds)


@given(st.integers(0, 1 << 30))
def test_a_size_that_is_shown_reads_the_same(count: int) -> None:
    kind = size("0B", "1GB")
    assert kind.read(Scalar("", SourcePlace(""), str(kind.show(count)))) == count


def test_only_true_and_false_are_booleans(loads: Loads, refuses: Callable[..., str]) -> None:
    assert loads("memory: {semantic: off}").memory.semantic == "off"
    assert loads("heartbeat: {every: off}").heartbeat.every is None
    assert loads("sessions: {fsync: false}").sessions.fsync is False
    for word in ("off", "no", "0", "'false'"):
        assert "sessions.fsync on line 1 must be true or false" in refuses(f"sessions: {{fsync: {word}}}")
    assert loads("models: {m: {base_url: http://h/v1, model: on, api_key: yes}}").models["m"].api_key == "yes"


def test_numbers_in_places_of_text_stay_as_they_were_typed(loads: Loads) -> None:
    preset = loads("models: {m: {base_url: http://h/v1, model: 007, api_key: 1e5}}").models["m"]
    assert (preset.model, preset.api_key) == ("007", "1e5")


def test_what_others_check_keeps_its_types(loads: Loads) -> None:
    config = loads("plugins: {weather: {days: 3, share: 0.5, units: no, on: true, since: 2026-01-01, none: ~, q: '1'}}")
    assert config.plugins["weather"] == {
        "days": 3, "share": 0.5, "units": "no", "on": True, "since": "2026-01-01", "none": None, "q": "1",
    }  # fmt: skip


_LEAVES = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)


@given(
    st.recursive(
        _LEAVES | _TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3)
    )
)
def test_what_another_program_wrote_as_yaml_is_read_as_it_was_meant(value: object) -> None:
    assert Anything().read(read_text(yaml.safe_dump(value), "", "")) == value


def test_ids_are_alike_however_they_are_typed(loads: Loads) -> None:
    telegram = loads("telegram: {token: 1:t, owners: [42, '77', 42], groups: {-100: open, '7': reply}}").telegram
    assert telegram is not None
    assert telegram.owners == ("42", "77")
    assert telegram.groups == {"-100": "open", "7": "reply"}


@pytest.mark.parametrize("name", ["'@Alice'", "'*'", "alice", "'42|alice'", "0", "4.2", "true", "[42]", "~"])
def test_a_name_among_ids_is_an_error_that_asks_for_ids(name: str, refuses: Callable[..., str]) -> None:
    message = refuses(f"discord:\n  token: t.t\n  owners:\n    - 42\n    - {name}\n")
    assert "discord.owners[1] on line 5 must be an id, which is a number such as 12345678" in message


def test_a_group_is_named_by_its_id(refuses: Callable[..., str]) -> None:
    assert "telegram.groups.family on line 1 must be an id" in refuses(
        "telegram: {token: '1:t', groups: {family: open}}"
    )


@pytest.mark.parametrize("zone", ["Berlin", "Europe/Berln", "europe/berlin"])
def test_a_time_zone_that_is_nearly_right_gets_a_hint(zone: str, refuses: Callable[..., str]) -> None:
    assert "such as Europe/Berlin; it is" in refuses(f"timezone: {zone}")


@pytest.mark.parametrize("zone", ["../etc/passwd", "/etc/localtime", "Europe", "+01:00"])
def test_what_is_no_time_zone_is_refused(zone: str, refuses: Callable[..., str]) -> None:
    assert "timezone on line 1 must be the name of a time zone" in refuses(f"timezone: '{zone}'")


def test_paths_start_at_the_file_and_know_the_home_folder(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "etc" / "bot.yaml"
    file.parent.mkdir()
    file.write_text("workspace: ./ws\ntools: {allowed_dirs: [~/notes]}\nmodels: {m: {gguf: m.gguf}}\n")
    config = load(home, file, env={})
    assert config.workspace == file.parent / "ws"
    assert config.tools.allowed_dirs == (Path.home() / "notes",)
    assert config.models["m"].gguf == str(file.parent / "m.gguf")
    assert load(home, file, Path("/elsewhere"), env={}).workspace == Path("/elsewhere")


def test_the_home_of_nobody_is_no_path(refuses: Callable[..., str]) -> None:
    message = refuses("workspace: ~nobody-of-that-name/bot")
    assert "workspace on line 1 begins with ~, but that home folder is unknown" in message


@pytest.mark.parametrize("blank", ["\\n", " ", "\\r\\n"])
def test_blanks_around_a_key_are_not_part_of_it(blank: str, loads: Loads) -> None:
    config = loads(f'models: {{m: {{base_url: http://h/v1, model: x, api_key: "sk-1{blank}"}}}}')
    assert config.models["m"].api_key == "sk-1"


# Messages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models:\n  main:\n    context_window: big\n",
         "models.main.context_window on line 3 must be a whole number such as 128000; it is 'big'"),
        ("agent: {max_steps: '40'}", "agent.max_steps on line 1 must be a whole number such as 40, without quotes"),
        ("agent: {max_steps: 0}", "agent.max_steps on line 1 must be from 1 to 1000; it is '0'"),
        ("agent: 5", "agent on line 1 must be a group of keys (max_steps,"),
        ("agent: {while_busy: wait}", "agent.while_busy on line 1 must be steer or queue; it is 'wait'"),
        ("model: true", "model on line 1 must be the name of a preset; it is 'true'"),
        ("model: [a]", "model on line 1 must be the name of a preset; it is a list"),
        ("memory:\n  archive_after: 30\n", "memory.archive_after on line 2 must be a duration such as 90s, 30m,"),
        ("memory: {compact_at: .nan}", "memory.compact_at on line 1 must be a number such as 0.75; it is '.nan'"),
        ("memory: {budget: {soul: 16}}", "memory.budget.soul on line 1 must be a size such as 32KB"),
        ("telegram: {token: '1:t', owners: 42}", "telegram.owners on line 1 must be a list, each item an id"),
        ("telegram: {owners: [1]}", "telegram on line 1 needs the key token"),
        ("gateway: {health: 18790}", "gateway.health on line 1 must be host:port, such as 127.0.0.1:18790, or off"),
        ("heartbeat: {hours: 25:00-26:00}", 'heartbeat.hours on line 1 must be hours such as "08:00-22:00"'),
        ("memory: {dream: {cron: hourly}}", "memory.dream.cron on line 1 must be five fields as in a crontab"),
        ("models: {m: {base_url: h:80, model: x}}", "models.m.base_url on line 1 must be the URL of an endpoint"),
        ("models: {m: {base_url: http://h/v1/chat/completions, model: x}}", "it most often ends in /v1"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_line_and_what_to_write(
    text: str, message: str, refuses: Callable[..., str], home: Home
) -> None:
    assert f"{home.config}: " in refuses(text)
    assert message in refuses(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle: main", "modle on line 1 is not a key that nanobot knows; did you mean model?"),
        ("\nagent:\n  max-steps: 3", "agent.max-steps on line 3 is not a key that nanobot knows; did you mean max_"),
        ("telegram: {token: '1:t', allow: [1]}", "telegram.allow on line 1 is not a key that nanobot knows; here it"),
        ("'': 1", "'' on line 1 is not a key that nanobot knows"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_an_error_with_a_suggestion(text: str, message: str, refuses: Callable[..., str]) -> None:
    assert message in refuses(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: a: b\n", "line 1: is not YAML: a value that holds a colon must stand in quotes"),
        ("agent:\n    max_steps: 3\n  max_tokens: 4\n", "line 3: is not YAML: this line is not indented as"),
        ("model: a\nlanguage\n", "line 3: is not YAML: a line has no colon: write `key: value`"),
        ("fallbacks: - a\n", "line 1: is not YAML: a list begins on a line of its own below its key"),
        ("model: 'a' b\n", "or text follows a closed quotation mark"),
        ('model: "a\\d"\n', "in double quotes a backslash is written twice"),
        ("fallbacks: [a, b\n", "is never closed, or a comma is missing"),
        ('model: "main\n', "is never closed"),
        ("model: |x\n  a\n", "behind | or > the text begins on the next line"),
        ("model: *\n", "must stand in quotes"),
        ("model: `a`\n", "a value that begins with ` must stand in quotes"),
        ("%a\nmodel: a\n", "a line that begins with % must be indented or stand in quotes"),
        ("fallbacks:\n  - a\n  b: c\n", "line 3: is not YAML: "),
    ],
)  # fmt: skip
def test_a_mistake_in_yaml_is_told_by_what_to_write(text: str, message: str, refuses: Callable[..., str]) -> None:
    told = refuses(text)
    assert message in told
    for words in (
        "mapping",
        "token",
        "block",
        "scalar",
        "expected",
        "context",
        "flow",
        "while scanning",
        "while parsing",
    ):
        assert words not in told.rpartition("config.yaml")[2].replace("ontext_", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xef\xbb\xbfmodel: main\n", "byte order mark"),
        ("model: main\n".encode("utf-16"), "byte order mark"),
        (b"# ok\nmodel: \xff\n", ", line 2: is not UTF-8"),
        (b"# ok\nmodel: a\x00b\n", ", line 2: holds an invisible control character"),
        ("agent:\n\tmax_steps: 3\n", ", line 2: is indented with a tab; YAML wants spaces"),
        ("agent:\n  max_steps: 3\n\twhile_busy: steer\n", "tab"),
        ("model: a\nagent: {}\nmodel: b\n", ", line 3: the key model stands here for the second time (first on line 1"),
        ("agent: {max_steps: 3\n", ", line 1: is not YAML"),
        ("model: a\nmodels: [a", ", line 2: is not YAML"),
        ("model: 'main\n\n", ", line 1: is not YAML"),
        ("telegram: {\n  token: ${T}\n}\n", ", line 2: is not YAML"),
        ("model: @main\n", "a value that begins with @ must stand in quotes"),
        ("telegram: {owners: [*]}\n", "a value that begins with * must stand in quotes"),
        ("telegram: {token: ${T}}\n", "into quotes inside of braces and brackets"),
        ("- model\n", ", line 1: must begin with a key such as `model: main`; it is a list"),
        ("hello\n", "must begin with a key"),
        ("model: a\n---\nmodel: b\n", ", line 2: a second document begins here"),
        ("model: !!python/name:os.system\n", "mean nothing here"),
        ("? [a]\n: b\n", "a key must be a word"),
        ("model: *x\n", ", line 1: *x refers to nothing that stands before it"),
        ("plugins: &a {b: *a}\n", "*a refers to nothing that stands before it"),
        ("plugins: {a: " + "[" * 60 + "]" * 60 + "}", "nested too deeply"),
        ("[" * 100_000, "is not YAML"),
        ("# " + "x" * (1 << 20), "larger than 1 MB"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_configuration_is_refused(
    text: str | bytes, message: str, refuses: Callable[..., str], home: Home
) -> None:
    assert str(home.config) in refuses(text)
    assert message in refuses(text)


def test_an_empty_secret_is_said_to_be_empty(refuses: Callable[..., str]) -> None:
    assert refuses("telegram: {token: ''}").endswith("; it is empty")
    assert refuses("telegram: {token: 'a b'}").endswith("; it is something else, which is not shown")


def test_aliases_of_aliases_cannot_fill_the_memory(refuses: Callable[..., str]) -> None:
    rows = ["  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert "aliases make more than" in refuses("plugins:\n" + "\n".join(rows))


def test_anchors_share_values_and_groups(loads: Loads) -> None:
    config = loads(
        "models:\n  a: &a {base_url: &url http://h/v1, model: x, vision: true}\n"
        "  b: {<<: *a, model: y}\n  c: {base_url: *url, model: z}\n"
    )
    assert config.models["b"] == ModelPreset(base_url="http://h/v1", model="y", vision=True)
    assert config.models["c"].base_url == "http://h/v1"


def test_a_value_behind_an_alias_is_named_where_the_alias_stands(refuses: Callable[..., str]) -> None:
    assert "language on line 2 must be auto, en or zh" in refuses("model: &x embedded\nlanguage: *x\n")


@pytest.mark.parametrize(
    "text",
    [
        "telegram: {token: [s3cret]}",
        "telegram: {token: s3cret but in two words}",
        "telegram: {token: 1:t, proxy: 'ftp://me:s3cret@h'}",
        'models: {m: {base_url: http://h/v1, model: x, extra_headers: {A: "s3cret\\nX: y"}}}',
    ],
)
def test_a_message_shows_no_secret(text: str, refuses: Callable[..., str]) -> None:
    assert "s3cret" not in refuses(text)


@given(
    data=st.one_of(
        st.text(max_size=40).map(str.encode),
        st.binary(max_size=40),
        st.text("{}[]:-&*!|>'\"#,\n\t ab$?", max_size=30).map(str.encode),
    )
)
@example(data=b"<<: {model: x}")
@example(data=b"agent: {<<: 3}")
@example(data=b"0\n\n0")
def test_whatever_a_file_holds_it_loads_or_says_in_one_line_why_not(data: bytes, loads: Loads) -> None:
    try:
        said = repr(loads(data))
    except ConfigError as error:
        said = str(error)
    assert "\n" not in said


# Variables


def test_a_variable_is_filled_in_as_text_that_means_nothing_more(loads: Loads) -> None:
    config = loads(
        "models:\n  m:\n    base_url: http://${HOST}:${PORT}/v1\n    model: x\n    api_key: ${KEY}\n"
        "    attempts: ${TRIES}\n    extra_headers: {X-Team: 'a $$ $${KEY} $KEY'}\n",
        HOST="h", PORT="80", KEY="${PORT}#:[", TRIES="7",
    )  # fmt: skip
    preset = config.models["m"]
    assert (preset.base_url, preset.api_key, preset.attempts) == ("http://h:80/v1", "${PORT}#:[", 7)
    assert preset.extra_headers == {"X-Team": "a $$ ${KEY} $KEY"}


def test_an_empty_variable_counts_as_a_value_left_out(loads: Loads) -> None:
    assert loads('models: {m: {base_url: http://h/v1, model: x, api_key: "${K}"}}', K="").models["m"].api_key is None


def test_a_variable_that_is_not_set_is_named(refuses: Callable[..., str]) -> None:
    message = refuses("model:\n  ${MODEL}\n")
    assert "model on line 1 uses ${MODEL}, but the environment has no MODEL" in message
    assert "between the braces stands the name of a variable" in refuses("model: ${A:-b}", A="x")


def test_a_secret_whose_variable_is_not_set_matters_to_whoever_needs_it_only(loads: Loads) -> None:
    config = loads(
        ENDPOINT.replace("model: big", "model: big, api_key: '${KEY}', extra_headers: {A: '${KEY}'}")
        + "telegram:\n  token: ${TELEGRAM_TOKEN}\n  owners: [7]\n"
    )
    assert config.telegram is not None
    assert config.telegram.owners == ("7",)
    with pytest.raises(
        ConfigError, match=r"telegram\.token on line \d+ uses .*the environment has no TELEGRAM_TOKEN: set"
    ):
        known(config.telegram.token)
    for secret in (config.models["main"].api_key, config.models["main"].extra_headers["A"]):
        with pytest.raises(ConfigError, match="the environment has no KEY"):
            known(secret)
    assert secrets_of(config) == frozenset()
    assert known(None) == ""
    assert known("there") == "there"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("telegram: {token: hello}", "telegram.token on line 1 must be the bot's token, as @BotFather writes it"),
        (
            "telegram: {token: '1:a', webhook: {url: https://a.example, secret: 'pass/word'}}",
            "telegram.webhook.secret on line 1 must be a secret text, as Telegram takes it: 1 to 256 of A-Z",
        ),
        ("telegram:\n  token:\n", "needs the key token: The token that @BotFather gave"),
        ("discord: {token: 123456789012345678}", "must be the bot's token, as the developer portal shows it under Bot"),
    ],
)
def test_what_cannot_be_a_bots_token_is_refused_at_once(refuses: Callable[..., str], text: str, says: str) -> None:
    assert says in refuses(text)


def test_a_comment_is_no_place_for_variables(loads: Loads) -> None:
    assert loads("# ${NOT_SET}\nlanguage: zh\n").language == "zh"


def test_a_message_shows_the_variable_and_not_what_it_holds(refuses: Callable[..., str]) -> None:
    message = refuses("agent: {max_steps: '${KEY}'}", KEY="s3cret")
    assert "${KEY}" in message
    assert "s3cret" not in message


# Overrides


def test_the_environment_overrides_the_file(loads: Loads) -> None:
    config = loads(
        ENDPOINT + "log: {level: info}\ntelegram: {token: '${NOT_SET}'}\n",
        NANOBOT_LOG__LEVEL="debug",
        NANOBOT_MODELS__MAIN__CONTEXT_WINDOW="64000",
        NANOBOT_TELEGRAM__TOKEN="1:looks-well",
        NANOBOT_TELEGRAM__OWNERS="[42, '77']",
        NANOBOT_LIMITS__TOTAL="{cost_per_day: 2}",
        NANOBOT_SESSIONS__FSYNC="false",
        NANOBOT_HOME="/not/a/key",
        OTHER="x",
    )
    assert config.log.level == "debug"
    assert config.models["main"].context_window == 64000
    assert config.telegram is not None
    assert config.telegram.token == "1:looks-well"
    assert config.telegram.owners == ("42", "77")
    assert config.limits.total.cost_per_day == 2.0
    assert config.sessions.fsync is False


def test_the_more_exact_variable_wins(loads: Loads) -> None:
    config = loads("", NANOBOT_AGENT="{max_steps: 3, while_busy: queue}", NANOBOT_AGENT__MAX_STEPS="5")
    assert (config.agent.max_steps, config.agent.while_busy) == (5, "queue")


def test_capitals_and_signs_in_a_presets_name_do_not_count(loads: Loads, refuses: Callable[..., str]) -> None:
    text = "models: {My-Model.2: {base_url: http://h/v1, model: x}}\n"
    assert loads(text, NANOBOT_MODELS__MY_MODEL_2__API_KEY="k").models["My-Model.2"].api_key == "k"
    both = "models: {a-b: {gguf: embedded}, a_b: {gguf: embedded}}\n"
    assert "could mean a-b or a_b" in refuses(both, NANOBOT_MODELS__A_B__VISION="true")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("NANOBOT_MODLE", "x", "NANOBOT_MODLE: sets no key that nanobot knows; did you mean model?"),
        ("NANOBOT_AGENT__STEPS", "3", "NANOBOT_AGENT__STEPS: sets no key in agent that nanobot knows"),
        ("NANOBOT_AGENT__MAX_STEPS", "x", "agent.max_steps, set by NANOBOT_AGENT__MAX_STEPS, must be a whole number"),
        ("NANOBOT_AGENT__MAX_STEPS__X", "3", "agent.max_steps is a single value; set NANOBOT_AGENT__MAX_STEPS"),
        ("NANOBOT_FALLBACKS", "[a", "NANOBOT_FALLBACKS must be a list"),
        ("NANOBOT_MODELS____VISION", "true", "NANOBOT_MODELS____VISION: sets no key in models"),
        ("NANOBOT_", "x", "NANOBOT_: sets no key"),
    ],
)  # fmt: skip
def test_a_variable_that_cannot_be_used_is_named(
    name: str, value: str, message: str, refuses: Callable[..., str]
) -> None:
    assert message in refuses("", **{name: value})


def test_a_variable_does_not_hide_what_is_wrong_in_the_file(refuses: Callable[..., str]) -> None:
    assert "agent on line 1 must be a group of keys" in refuses("agent: 5", NANOBOT_AGENT__MAX_STEPS="3")


# Keys that must fit each other


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENDPOINT + "model: mian", "model on line 2 names 'mian', but models has no such preset; did you mean main?"),
        (ENDPOINT + "fallbacks: [main, other]", "fallbacks on line 2 names 'other'"),
        (ENDPOINT + "memory: {dream: {model: other}}", "memory.dream.model on line 2 names 'other'"),
        ("models:\n  m: {model: x}", "models.m on line 2 needs base_url"),
        ("models:\n  m: {base_url: http://h/v1}", "models.m on line 2 needs model"),
        ("models:\n  m: {gguf: embedded, api_key: k}", "models.m.api_key on line 2 belongs to an endpoint"),
        ("models:\n  m: {gguf: x.gguf, base_url: http://h}", "models.m.base_url on line 2 belongs to an endpoint"),
        ("models: {m: {gguf: embedded, context_window: 2048, max_output: 4000}}", "must leave room in the context"),
        ("memory: {dream: {every: 2h, cron: '@daily'}}", "memory.dream.cron on line 1 stands beside memory.dream"),
        ("tools: {mcp: {a: {}}}", "tools.mcp.a on line 1 needs either command"),
        ("tools: {mcp: {a: {command: [x], url: http://h}}}", "tools.mcp.a on line 1 needs either command"),
    ],
)  # fmt: skip
def test_keys_that_contradict_each_other_are_named(text: str, message: str, refuses: Callable[..., str]) -> None:
    assert message in refuses(text)


def test_one_can_choose_among_presets_pulled_models_and_the_embedded_one(home: Home) -> None:
    home.models.mkdir()
    (home.models / "smart-7b.gguf").touch()
    home.config.write_text(ENDPOINT + "model: smart-7b\nfallbacks: [main, embedded]\n")
    config = load(home, env={})
    assert list(presets(config, home)) == ["main", "smart-7b", EMBEDDED]
    assert presets(config, home)["smart-7b"].gguf == str(home.models / "smart-7b.gguf")
    assert chosen(config, home) == "smart-7b"


def test_only_whole_files_are_models(home: Home) -> None:
    (home.models / "folder.gguf").mkdir(parents=True)
    (home.models / "half.gguf.part").touch()
    assert list(presets(load(home, env={}), home)) == [EMBEDDED]


def test_without_a_choice_the_first_preset_is_used(loads: Loads, home: Home) -> None:
    assert chosen(loads(ENDPOINT + "agent: {}"), home) == "main"


def test_the_model_that_was_chosen_at_the_shell_counts_unless_the_configuration_names_one(
    loads: Loads, home: Home
) -> None:
    use_model(home, "gone")
    assert chosen(loads(ENDPOINT), home) == "main"
    use_model(home, EMBEDDED)
    assert chosen(loads(ENDPOINT), home) == EMBEDDED
    assert chosen(loads(ENDPOINT + "model: main"), home) == "main"
    assert home.chosen_model.stat().st_mode & 0o777 == 0o600
    home.chosen_model.write_bytes(b"\xff\xfe")
    assert chosen(loads(ENDPOINT), home) == "main"


# The schema


def test_an_editor_accepts_what_nanobot_accepts(home: Home) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    validator.validate(_typed(EXAMPLE))
    assert list(validator.iter_errors({"modle": "x"}))
    assert list(validator.iter_errors({"agent": {"max_steps": "many"}}))
    assert not list(validator.iter_errors({"agent": {"max_steps": "${STEPS}"}, "models": None}))


def _typed(path: Path) -> object:
    """The file as an editor sees it: with the booleans of YAML 1.2, and text for keys."""
    return Anything().read(read_text(path.read_text(encoding="utf-8"), "", ""))


def test_every_key_has_a_meaning() -> None:
    def meanings(node: Node | object) -> list[str]:
        assert isinstance(node, dict)
        own = [node["description"]] if "description" in node else []
        return own + [text for value in node.values() if isinstance(value, dict) for text in meanings(value)]

    assert all(len(text) > 8 and text.endswith((".", "…")) for text in meanings(schema()["properties"]))


def test_nothing_is_taken_from_the_real_environment_unless_asked(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOBOT_LANGUAGE", "zh")
    assert load(home).language == "zh"
    assert load(home, env={}).language == "auto"
    assert "NANOBOT_LANGUAGE" in os.environ


def test_a_pipe_or_device_instead_of_the_configuration_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="is not a plain file"):
        read_file(path)
    with pytest.raises(ConfigError, match="is not a plain file"):
        read_file(Path(os.devnull))
