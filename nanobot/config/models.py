"""The keys of a language model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from nanobot.config import values as v
from nanobot.config.kinds import Anything, MapOf
from nanobot.config.paths import Weights
from nanobot.config.section import Section, key, needed, optional

Profile = Literal["full", "compact"]


@dataclass(frozen=True)
class Price:
    """What a million tokens cost."""

    input: float = key(v.number(0, 1e6, 1.25), 0.0, "What is read.")
    cached: float | None = optional(
        v.number(0, 1e6, 0.1), "What is read from the endpoint's cache; as input, if left out."
    )
    output: float = key(v.number(0, 1e6, 10), 0.0, "What is written.")


@dataclass(frozen=True)
class ModelPreset:
    """A model: an OpenAI-compatible endpoint (base_url, model), or a file that runs here (gguf)."""

    base_url: str | None = optional(v.endpoint(), "The endpoint; any that speaks the OpenAI protocol.")
    api_key: str | None = optional(v.secret("the key of the endpoint"), "The endpoint's key, where it wants one.")
    model: str | None = optional(v.text("the endpoint's name of the model"), "The model, as the endpoint calls it.")
    gguf: str | None = optional(Weights(), "Instead of base_url: embedded, or the path of a GGUF file.")
    context_window: int | None = optional(
        v.whole(1024, 100_000_000, 128_000),
        "How many tokens the model can read; if left out, 32000, or what fits a local file.",
    )
    max_output: int | None = optional(
        v.whole(16, 10_000_000, 8000), "The most tokens of one answer; if left out, a quarter of the window up to 8000."
    )
    temperature: float | None = optional(v.number(0, 2, 0.3), "How freely it writes; the endpoint's own, if left out.")
    profile: Profile | None = optional(
        v.choice(Profile),
        "full, or compact for small models (short prompt, no tools); if left out, compact for a GGUF file only.",
    )
    vision: bool = key(v.flag(), False, "Whether it can look at pictures.")
    timeout: float | None = optional(
        v.duration("1s", "1h"),
        "How long one request may take; if left out, 2m, or 10m of a server in a private network.",
    )
    idle_timeout: float | None = optional(
        v.duration("1s", "1h"),
        "How long an answer may stand still; if left out, 45s, and 5m before a server in a private network begins.",
    )
    attempts: int = key(v.whole(1, 20, 4), 4, "How often a request is tried when the endpoint cannot answer.")
    extra_headers: Mapping[str, str] = key(MapOf(v.hidden("text")), {}, "HTTP headers that are sent along.")
    extra_body: Mapping[str, object] = key(
        MapOf(Anything()), {}, "Further parameters of the request, as the endpoint knows them."
    )
    price: Price | None = optional(
        Section(Price), "Per million tokens, in any one currency; cost limits need it.", idle=True
    )

    @property
    def compact(self) -> bool:
        """Whether it gets the short prompt without tools."""
        return (self.profile or ("full" if self.gguf is None else "compact")) == "compact"


@dataclass(frozen=True)
class Transcription:
    """An OpenAI-compatible endpoint that turns speech into text."""

    base_url: str = needed(v.endpoint(), "The endpoint.")
    model: str = needed(v.text("the endpoint's name of the model"), "The model, as the endpoint calls it.")
    api_key: str | None = optional(v.secret("the key of the endpoint"), "The endpoint's key, where it wants one.")
