"""The forty facts of the month: who tells them, and what becomes of them."""

from collections.abc import Sequence

from tests.month.cast import (
    DISCORD,
    HIKERS_ADA,
    HIKERS_BOB,
    TELEGRAM,
    TERMINAL,
    WITH_BOB,
    WITH_CHEN,
)
from tests.month.fact import GREENHOUSE, MEMORY, USER, Fact

FACTS: Sequence[Fact] = (
    # Ada, in the terminal, on Telegram and on Discord.
    Fact(
        "My dentist is Dr. Okafor in Lind Street.", "Okafor", USER, (1, TERMINAL),
        corrected=(9, DISCORD, "My dentist is Dr. Weiss in Mill Lane."),
    ),
    Fact("My blood type is A negative.", "blood", MEMORY, (1, TERMINAL), how="/remember {}"),
    Fact(
        "The greenhouse pump is wired to pin 4.", "pump", GREENHOUSE, (2, TELEGRAM),
        corrected=(12, TERMINAL, "The greenhouse pump is wired to pin 17."),
    ),
    Fact("The greenhouse door is painted green.", "painted", GREENHOUSE, (2, TELEGRAM)),
    Fact("My sister Nora lives in Porto.", "Porto", USER, (3, TERMINAL), fate="forgotten"),
    Fact(
        "The car insurance is with Helvetia.", "insurance", MEMORY, (3, DISCORD),
        corrected=(16, TELEGRAM, "The car insurance is with Allianz."),
    ),
    Fact(
        "The book club meets on Thursdays at 19:30.", "club", MEMORY, (4, TELEGRAM),
        corrected=(6, TELEGRAM, "The book club meets on Wednesdays at 20:00."),
    ),
    Fact("The boiler was serviced on 2026-02-11.", "boiler", MEMORY, (4, TERMINAL)),
    Fact(
        "The spare key is with Mrs. Lang.", "spare", MEMORY, (5, TERMINAL),
        corrected=(14, TERMINAL, "The spare key is with the Novaks."),
    ),
    Fact(
        "My favourite tea is lapsang.", "favourite", USER, (5, DISCORD),
        corrected=(19, DISCORD, "My favourite tea is sencha."),
    ),
    Fact("The canary is called Pip.", "canary", MEMORY, (6, TELEGRAM), taken_back=(13, TELEGRAM)),
    Fact("The bicycle is in the cellar of number 12.", "bicycle", MEMORY, (6, TERMINAL)),
    Fact("The choir rehearses in the old fire station.", "choir", MEMORY, (7, DISCORD)),
    Fact("The compost is collected on Mondays.", "compost", MEMORY, (7, TERMINAL), taken_back=(20, TERMINAL)),
    Fact("The vet is Dr. Sand on Harbour Road.", "Sand", MEMORY, (8, TELEGRAM), fate="undone"),
    Fact(
        "The tax adviser is Ms. Brandt.", "Brandt", MEMORY, (8, TELEGRAM),
        again=(15, TERMINAL), fate="undone and told again",
    ),
    Fact(
        "The summer trip is to Gotland in July.", "trip", MEMORY, (10, DISCORD),
        corrected=(21, TERMINAL, "The summer trip is to Bornholm in August."),
    ),
    Fact("The piano tuner comes in November.", "tuner", MEMORY, (10, TERMINAL), taken_back=(24, DISCORD)),
    Fact(
        "My standing desk is 112 cm high.", "desk", USER, (13, TERMINAL),
        how="Please remember that {}",
    ),
    Fact("The wifi router is behind the bookshelf.", "router", MEMORY, (17, DISCORD), fate="undone"),
    Fact("My shoe size is 43.", "shoe", USER, (18, TELEGRAM), fate="undone"),
    Fact("我的生日是五月三日。", "生日", USER, (23, TELEGRAM)),
    # Bob, on Telegram.
    Fact("My allergy is to hazelnuts.", "hazelnuts", USER, (1, WITH_BOB)),
    Fact("My daughter Ida is seven years old.", "Ida", USER, (3, WITH_BOB)),
    Fact(
        "The camper van is parked in Kiel.", "camper", MEMORY, (5, WITH_BOB),
        corrected=(15, WITH_BOB, "The camper van is parked in Rostock."),
    ),
    Fact(
        "The landlord is Mr. Petersen.", "landlord", MEMORY, (7, WITH_BOB),
        corrected=(11, WITH_BOB, "The landlord is Ms. Dahl."), fate="correction undone",
    ),
    Fact("The guitar strings are gauge 11.", "guitar", MEMORY, (9, WITH_BOB)),
    Fact("My employer is Northwind Shipping.", "Northwind", USER, (14, WITH_BOB)),
    Fact("The climbing gym opens at six.", "gym", MEMORY, (18, WITH_BOB), taken_back=(25, WITH_BOB)),
    Fact("My pottery course is in room 9.", "pottery", USER, (22, WITH_BOB)),
    # Chen, on Discord, in Chinese and English.
    Fact("我的猫叫米线。", "米线", USER, (2, WITH_CHEN), fate="forgotten"),
    Fact(
        "我的公司在浦东。", "公司", USER, (4, WITH_CHEN),
        corrected=(16, WITH_CHEN, "我的公司在徐汇。"),
    ),
    Fact(
        "The violin lesson is on Tuesdays.", "violin", MEMORY, (8, WITH_CHEN),
        corrected=(20, WITH_CHEN, "The violin lesson is on Saturdays."),
    ),
    Fact("我的妹妹是医生。", "医生", USER, (10, WITH_CHEN)),
    Fact("The balcony tomatoes are from seed.", "tomatoes", MEMORY, (12, WITH_CHEN), taken_back=(27, WITH_CHEN)),
    Fact("The night train leaves from platform 8.", "platform", MEMORY, (18, WITH_CHEN)),
    # The hikers, a group on Telegram.
    Fact(
        "The hiking day is 2026-04-18.", "hiking", MEMORY, (5, HIKERS_BOB),
        corrected=(21, HIKERS_ADA, "The hiking day is 2026-05-09."),
    ),
    Fact("The cabin is in Telemark.", "Telemark", MEMORY, (6, HIKERS_ADA)),
    Fact("The driver is Bob with the red bus.", "driver", MEMORY, (11, HIKERS_BOB), taken_back=(26, HIKERS_BOB)),
    Fact("The meeting point is the east car park.", "meeting", MEMORY, (19, HIKERS_ADA)),
)  # fmt: skip
