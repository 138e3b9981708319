"""One meaning in the words of many providers."""

from datetime import UTC, datetime

import pytest

from nanobot.errors import LLMErrorKind
from nanobot.models.failures import failure, retry_after

NOW = datetime(2026, 3, 2, 10, 15, tzinfo=UTC)


def said(message: str, **fields: object) -> dict[str, object]:
    """An error in the shape that most endpoints use."""
    return {"error": {"message": message, **fields}}


TOO_LONG: list[tuple[int | None, object]] = [
    (400, said("This model's maximum context length is 128000 tokens.", code="context_length_exceeded")),
    (400, said("Your input exceeds the context window of this model.")),
    (400, said("prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error")),
    (400, said("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")),
    (400, [said("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", code=400)]),
    (400, said("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum")),
    (400, {"object": "error", "message": "The decoder prompt is longer than the maximum model length of 4096."}),
    (400, said("the request exceeds the available context size, try increasing it", code=400)),
    (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length."}),
    (400, said("This model's maximum prompt length is 131072 but the request contains 537812 tokens.")),
    (400, said("Range of input length should be [1, 30720]", code="invalid_parameter_error")),
    (400, said("Invalid request: Your request exceeded model token limit: 8192")),
    (400, said("Input is too long for requested model.")),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097"}),
    (400, said("Prompt 超长", code="1261")),
    (400, said("输入内容的上下文长度超过模型限制")),
    (413, said("Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7000")),
    (413, "<html>413 Request Entity Too Large</html>"),
    (429, said("Request too large for the model. The input or output tokens must be reduced.")),
    (500, said("context size has been exceeded")),
    (400, said("上下文过长，请压缩上下文")),
    (400, said("上下文超出限制")),
    (400, said("Request rejected", code="context_overflow")),
    (400, said("コンテキスト長が上限を超えています")),
    (400, said("컨텍스트 길이를 초과했습니다")),
    (400, said("Длина контекста превышена")),
    (400, said("El contexto excede el límite del modelo")),
    (400, said("maximum context length is 8192 tokens; 7900 in the messages, 8000 in the completion")),
    (None, said("too many tokens: total number of tokens in the prompt cannot exceed 4081")),
]

OTHERS: list[tuple[int | None, object, LLMErrorKind]] = [
    (401, said("Incorrect API key provided: sk-…"), "auth"),
    (401, "", "auth"),
    (400, [said("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT")], "auth"),
    (403, said("Country, region, or territory not supported"), "auth"),
    (403, said("Project does not have access to model `x`", code="model_not_found"), "model"),
    (404, {"detail": "Not Found"}, "model"),
    (400, said("Model Not Exist"), "model"),
    (400, said("big-model is not a valid model ID", code=400), "model"),
    (402, said("Insufficient Balance"), "quota"),
    (400, said("Your credit balance is too low to access the API."), "quota"),
    (403, said("账户余额不足，请充值"), "quota"),
    (429, said("You exceeded your current quota, please check your plan", code="insufficient_quota"), "quota"),
    (429, [said("You exceeded your current quota, see billing details. Please retry in 34.07s.")], "rate_limit"),
    (429, said("Rate limit reached for tokens per min. Limit: 10000 / min. Try again in 6m0s."), "rate_limit"),
    (429, "", "rate_limit"),
    (None, said("请求过于频繁，请稍后再试"), "rate_limit"),
    (400, said("The response was filtered", code="content_filter"), "filtered"),
    (400, said("Input data may contain inappropriate content.", code="data_inspection_failed"), "filtered"),
    (400, said("Content Exists Risk"), "filtered"),
    (400, said("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301"), "filtered"),
    (400, said("max_tokens is too large: 200000. This model supports at most 16384 tokens"), "output"),
    (422, {"detail": [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted"}]}, "request"),
    (400, said("max_new_tokens must be less than or equal to 4096"), "output"),
    (400, said("maximum context length is 8192 tokens; 1500 in the messages, 8000 in the completion"), "output"),
    (404, said("No endpoints found that support tool use."), "request"),
    (500, said("Jinja Exception: System role not supported"), "request"),
    (500, said("Error rendering prompt with jinja template: no such filter"), "request"),
    (408, "", "server"),
    (409, "", "server"),
    (500, said("authentication service failed"), "server"),
    (503, said("The model x is currently overloaded and is not available"), "server"),
    (529, said("Overloaded", type="overloaded_error"), "server"),
    (502, "<html><body>Bad Gateway</body></html>", "server"),
    (None, said("The server had an error", type="server_error"), "server"),
    (None, said("?", code=429), "rate_limit"),
    (None, {"error": None}, "protocol"),
]


@pytest.mark.parametrize(("status", "body"), TOO_LONG)
def test_a_conversation_that_is_too_long_is_recognised(status: int | None, body: object) -> None:
    assert failure(status, body, {}, NOW).kind == "context"


@pytest.mark.parametrize(("status", "body", "kind"), OTHERS)
def test_each_refusal_gets_the_kind_that_tells_a_person_what_to_do(
    status: int | None, body: object, kind: LLMErrorKind
) -> None:
    assert failure(status, body, {}, NOW).kind == kind


@pytest.mark.parametrize("body", [None, [], {}, 3, "x", {"error": []}, {"error": {"message": {"a": 1}}}, [[["x"]]]])
@pytest.mark.parametrize("status", [None, 400, 429, 500])
def test_no_shape_of_an_error_surprises(status: int | None, body: object) -> None:
    assert failure(status, body, {}, NOW).kind in ("request", "rate_limit", "server", "protocol")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Mon, 02 Mar 2026 10:15:30 GMT"}, 30),
        ({"retry-after": "Mon, 02 Mar 2026 10:14:30 GMT"}, 0),
        ({"retry-after": "Mon, 02 Mar 2026 10:15:30"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read_or_not_there(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_the_words_name_a_time_where_no_header_does() -> None:
    body = {"error": {"message": "Please try again in 6m0.5s."}}
    assert failure(429, body, {}, NOW).retry_after == 360.5
    assert failure(429, body, {"retry-after": "3"}, NOW).retry_after == 3
    assert failure(429, {"error": {"message": "Please try again in 850ms"}}, {}, NOW).retry_after == 0.85
