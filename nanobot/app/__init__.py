"""The composition root: the one place that names every concrete class."""

from nanobot.app.terminal import App, build

__all__ = ["App", "build"]
