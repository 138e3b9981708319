"""Which model answers in which session."""

from collections.abc import Callable, Mapping, Sequence

from nanobot.ports import LLM, SessionModels
from nanobot.tokens import TokenEstimator

Make = Callable[[], LLM]


class Models:
    """The configured presets; each is made when it is first used."""

    def __init__(self, presets: Mapping[str, Make], default: str, chosen: SessionModels) -> None:
        self._presets = presets
        self._default = default
        self._chosen = chosen
        self._made: dict[str, tuple[LLM, TokenEstimator]] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._presets)

    def name_for(self, session_key: str) -> str:
        """The preset in use; a chosen one that was taken out of the configuration does not count."""
        chosen = self._chosen.get(session_key)
        return chosen if chosen is not None and chosen in self._presets else self._default

    def get(self, session_key: str, once: str = "") -> tuple[LLM, TokenEstimator]:
        """The model that answers in this session, and how its tokens are counted; `once`: the preset of one turn."""
        return self.named(once if once in self._presets else self.name_for(session_key))

    def named(self, name: str) -> tuple[LLM, TokenEstimator]:
        """The model of a preset. Raises KeyError for one that is not configured."""
        if name not in self._made:
            llm = self._presets[name]()
            self._made[name] = llm, TokenEstimator(llm.info.model, llm.info.endpoint)
        return self._made[name]

    async def aclose(self) -> None:
        """Give back what the models hold."""
        for llm, _ in self._made.values():
            await llm.aclose()

    async def choose(self, session_key: str, name: str) -> None:
        """Use this preset in this session from now on. Raises KeyError for a name that is not configured."""
        if name not in self._presets:
            raise KeyError(name)
        await self._chosen.set(session_key, None if name == self._default else name)

    async def forget(self, session_key: str) -> None:
        """Nothing was chosen in this session."""
        await self._chosen.set(session_key, None)
