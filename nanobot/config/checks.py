"""What no key can know for itself: whether the keys fit each other."""

from typing import Any

from nanobot.config.models import ModelPreset
from nanobot.config.nodes import Node, Table, is_null
from nanobot.config.presets import presets
from nanobot.config.section import hint
from nanobot.config.tree import Config
from nanobot.workspace import Home

_OF_AN_ENDPOINT = ("base_url", "model", "api_key", "extra_headers", "extra_body")


def check(config: Config, root: Table, home: Home) -> None:
    """Raise ConfigError for keys that contradict each other. `root` is what the configuration was read from."""
    for name, preset in config.models.items():
        _check_preset(preset, _table(root, "models", name))
    names = list(presets(config, home))
    _check_name(config.model, root.entries.get("model"), names)
    if fallbacks := root.entries.get("fallbacks"):
        for name in config.fallbacks:
            _check_name(name, fallbacks, names)
    dream = _table(root, "memory", "dream")
    _check_name(config.memory.dream.model, dream.entries.get("model"), names)
    if not is_null(dream.entries.get("every")) and not is_null(dream.entries.get("cron")):
        dream.entries["cron"].fail("stands beside memory.dream.every: keep one of them")
    for name, server in config.tools.mcp.items():
        if (server.command is None) == (server.url is None):
            _table(root, "tools", "mcp", name).fail("needs either command, which starts it, or url, where it answers")


def _check_preset(preset: ModelPreset, table: Table) -> None:
    if preset.gguf is None:
        if preset.base_url is None:
            table.fail("needs base_url, the URL of an endpoint (or gguf, a model that runs here)")
        if preset.model is None:
            table.fail("needs model: how the endpoint calls the model")
    else:
        for name in _OF_AN_ENDPOINT:
            if not is_null(table.entries.get(name)):
                table.entries[name].fail("belongs to an endpoint, but gguf says that the model runs here: keep one")
    if preset.max_output and preset.context_window and preset.max_output >= preset.context_window:
        table.entries["max_output"].fail(f"must leave room in the context window of {preset.context_window} tokens")


def _check_name(name: str | None, node: Node | None, names: list[str]) -> None:
    if name is not None and node is not None and name not in names:
        node.fail(f"names '{name}', but models has no such preset{hint(name, names)}")


def _table(root: Table, *path: str) -> Table:
    node: Any = root
    for name in path:
        node = node.entries.get(name) if isinstance(node, Table) else None
    return node if isinstance(node, Table) else Table(".".join(path), root.place, {})
