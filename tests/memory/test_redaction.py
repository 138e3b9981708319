import pytest

from nanobot.nlp.secrets import REDACTED, redact, refusal
from nanobot.text import cleaned
from tests.memory.test_tool_changes import HARMLESS, SECRETS


@pytest.mark.parametrize("text", SECRETS)
def test_nothing_of_a_secret_is_left_and_the_sentence_around_it_is(text: str) -> None:
    redacted = redact(f"Ada told me: {text}\nand tea at five")

    assert refusal(redacted) is None
    assert redacted.startswith("Ada told me: ")
    assert redacted.endswith("and tea at five")
    assert REDACTED in redacted
    assert redact(redacted) == redacted


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_survives(text: str) -> None:
    assert redact(text) == cleaned(text)


def test_all_secrets_of_a_text_go_and_what_stands_between_stays() -> None:
    text = (
        "key sk-test-" + "FAKE" * 8 + ", Authorization: Bearer FAKEFAKEFAKEFAKEFAKE1234, db password: hunter2-FAKE, "
        "-----BEGIN PRIVATE KEY-----\nRkFLRQ==\n-----END PRIVATE KEY-----, "
        "commit 3f1d2c4b5a69788796a5b4c3d2e1f00112233445"
    )

    assert redact(text) == (
        f"key {REDACTED}, Authorization: {REDACTED}, db password: {REDACTED}, {REDACTED}, "
        "commit 3f1d2c4b5a69788796a5b4c3d2e1f00112233445"
    )


def test_a_key_that_was_cut_off_goes_as_far_as_it_reaches() -> None:
    body = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" for _ in range(3))

    assert redact(f"-----BEGIN RSA PRIVATE KEY-----\n{body}\nThat was it.") == f"{REDACTED}\nThat was it."
