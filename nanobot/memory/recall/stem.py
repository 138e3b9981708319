"""English words brought to their stems, so that "went hiking" is found by "go on a hike"."""

from functools import lru_cache

_VOWELS = "aeiou"
_LONGEST = 40  # letters; what is longer is no English word

# M. F. Porter, "An algorithm for suffix stripping" (1980): the suffixes of its steps 2 to 4.
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = tuple(
    (suffix, "")
    for suffix in ("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive",
                   "ize", "al", "er", "ic", "ou")
)  # fmt: skip

_IRREGULAR = {
    form: base
    for line in """
    be am is are was were been being|begin began begun|bite bit bitten|blow blew blown|break broke broken|bring brought
    build built|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug|draw drew drawn|dream dreamt
    drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
    fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given
    go goes went gone|grow grew grown|hang hung|have has had|hear heard|hide hid hidden|hold held|keep kept
    know knew known|lead led|learn learnt|leave left|lend lent
    lose lost|make made|mean meant|meet met|pay paid|ride rode ridden
    ring rang rung|rise rose risen|run ran|say said|see saw seen|sell sold|send sent|shake shook shaken|shoot shot
    show shown|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|stand stood
    steal stole stolen|stick stuck|swear swore sworn|sweep swept|swim swam swum|take took taken|teach taught
    tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke woken|wear wore worn
    win won|write wrote written|child children kid kids|man men|woman women|person people persons|foot feet
    tooth teeth|mouse mice|wife wives|life lives|knife knives""".replace("\n", "|").split("|")
    if line.strip()
    for base, *forms in [line.split()]
    for form in forms
}


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word: "allergies" and "allergy" have the same. Other scripts stay as they are."""
    word = _IRREGULAR.get(word, word)
    if not 3 <= len(word) <= _LONGEST or not word.isascii() or not word.isalpha():
        return word
    word = _past_and_progressive(_singular(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2, 0)
    word = _replace(word, _STEP_3, 0)
    if word.endswith(("sion", "tion")):
        word = word[:-3] if _measure(word[:-3]) > 1 else word
    else:
        word = _replace(word, _STEP_4, 1)
    return _tidy(word)


def _shape(word: str) -> str:
    """The word in c(onsonants) and v(owels); y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How many times vowels are followed by consonants: the algorithm's m."""
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """Whether it ends like "hop": consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and word[-1] not in _VOWELS


def _singular(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_progressive(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest == word or "v" not in _shape(rest):
            continue
        if rest.endswith(("at", "bl", "iz")) or (_measure(rest) == 1 and _ends_short(rest)):
            return rest + "e"
        return rest[:-1] if _ends_double(rest) and rest[-1] not in "lsz" else rest
    return word


def _replace(word: str, suffixes: tuple[tuple[str, str], ...], more_than: int) -> str:
    for suffix, replacement in suffixes:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if _measure(rest) > more_than else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
