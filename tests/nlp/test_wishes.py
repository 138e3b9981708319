import json
from pathlib import Path

import pytest

from nanobot.forgetting.request import ForgetRequest
from nanobot.languages import tables
from nanobot.nlp.wishes import MOST, forget_request, remember_request

_CORPUS = json.loads((Path(__file__).parent / "corpora" / "forget.json").read_text(encoding="utf-8"))

WISHES = {
    "remember that my dog is called Pixel": "my dog is called Pixel",
    "Remember that my dog is called Pixel.": "my dog is called Pixel.",
    "please remember: the spare key is at Ada's": "the spare key is at Ada's",
    "Please remember that I'm vegetarian, thanks!": "I'm vegetarian",
    "Please remember my birthday is on 3 May": "my birthday is on 3 May",
    "remember my dog's name is Pixel": "my dog's name is Pixel",
    "Remember I live in Berlin": "I live in Berlin",
    "Remember, I don't eat nuts": "I don't eat nuts",
    "remember this: standup is at 9:30": "standup is at 9:30",
    "Remember this for later: box 7 holds the cables": "box 7 holds the cables",
    "don't forget that I am allergic to nuts": "I am allergic to nuts",
    "Don’t forget: rent is due on the 1st": "rent is due on the 1st",
    "do not forget that we moved": "we moved",
    "Could you remember that I like tea?": "I like tea",
    "Can you please remember that my name is Ada?": "my name is Ada",
    "I want you to remember that I prefer metric units": "I prefer metric units",
    "Hey nanobot, please remember that I like tea": "I like tea",
    "Keep in mind that I work nights": "I work nights",
    "Make a note: the boiler is from 2019": "the boiler is from 2019",
    "Add this to your memory: Ada is my sister": "Ada is my sister",
    "remember that I like tea, okay?": "I like tea",
    "My name is Ada. Please remember that I like tea.": "I like tea.",
    "Remember that my dog is called Pixel. What is the capital of France?": "my dog is called Pixel.",
    "Remember that Dr. Smith is my dentist. She is on Main Street.": "Dr. Smith is my dentist. She is on Main Street.",
    "remember:\nthe code name is Falcon": "the code name is Falcon",
    "记住我叫小明": "我叫小明",
    "记住：我不吃辣": "我不吃辣",
    "请记住：我对花生过敏。": "我对花生过敏。",
    "请你记住，我的狗叫皮皮": "我的狗叫皮皮",
    "帮我记一下我的车停在B2": "我的车停在B2",
    "帮我记一下，车停在B2层": "车停在B2层",
    "记一下：例会改到九点半": "例会改到九点半",
    "记一下例会改到九点半": "例会改到九点半",
    "麻烦你帮我记一下：周五交房租": "周五交房租",
    "能不能帮我记住我不喝咖啡？": "我不喝咖啡",
    "别忘了我不吃辣": "我不吃辣",
    "不要忘记：小明的生日是五月三日": "小明的生日是五月三日",
    "别忘了小明的生日是五月三日": "小明的生日是五月三日",
    "记得我喜欢喝茶": "我喜欢喝茶",
    "记住我不吃辣，好吗？": "我不吃辣",
    "好的，记住，以后用公制单位": "以后用公制单位",
    "你好！请记住我住在柏林。": "我住在柏林。",
    "你好，请记住我的猫叫咪咪": "我的猫叫咪咪",
    "Hello, please remember that I like tea": "I like tea",
    "記住我叫小明": "我叫小明",
    "請幫我記一下：我對花生過敏": "我對花生過敏",
    "记住 wifi 在阁楼": "wifi 在阁楼",
}

OTHERS = [
    "do you remember that I like tea?",
    "Do you remember my dog's name?",
    "remember that I like tea?",
    "can you remember what I said?",
    "I remember that",
    "I remember that we met in Paris",
    "she told me to remember that",
    "remember me?",
    "Remember me",
    "remember that",
    "remember that, please",
    "Remember this.",
    "remember when we met?",
    "Remember that time we went to Paris. It was lovely.",
    "remember my birthday",
    "remember to buy milk",
    "don't forget to call me",
    "don't forget the milk",
    "I can't remember that word",
    "I don't remember",
    "remembering that day makes me happy",
    "What do you remember about me?",
    '"Remember that you must die" is an old saying',
    "how does memory work?",
    "你还记得我的名字吗",
    "你还记得我的名字吗？",
    "你记得我叫什么吗",
    "记得我吗",
    "记得我吗？",
    "记住了吗？",
    "记住了",
    "记住我",
    "记住我说的话",
    "我记得你说过",
    "我记住了",
    "记得买牛奶",
    "别忘了买牛奶",
    "记住的单词很多",
    "我记不住单词",
    "你记住了什么",
    "这个你记一下没有用吗？",
    "记者今天来了",
    "",
    "   ",
    "remember that " + "x " * MOST,
]


@pytest.mark.parametrize(("text", "fact"), WISHES.items())
def test_a_wish_gives_the_fact_in_the_persons_own_words(text: str, fact: str) -> None:
    assert remember_request(text) == fact


@pytest.mark.parametrize("text", OTHERS)
def test_questions_memories_and_errands_are_no_such_wish(text: str) -> None:
    assert remember_request(text) is None


@pytest.mark.parametrize("piece", ["please ", "remember ", "ok, ", "记住", "请", "my ", "? ", "that "])
def test_no_message_makes_the_reading_slow(piece: str) -> None:
    remember_request((piece * MOST)[:MOST])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("forget my name", "my name"),
        ("Please forget my old address.", "my old address"),
        ("Forget that I live in Rome", "I live in Rome"),
        ("Hi, can you please forget that my dog is called Pixel?", "my dog is called Pixel"),
        ("forget everything about Ada, please", "Ada"),
        ("忘掉我的猫", "我的猫"),
        ("请忘记我住在罗马。", "我住在罗马"),
        ("你好，请你忘掉关于我的狗吧", "我的狗"),
    ],
)
def test_an_order_to_forget_names_what(text: str, what: str) -> None:
    assert forget_request(text) == what


@pytest.mark.parametrize(
    "text",
    [
        "forget it",
        "Forget that.",
        "forget that idea",
        "forget about it",
        "don't forget my birthday",
        "never forget that I",
        "I forget my keys every day",
        "forget my last message",
        "did you forget my name?",
        "forget my name?",
        "forget me",
        "Forget my name. What is the time?",
        "Forget that I asked; tell me a joke",
        "forget my " + "x" * 200,
        "忘了吧",
        "忘掉它",
        "忘掉我吧",
        "别忘了我的生日",
        "忘了我的密码怎么办？",
        "忘记我的密码了",
        "我忘掉了",
        "你忘掉我的名字了吗？",
    ],
)
def test_other_words_about_forgetting_are_no_order(text: str) -> None:
    assert forget_request(text) is None


@pytest.mark.parametrize("piece", ["please ", "forget ", "hi, ", "忘掉", "请", "my ", "that "])
def test_no_order_makes_the_reading_slow(piece: str) -> None:
    forget_request((piece * MOST)[:MOST])


@pytest.mark.parametrize(
    ("text", "what"),
    [example for language in tables("forget") for form in language["forms"] for example in form["examples"].items()],
)
def test_each_form_of_an_order_finds_its_examples(text: str, what: str) -> None:
    assert forget_request(text) == what


def test_each_form_has_examples() -> None:
    assert all(form["examples"] for language in tables("forget") for form in language["forms"])


def test_orders_in_five_languages_are_understood_and_hardly_anything_else_is_taken_for_one() -> None:
    """`held_out` was written before any form was tried on it: all of its 20 were judged rightly at once.

    Of 41 further sentences that were written when all forms stood, 22 of 24 wishes and all 17 others were.
    """
    wishes = {**_CORPUS["tuned"]["wishes"], **_CORPUS["held_out"]["wishes"]}
    others = [*_CORPUS["tuned"]["others"], *_CORPUS["held_out"]["others"]]

    assert len(wishes) + len(others) == 60
    assert {text: forget_request(text) for text in wishes} == wishes
    assert [text for text in (*others, *OTHERS, *WISHES) if forget_request(text)] == []


@pytest.mark.parametrize(
    ("words", "terms"),
    [
        ("my old address", ("old", "address")),
        ("the clinic", ("clinic",)),
        ("meine Adresse", ("Adresse",)),
        ("mi dirección", ("dirección",)),
        ("我的手机号", ("手机号",)),
        ("我的猫", ("我的猫",)),  # one character is in too many words
        ('"my address"', ("my address",)),
        ("my", ("my",)),
        ("I broke my leg", ("I", "broke", "my", "leg")),
    ],
)
def test_whose_a_thing_is_need_not_stand_where_it_is_found(words: str, terms: tuple[str, ...]) -> None:
    assert ForgetRequest("words", words).terms == terms
