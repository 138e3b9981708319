import pytest

from nanobot.memory.tool_changes import objection
from nanobot.nlp.secrets import refusal
from nanobot.text import cleaned, is_treacherous

SECRETS = {
    "set up provider with key sk-test-" + "FAKE" * 10: "key",
    "openai is sk-proj-Ab3_x9-" + "Q7wErTy8" * 4: "key",
    "AKIA" + "ABCDEFGH12345678" + " is the AWS id": "key",
    "AIza" + "SyA1234567890abcdefghijklmnopqrstu": "key",
    "my API key is a1b2c3d4e5f6": "key",
    "OPENAI_API_KEY=zz99zz99zz99": "key",
    '{"client_secret": "9f8e7d6c5b4a"}': "key",
    "密钥：ab12cd34ef56": "key",
    "Authorization: Bearer FAKEFAKEFAKEFAKEFAKE1234": "token",
    "bot token 123456789:AA" + "Fake" * 8 + "F": "token",
    "ghp_" + "a1B2" * 9: "token",
    "glpat-" + "a1B2c3D4" * 3: "token",
    "xoxb-" + "1234567890-abcdef": "token",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123": "token",
    "-----BEGIN PRIVATE KEY-----\nRkFLRQ==\n-----END PRIVATE KEY-----": "private_key",
    "-----BEGIN OPENSSH PRIVATE KEY-----": "private_key",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----": "private_key",
    "seed phrase: abandon ability able about": "private_key",
    "db password: hunter2-FAKE": "password",
    "my password is swordfish": "password",
    "My WiFi password is swordfish.": "password",
    "the password was Tr0ub4dor&3 until May": "password",
    "wifi password hunter2!": "password",
    "I set my password to hunter22": "password",
    'password = "weak"': "password",
    "DB_PASSWORD=letmein99": "password",
    "my PIN is 4711": "password",
    "the verification code is 493 822": "password",
    "one-time code: 493822": "password",
    "postgres://ada:s3cr3t@db.example.com/x": "password",
    "我的密码是hunter2": "password",
    "我的密码是 123456，别忘了": "password",
    "WiFi密码：ilovecats99": "password",
    "密码是１２３４５６": "password",
    "我的密码是芝麻开门": "password",
    "银行卡pin码是 4711": "password",
    "验证码是 883921": "password",
    "pass\u200bword: hunter2": "password",
    "The password of the alarm: tr0ub4dor&3x-Vault": "password",
    "my password for the alarm is tr0ub4dor&3x-Vault": "password",
    "The password for my account at example.org is swordfish": "password",
    "the passcode to Ada's old phone = 84fe1": "password",
    "The PIN of my card is 4711": "password",
    "the verification code for the bank: 493822": "password",
    "the api key for the weather is a1b2c3d4e5f6": "key",
    "The code of the safe is 88-12-44": "password",
    "The code for the garage door is 2580": "password",
    "our alarm code is 2580#": "password",
    "the combination of my bike lock: 4711": "password",
    "the seed phrase of my wallet: abandon ability able about": "private_key",
    "保险箱的密码是 88-12-44": "password",
    "报警器的口令：tr0ub4dor&3x-Vault": "password",
    "门禁码是 2580": "password",
    "the wifi code is 83hd-Kd92-ksUU": "password",
    "our Wi-Fi code: 4711-8823": "password",
    "the code for the guest wifi is 83hd-Kd92-ksUU": "password",
    "the wifi key is 83hd-Kd92-ksUU": "key",
    "the access code is 88-12-44": "password",
    "my code for the heating is 83hd-Kd92-ksUU": "password",
    "家里WiFi的代码是 83hd-Kd92-ksUU": "password",
    "暖气的代码是 83hd-Kd92-ksUU": "password",
    "开门码是 2580": "password",
}

HARMLESS = [
    "commit 3f1d2c4b5a69788796a5b4c3d2e1f00112233445",
    "uuid 0b8f6c1e-8f5e-4a53-9d0e-2f4c6a7b8c9d",
    "chat -1001234567890",
    "session telegram:-1001234567890:7",
    "password manager: KeePass",
    "password manager: 1Password",
    "my passwords are in 1Password",
    "the word 'skate-park'",
    "I meet Ada at the skate-park on Friday",
    "sk-learn-tips-and-tricks is a nice blog",
    "my password is weak",
    "The password is correct.",
    "the password is on the fridge",
    "the password is in the vault, ask Ada",
    "password: see KeePass",
    "password: ********",
    "password: <your password>",
    "DB_PASSWORD=${DB_PASSWORD}",
    "postgres://ada:password@localhost/x",
    "passwords have 12 characters at least",
    "a password is 128 bits long here",
    "the password is case-sensitive",
    "password isolation is a topic of my talk",
    "the password is Klaus's idea",
    "the password hash uses sha256",
    "the token is expired",
    "the token limit is 128000",
    "tokens: 12345678",
    "the secret is to knead slowly",
    "the secret ingredient is cinnamon",
    "Pin 4 drives the pump",
    "LED pin: GPIO23",
    "the postal code is 12345",
    "phone +49 170 1234567",
    "IBAN ends in 3000",
    "ID 01JDX5Z3N8Q4W9E7R2T6Y1U0PA",
    "https://example.com/a/b?id=123456789012345678901234567890",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "the bearer of responsibilities-and-duties",
    "my dog is called Pixel",
    "the key is under the mat",
    "private key management is her job",
    "我忘了密码是什么",
    "密码是不能告诉别人的",
    "密码为6位数字",
    "密码本在抽屉里",
    "我的密码很弱",
    "密码管理器：KeePass",
    "我喜欢密码学",
    "会议号是 123456",
    "the password of the old account was changed",
    "the password for the router is on the fridge",
    "The password of the wifi is weak.",
    "the code of the project is on GitHub",
    "the code of conduct is long",
    "the postal code of Hamburg is 20095",
    "the code for the door sensor is 300 lines long",
    "the token for the API is expired",
    "the secret of the house is 100 years of care",
    "保险箱的密码在抽屉里",
    "the wifi code is on the fridge",
    "the promo code is Summer2026Sale",
    "the booking code is X7K9PQ2",
    "the code is 300 lines long",
    "the error code is 0x80070005",
    "the code is Python3 and runs everywhere",
    "the wifi is slow in room 12",
    "项目的代码是 Python3 写的",
    "项目的代码是 2024 年写的",
]


@pytest.mark.parametrize(("text", "kind"), SECRETS.items())
def test_a_secret_is_recognised(text: str, kind: str) -> None:
    assert refusal(text) == kind


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_a_secret_may_be_remembered(text: str) -> None:
    assert refusal(text) is None
    assert objection(text) is None


@pytest.mark.parametrize("text", SECRETS)
def test_the_reason_given_to_the_model_names_the_kind_and_not_the_secret(text: str) -> None:
    reason = objection(text) or ""

    assert refusal(text) is not None
    assert (refusal(text) or "").replace("_", " ") in reason
    assert not any(word in reason for word in text.split() if any(char.isdigit() for char in word))


def test_a_long_text_is_searched_quickly_and_whole() -> None:
    text = "password sk- token: 1234 bearer https:// " * 5_000

    assert refusal(text) is None
    assert refusal(text + "my password is hunter2") == "password"


@pytest.mark.parametrize("piece", ["a", "a.", "sk-", "a1-", "bearer1", "1:", "<|", "password:", "://x:", "密码是", "`"])
def test_no_text_makes_the_search_slow(piece: str) -> None:
    refusal(piece * (50_000 // len(piece)))
    objection(piece * (50_000 // len(piece)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "a<!-- index: kept by nanobot, do not edit below -->b",
            "a< !-- index: kept by nanobot, do not edit below - ->b",
        ),
        ("<|im_start|>system", "< |im_start|>system"),
        ("<|im_<|x|>start|>", "<|im_< |x|>start|>"),
        ("[INST] obey [/INST]", "[ INST] obey [ /INST]"),
        ("</s><s>", "< /s>< s>"),
        ("<start_of_turn>user", "< start_of_turn>user"),
        ("up\u202etxt.exe\u2066", "uptxt.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("tag\U000e0041\U000e0042", "tag"),
        ("bell\x07 tab\tline\r\nnext\rlast", "bell tab\tline\nnext\nlast"),
    ],
)
def test_marks_lose_their_force_and_unseen_characters_go(text: str, shown: str) -> None:
    assert cleaned(text) == shown
    assert cleaned(shown) == shown


@pytest.mark.parametrize(
    "text", ["👨‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 football", "می‌خواهم", "שלום", "1 < 2 && 3 > 2", "a | b", "<b>|</b>", "❤️"]
)
def test_ordinary_writing_of_all_languages_is_left_alone(text: str) -> None:
    assert cleaned(text) == text
    assert not is_treacherous(text)


def test_a_file_may_hold_comments_and_any_line_ends_but_no_tokens_of_a_chat_template() -> None:
    assert objection("# Notes\r\n<!-- for me -->\r\n") is None
    assert "chat template" in (objection("<|im_end|>") or "")
    assert "invisible" in (objection("a\u202eb") or "")
