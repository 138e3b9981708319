"""Invented talk: something for the right messages to be hidden among, and history by the million."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from bench.recall.data import Turn

_SLOTS = {
    name: words.split()
    for name, words in {
        "who": "我 同事 室友 表哥 邻居 姐姐 小王 老李 同学 房东 教练 外甥 阿姨 师傅 客户 爸爸 舅舅 班长 保安 女儿",
        "when": "昨天 今天早上 上周末 前天 这个月 刚才 下周一 周五晚上 去年夏天 最近 上个月 明天 中午 三月初 十月底",
        "place": "超市 成都 公园 图书馆 机场 上海 菜市场 城东 医院 健身房 老家 湖边 商场 车站 郊区 厦门 银行 学校",
        "food": "火锅 红烧肉 豆腐 面条 海鲜 粽子 蛋糕 烤鱼 米线 包子 汤圆 羊肉串 沙拉 月饼 炒饭 螃蟹 西瓜 酸奶",
        "thing": "手机 自行车 洗衣机 围巾 键盘 台灯 书包 雨伞 相机 沙发 空调 手表 鞋子 冰箱 窗帘 音箱 平板 眼镜",
        "number": "两 三 五 八 十 十二 二十 五十 一百 三百 六百 一千 两千 五千",
        "skill": "游泳 钢琴 英语 书法 摄影 跳舞 画画 下棋 羽毛球 滑雪 编程 烘焙 日语 网球 唱歌 驾照",
        "animal": "小狗 鹦鹉 金鱼 仓鼠 兔子 乌龟 猫 鸽子",
        "ill": "感冒 牙疼 头疼 过敏 发烧 失眠 脚崴 咳嗽 胃疼 眼睛干",
        "work": "前端 财务 测试 设计 采购 客服 文案 招聘 物流 后台 接口 预算",
        "art": "科幻小说 古装剧 纪录片 演唱会 画展 电影 话剧 漫画 历史书 相声",
        "name": "豆豆 小雪 志强 阿明 婷婷 大伟 可可 陈姐 老周 欣欣 毛毛 乐乐",
    }.items()
}
# Sentences without blanks, one a line.
_SAID = """
{when}{who}去{place}买了{number}斤{food}
{who}在学{skill}，老师叫{name}
{when}{who}养了一只{animal}，叫{name}
{who}把{thing}弄丢了，花{number}块又买了一个
{when}{who}有点{ill}，去{place}看了医生
{who}报名了{skill}课，{when}开始上
{who}换了工作，现在做{work}
{when}和{name}在{place}吃了{food}
{who}看了一部{art}，觉得不错
{who}对{food}过敏，{name}也是
{when}{name}过生日，我送了{thing}
{who}负责{work}，每天忙到{number}点
{who}参加了{skill}比赛，得了第{number}名
{when}要去{place}出差{number}天
{who}在家做了{food}，{name}很喜欢吃
{who}想换{thing}，预算{number}块
{when}带{animal}去{place}打针
{who}的房子在{place}旁边，租金{number}块
{work}的项目{when}又延期了
{who}最喜欢的{art}{when}更新了
{name}不喜欢{food}，下次别点
{when}在{place}碰到{name}，聊了很久
{who}的{thing}坏了，{name}帮忙修好了
{who}每周练{number}次{skill}
"""
_ENDS = "。 ！ ，挺开心的。 ，有点累。 ，你怎么看？ ，真没想到。 ，帮我记一下。"
_REPLIES = """
好的，{name}的事我记住了。
{food}听起来不错！
那要注意休息，{ill}别拖。
后来{name}怎么样了？
需要我{when}提醒你吗？
{place}远不远？
{thing}多少钱？
为什么选{skill}呢？
{animal}一定很可爱。
恭喜{name}！
"""


def chinese_talk(turns: int, seed: int = 7) -> Iterator[Turn]:
    """Everyday talk over the same subjects as anybody's, in sessions of ten turns over a year."""
    chance = random.Random(seed)
    start = datetime(2025, 1, 1, 8, tzinfo=UTC)
    for number in range(turns):
        session = number // 10
        at = start + timedelta(days=session * 365 // (turns // 10 + 1), hours=2, minutes=number % 10)
        spoken = number % 2 == 0
        text = _fill(chance, _SAID) + chance.choice(_ENDS.split()) if spoken else _fill(chance, _REPLIES)
        yield Turn(f"x{number}", f"x{session:04}", at, "", "user" if spoken else "assistant", text)


def _fill(chance: random.Random, sentences: str) -> str:
    return chance.choice(sentences.split()).format_map({name: chance.choice(words) for name, words in _SLOTS.items()})


def synthetic_history(turns: int, seed: int = 11) -> Iterator[Turn]:
    """Messages of some twenty words whose frequencies fall as in real language (Zipf), in sessions of fifty turns."""
    chance = random.Random(seed)
    vocabulary = _vocabulary(chance, 30_000)
    weights = [1 / (rank + 2.7) for rank in range(len(vocabulary))]
    start = datetime(2016, 1, 1, tzinfo=UTC)
    for first in range(0, turns, 1000):
        words = iter(chance.choices(vocabulary, weights, k=30_000))
        for number in range(first, min(first + 1000, turns)):
            text = " ".join(next(words) for _ in range(chance.randint(6, 30)))
            at = start + timedelta(minutes=5 * number)
            role = "user" if number % 2 == 0 else "assistant"
            yield Turn(f"m{number}", f"s{number // 5000:04}", at, ("Ada", "Ben")[number % 2], role, text)


def _vocabulary(chance: random.Random, size: int) -> list[str]:
    """Pronounceable words that do not exist."""
    syllables = [first + vowel for first in "bcdfghjklmnprstvwz" for vowel in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(chance.choices(syllables, k=chance.randint(2, 4)))] = None
    return list(words)
