"""The models in the home: which were pulled, and which one is to be used."""

from collections.abc import Mapping
from pathlib import Path

from nanobot.workspace import PRIVATE_FILE, PRIVATE_FOLDER, Home


def pulled_models(home: Home) -> Mapping[str, Path]:
    """GGUF files by the names of their presets. Any file that a person puts there counts."""
    return {path.stem: path for path in sorted(home.models.glob("*.gguf")) if path.is_file()}


def default_model(home: Home) -> str | None:
    """The preset that `nanobot model use` chose; it counts where the configuration does not name a model."""
    try:
        return home.chosen_model.read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def use_model(home: Home, name: str) -> None:
    """Make this preset the default. The configuration stays as its owner wrote it."""
    home.root.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    new = home.chosen_model.with_suffix(".new")
    new.touch(PRIVATE_FILE)
    new.write_text(f"{name}\n", encoding="utf-8")
    new.replace(home.chosen_model)
