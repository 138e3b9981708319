"""How much of a model's context window is taken, and how much is left for the conversation."""

from nanobot.agent.context import Prompt
from nanobot.errors import LLMError, PromptTooBigError
from nanobot.ports import ModelInfo
from nanobot.tokens import Counts, TokenEstimator

LEAST = 0.1
"""The share of the context window that must be left for the conversation."""


class Room:
    """The context window of one model, with the tools that it is told about."""

    def __init__(self, model: ModelInfo, tokens: TokenEstimator, tools: Counts, compact_at: float) -> None:
        self.model = model
        self.tokens = tokens
        self._tools = tools
        self._limit = min(model.context_window * compact_at, model.context_window - model.max_output)

    def fixed(self, prompt: Prompt) -> Counts:
        """What every request holds besides the conversation."""
        return self._tools + self.tokens.count(prompt.message)

    def left(self, prompt: Prompt) -> float:
        """Tokens for the conversation. Raises PromptTooBigError if the files leave hardly any."""
        fixed = self.tokens.tokens(self.fixed(prompt))
        if not self.takes(prompt):
            raise PromptTooBigError(prompt.largest, fixed, self.model.context_window)
        return self._limit - fixed

    def takes(self, prompt: Prompt) -> bool:
        """Whether this prompt leaves room for a conversation."""
        return self._limit - self.tokens.tokens(self.fixed(prompt)) >= LEAST * self.model.context_window

    def check(self, asked: Counts) -> None:
        """Raises LLMError if a request is longer than what the model can read and still answer."""
        size = self.tokens.tokens(asked)
        if size > self.model.context_window - self.model.max_output:
            raise LLMError("context", f"about {size} tokens", model=self.model.preset)
