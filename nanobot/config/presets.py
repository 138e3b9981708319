"""Which models there are to choose from, by name."""

from collections.abc import Mapping
from contextlib import suppress

from nanobot.config.kinds import UnsetSecret
from nanobot.config.models import ModelPreset
from nanobot.config.paths import EMBEDDED
from nanobot.config.tree import Config
from nanobot.errors import StoreError
from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, Home


def presets(config: Config, home: Home) -> Mapping[str, ModelPreset]:
    """Every model that can be chosen: the configured presets, the pulled models by their file's name, `embedded`.

    A configured preset hides another of the same name. Any GGUF file that a person puts there counts as pulled.
    """
    files = [path for path in sorted(home.models.glob("*.gguf")) if path.is_file()]
    return {
        **config.models,
        **{path.stem: ModelPreset(gguf=str(path)) for path in files if path.stem not in config.models},
        **({} if EMBEDDED in config.models else {EMBEDDED: ModelPreset(gguf=EMBEDDED)}),
    }


def chosen(config: Config, home: Home) -> str:
    """The name of the preset in use: `model`, else what was chosen with `use_model`, else the first, else `embedded`.

    A choice of what is not there any more does not count.
    """
    if config.model:
        return config.model
    if (name := _used(home)) in presets(config, home):
        return name
    return next(iter(config.models), EMBEDDED)


def why_unasked(preset: ModelPreset) -> str:
    """Which variable with a secret of the preset is not set here; "" if it can be asked."""
    secrets = (preset.api_key, *preset.extra_headers.values())
    return next((secret.sentence for secret in secrets if isinstance(secret, UnsetSecret)), "")


def use_model(home: Home, name: str) -> None:
    """Make this preset the one in use where the configuration names none. It stays as its owner wrote it.

    Raises StoreError if the choice cannot be written down.
    """
    new = home.chosen_model.with_suffix(".new")
    try:
        home.root.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        new.touch(PRIVATE_FILE)
        new.write_text(f"{name}\n", encoding="utf-8")
        new.replace(home.chosen_model)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise StoreError(f"{home.chosen_model} cannot be written: {error.strerror or error}") from error


def _used(home: Home) -> str:
    try:
        if not home.chosen_model.is_file():  # opening a pipe would wait for ever
            return ""
        return home.chosen_model.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
