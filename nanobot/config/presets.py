"""Which models there are to choose from, by name."""

from collections.abc import Mapping

from nanobot.config.models import ModelPreset
from nanobot.config.paths import EMBEDDED
from nanobot.config.tree import Config
from nanobot.workspace import Home


def presets(config: Config, home: Home) -> Mapping[str, ModelPreset]:
    """Every model that can be chosen: the configured presets, the pulled models by their file's name, `embedded`.

    A configured preset hides another of the same name.
    """
    pulled = {path.stem: ModelPreset(gguf=str(path)) for path in sorted(home.models.glob("*.gguf"))}
    return {
        **config.models,
        **{name: preset for name, preset in pulled.items() if name not in config.models},
        **({} if EMBEDDED in config.models else {EMBEDDED: ModelPreset(gguf=EMBEDDED)}),
    }


def chosen(config: Config) -> str:
    """The name of the preset in use: `model`, else the first of `models`, else `embedded`."""
    return config.model or next(iter(config.models), EMBEDDED)
