"""Endpoints as they are: an OpenAI-compatible server that refuses and answers as the real ones do.

A personality says two things of a request: `refusal`, the error that it is answered with, None if it is taken; and
`answer`, what is answered to one that is taken. In a test:

    async with served(ALTERNATE) as server:
        server.will(say("Hello"))              # a scripted answer, given in the personality's manner
        ...
        server.refused                         # what was refused, and why, in order

`server.requests` are all that arrived, `server.taken` those that were answered. Every personality stands in
PERSONALITIES by its name. To add one, write its rules (functions from a body to an error or None) and list it there.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count, pairwise, takewhile
from typing import Any

from tests.fakes.openai_answers import USAGE, Answer, Json, Send, chunks, event, fail, plain, say
from tests.fakes.openai_server import FakeOpenAI, Received

Rule = Callable[[Json], Answer | None]
"""Refuses a request, or lets it pass."""

Manner = Callable[[Json, Answer], Answer]
"""How this endpoint would have put an answer."""


@dataclass(frozen=True)
class Personality:
    """What an endpoint refuses, the first rule that objects counts, and how it answers what it takes."""

    name: str
    rules: tuple[Rule, ...] = ()
    manner: Manner = lambda _, answer: answer

    def refusal(self, body: Json) -> Answer | None:
        return next((answer for rule in self.rules if (answer := rule(body)) is not None), None)


class Endpoint(FakeOpenAI):
    """The server with a personality. Answers come from the script, and from `otherwise` when that is used up."""

    def __init__(self, personality: Personality) -> None:
        super().__init__()
        self.personality = personality
        self.refused: list[tuple[Received, str]] = []
        self.taken: list[Received] = []
        self.otherwise = lambda body: say(f"You said: {last_words(body)}")

    def judge(self, received: Received) -> Answer | None:
        refusal = self.personality.refusal(received.body)
        if refusal is None:
            self.taken.append(received)
        else:
            self.refused.append((received, words_of(refusal)))
        return refusal

    def put(self, body: Json, answer: Answer) -> Answer:
        return self.personality.manner(body, answer) if answer.status == 200 else answer


def served(personality: Personality) -> Endpoint:
    """A server with this personality; an asynchronous context manager."""
    return Endpoint(personality)


def words_of(refusal: Answer) -> str:
    """The sentence of a refusal."""
    [part] = refusal.parts
    return str(json.loads(getattr(part, "data", b"{}")))


def last_words(body: Json) -> str:
    """What the last message says, as text."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else json.dumps(content)


def messages_of(body: Json) -> list[Json]:
    messages: list[Json] = body["messages"]
    return messages


# What endpoints refuse


def no_system(body: Json) -> Answer | None:
    """Templates without a system role raise in the server."""
    if messages_of(body)[0]["role"] == "system":
        return fail(500, "Jinja Exception: System role not supported", type="server_error")
    return None


def alternation(body: Json) -> Answer | None:
    """The check of the templates of Gemma and of older Mistral models; steps of tools do not count."""
    talk = [
        message["role"]
        for message in messages_of(body)
        if message["role"] == "user" or (message["role"] == "assistant" and not message.get("tool_calls"))
    ]
    roles = [message["role"] for message in messages_of(body)]
    if talk[:1] != ["user"] or any(one == other for one, other in (*pairwise(talk), *pairwise(roles)) if one != "tool"):
        words = "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/..."
        return fail(500, words, code=500, type="server_error")
    return None


def no_tools(words: str = "registry.ollama.ai/library/gemma3:4b does not support tools", status: int = 400) -> Rule:
    """For a model whose template knows none; also not in what was said before."""

    def rule(body: Json) -> Answer | None:
        knows = "tools" in body or any(m["role"] == "tool" or m.get("tool_calls") for m in messages_of(body))
        return fail(status, words) if knows else None

    return rule


def reasoning_back(body: Json) -> Answer | None:
    """As DeepSeek and Kimi while they think: calls of tools come back with the thoughts that led to them."""
    for message in messages_of(body):
        if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
            words = "The `reasoning_content` in the thinking mode must be passed back to the API."
            return fail(400, words, type="invalid_request_error")
    return None


def known_fields(*more: str) -> Rule:
    """As endpoints that check requests against a schema."""
    known = {"role", "content", "tool_calls", "tool_call_id", "name", *more}

    def rule(body: Json) -> Answer | None:
        for at, message in enumerate(messages_of(body)):
            calls = message.get("tool_calls") or ()
            inside = [name for call in calls for name in (call.keys() - {"id", "type", "function"})]
            inside += [name for call in calls for name in (call["function"].keys() - {"name", "arguments"})]
            for name in (*(message.keys() - known), *(name for name in inside if name not in more)):
                words = f"Unknown field 'messages.{at}.{name}': extra inputs are not permitted"
                return fail(400, words, type="invalid_request_error")
        return None

    return rule


def parameters(*refused: str) -> Rule:
    """Refuses these parameters, one by one."""

    def rule(body: Json) -> Answer | None:
        name = next((name for name in refused if name in body), None)
        return fail(400, f"Unrecognized request argument supplied: {name}") if name else None

    return rule


def nine_characters(body: Json) -> Answer | None:
    """As Mistral wants ids of calls."""
    for message in messages_of(body):
        ids = [call["id"] for call in message.get("tool_calls") or ()] + [message.get("tool_call_id", "a" * 9)]
        for one in ids:
            if not re.fullmatch("[a-zA-Z0-9]{9}", one):
                words = f"Tool call id was {one} but must be a-z, A-Z, 0-9, with a length of 9."
                return fail(400, words, type="invalid_request_message_order", code="3280")
    return None


def no_user_after_tool(body: Json) -> Answer | None:
    roles = [message["role"] for message in messages_of(body)]
    if ("tool", "user") in pairwise(roles):
        return fail(400, "Unexpected role 'user' after role 'tool'", type="invalid_request_message_order", code="3230")
    return None


def text_beside_calls(body: Json) -> Answer | None:
    if any(message["content"] is None for message in messages_of(body)):
        return fail(400, "Invalid type for 'messages.content': expected a string, but got null instead.")
    return None


def no_pictures(body: Json) -> Answer | None:
    if any(isinstance(message["content"], list) for message in messages_of(body)):
        return fail(400, "This model does not support image input.")
    return None


# How endpoints answer


def thinking(body: Json, answer: Answer) -> Answer:
    """Thoughts in a field of their own before whatever is said."""
    head, *rest = answer.parts
    thoughts = chunks({"reasoning_content": "The user "}, {"reasoning_content": "wants this."}, finish=None, done=False)
    whole = answer.whole and with_field(answer.whole, "reasoning_content", THOUGHTS)
    return Answer((head, *thoughts.parts[1:], *rest), whole=whole)


THOUGHTS = "The user wants this."


def with_field(whole: Mapping[str, Any], name: str, value: object) -> Json:
    """A whole answer with a field beside its message."""
    [choice] = whole["choices"]
    return {**whole, "choices": [{**choice, "message": {**choice["message"], name: value}}]}


def call_with(name: str, arguments: object, *, beside: Json, inside: Json, call_id: str = "call_1") -> Answer:
    """A call with unknown fields beside it and inside its function."""
    function = {"name": name, "arguments": json.dumps(arguments), **inside}
    call = {"index": 0, "id": call_id, "type": "function", "function": function, **beside}
    return chunks({"tool_calls": [call]}, finish="tool_calls", usage=USAGE)


OLLAMA_WINDOW = 4096


def remade(answer: Answer, change: Callable[[Json], Json]) -> Answer:
    """The answer with each of its chunks changed."""
    parts = []
    for part in answer.parts:
        data = getattr(part, "data", b"").removeprefix(b"data: ").strip()
        parts.append(event(change(json.loads(data))) if data.startswith(b"{") else part)
    return replace(answer, parts=tuple(parts))


def calls_in(chunk: Json) -> list[Json]:
    return [call for choice in chunk["choices"] for call in choice["delta"].get("tool_calls") or ()]


def cutting(body: Json, answer: Answer) -> Answer:
    """As Ollama: it reads what fits into its own window, reports that, and every call has the index 0."""
    read = min(OLLAMA_WINDOW, sum(len(str(message.get("content") or "")) for message in messages_of(body)) // 4)

    def change(chunk: Json) -> Json:
        for call in calls_in(chunk):
            call["index"] = 0
        return {**chunk, "usage": {**chunk["usage"], "prompt_tokens": read}} if chunk.get("usage") else chunk

    return remade(answer, change)


def ids_in_pieces(_: Json, answer: Answer) -> Answer:
    """As vLLM in some versions: each piece of a call has another id, and each chunk a usage that is null."""
    numbers = count(1)

    def change(chunk: Json) -> Json:
        for call in calls_in(chunk):
            call["id"] = f"chatcmpl-tool-{next(numbers):032x}"
        return {"usage": None, **chunk}

    return remade(answer, change)


def signed(_: Json, answer: Answer) -> Answer:
    """As Gemini: whole calls in one chunk, without index, the first one signed; they end with "stop"."""
    chunks_ = [json.loads(p.data[6:]) for p in answer.parts if isinstance(p, Send) and p.data[6:7] == b"{"]
    whole: list[Json] = []
    for call in (call for chunk in chunks_ for call in calls_in(chunk)):
        if call.get("id"):
            whole.append({"id": "", "type": "function", "function": {**call["function"], "arguments": ""}})
        whole[-1]["function"]["arguments"] += call["function"]["arguments"]
    if not whole:
        return answer
    whole[0]["extra_content"] = {"google": {"thought_signature": "c2lnbmVk"}}
    before = takewhile(lambda part: b'"tool_calls": [' not in getattr(part, "data", b""), answer.parts)
    return Answer((*before, *chunks({"tool_calls": whole}, finish="stop", usage=USAGE).parts[1:]))


def opened_with_braces(_: Json, answer: Answer) -> Answer:
    """As Anthropic's models behind some proxies: the arguments begin with an empty object that is none of them."""

    def change(chunk: Json) -> Json:
        for call in calls_in(chunk):
            call["function"]["arguments"] = call["function"]["arguments"] or "{}"
        return chunk

    return remade(answer, change)


def arguments_are_objects(body: Json) -> Answer | None:
    """Templates read the arguments of earlier calls; what is no object fails there."""
    for message in messages_of(body):
        for call in message.get("tool_calls") or ():
            try:
                is_object = isinstance(json.loads(call["function"]["arguments"]), dict)
            except ValueError:
                is_object = False
            if not is_object:
                return fail(400, "invalid tool call arguments", type="api_error")
    return None


def signature_back(body: Json) -> Answer | None:
    """As Gemini 3: each step of calls of the running turn comes back signed."""
    said = messages_of(body)
    turn = max((at for at, message in enumerate(said) if message["role"] == "user"), default=0)
    for message in said[turn:]:
        calls = message.get("tool_calls") or [{"extra_content": {"google": {"thought_signature": "x"}}}]
        if not calls[0].get("extra_content", {}).get("google", {}).get("thought_signature"):
            words = "Function call is missing a thought_signature in functionCall parts."
            return plain([{"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}], status=400)
    return None


def results_follow(body: Json) -> Answer | None:
    """As Anthropic: results stand right behind their calls, and no text is empty or ends in blanks."""
    said = messages_of(body)
    for at, message in enumerate(said):
        ids = {call["id"] for call in message.get("tool_calls") or ()}
        answered = {m.get("tool_call_id") for m in said[at + 1 : at + 1 + len(ids)]}
        if ids - answered:
            return fail(400, f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after")
        if not ids and not message.get("content"):
            return fail(400, f"messages.{at}: text content blocks must be non-empty", type="invalid_request_error")
        if any(not re.fullmatch("[a-zA-Z0-9_-]{1,64}", one) for one in ids):
            return fail(400, "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if said[-1]["role"] == "assistant" and str(said[-1]["content"]) != str(said[-1]["content"]).rstrip():
        return fail(400, "messages: final assistant content cannot end with trailing whitespace")
    return None


PICKY = (parameters("stream_options", "temperature", "max_tokens"), known_fields())

ALTERNATE = Personality(
    "alternating", (no_system, no_tools("Jinja Exception: tools are not supported", 500), alternation)
)
THINKING = Personality("thinking", (known_fields("reasoning_content"), reasoning_back), thinking)
NO_TOOLS = Personality("no tools", (no_tools(),))
NO_SYSTEM = Personality("no system", (no_system,))
MISTRAL = Personality("Mistral", (known_fields(), nine_characters, no_user_after_tool))
PICKY_400 = Personality("picky", (*PICKY, text_beside_calls, no_pictures))

OLLAMA = Personality("Ollama", (arguments_are_objects,), cutting)
VLLM = Personality("vLLM", (arguments_are_objects,), ids_in_pieces)
GEMINI = Personality("Gemini", (known_fields("extra_content"), signature_back), signed)
ANTHROPIC = Personality("Anthropic", (known_fields(), results_follow), opened_with_braces)

PERSONALITIES: Mapping[str, Personality] = {
    one.name: one
    for one in (ALTERNATE, THINKING, NO_TOOLS, NO_SYSTEM, MISTRAL, PICKY_400, OLLAMA, VLLM, GEMINI, ANTHROPIC)
}  # fmt: skip
