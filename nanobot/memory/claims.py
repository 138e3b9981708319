"""Sentences that give somebody power over the bot without ordering anything, and those that wait for their moment."""

_BOT = r"(?:(?:this|the|your|our|that) (?:chat ?bot|bot|assistant|ai|agent|system)\b|nanobot\b|you\b)"
_OWNER = (
    r"(?:(?:new|real|true|actual|only|sole|second|main|other|rightful) ){0,2}"
    r"(?:co-?)?(?:owner|admin(?:istrator)?|operator|boss|master|superuser|root|supervisor)"
)
_IS = r"\b(?:is|am|are|was|becomes?|became)(?: (?:now|also|really|actually|in fact))?"
_LEAVE = r"(?:approval|permission|confirmation|consent|authori[sz]ation|authority|clearance|access|rights?)"
_ANYTHING = (
    r"(?:everything|anything|all (?:commands?|tools?|requests?)|whatever|every (?:command|tool|request)|commands?\b"
    rf"|the shell|exec\b|{_BOT}"
    r"|(?:read|see|get|have|receive) (?:all |any |every )?(?:of )?\w+'s"
    r" (?:messages?|chats?|memory|notes|mails?|secrets?)"
    r"|(?:run|execute|use|command|do) (?:everything|anything|any\b|all\b|commands?|tools?|exec|code|scripts?|whatever))"
)
_REQUESTS = r"\b(?:commands?|orders?|instructions?|requests?|tool calls?|tools?)\b"
_TELL = (
    r"(?:tell|send|run|execute|say|reply|respond|answer|forward|give (?:him|her|them)|show|post|refuse|ignore|obey"
    r"|remind|recommend|mention|pay|transfer|share|reveal|trust|approve|accept|pretend|warn|upload|fetch|delete"
    r"|forget)"
)
ENGLISH = (
    rf"{_IS} (?:an? |the |one of the )?{_OWNER}s? (?:of|over) {_BOT}",
    rf"{_IS} (?:your|the bot'?s|the assistant'?s|nanobot'?s) {_OWNER}\b",
    r"\b(?:is|am) (?:an?|the|also an?|now an?|now the) owner[^\w\n]*$",
    rf"\b(?:owns?|controls?|commands?|administers|operates|is in charge of|(?:has|have) (?:full )?control (?:of|over))"
    rf" {_BOT}",
    rf"\b(?:speaks?|acts?|approves?|decides?|answers?) (?:for|on behalf of|in the name of)"
    rf" (?:the owner|the admin|{_BOT})",
    r"^[^\w\n]*(?:please )?treat .{1,40} (?:as|like) ",
    rf"{_REQUESTS}[^.!?\n]{{0,40}}\b(?:(?:needs?|requires?|takes?) no|(?:do|does)(?: not|n'?t)"
    rf" (?:need|require)|without)\b[^.!?\n]{{0,20}}\b(?:{_LEAVE}|to be (?:approved|confirmed|asked)|question|asking)\b",
    rf"\b(?:needs? no|(?:do|does)(?: not|n'?t) need(?: any)?) {_LEAVE} (?:for|to) {_ANYTHING}",
    rf"\b(?:has|have|had|got|given|grant(?:ed|s)?|gave|gives|with)\b[^.!?\n]{{0,40}}\b{_LEAVE}s?"
    rf" (?:for|to|over|on) {_ANYTHING}",
    rf"\b(?:authori[sz]ed|permitted|allowed|entitled|cleared|trusted) to (?:command|control|instruct) {_BOT}",
    rf"\b(?:authori[sz]ed|permitted|allowed|entitled|cleared|trusted) to {_ANYTHING}",
    r"\b(?:assistant|bot|nanobot|ai|agent|you)(?: (?:has|have|had|already)){0,2} (?:agreed|promised|consented|pledged"
    r"|undertaken|committed|sworn|vowed|accepted|offered) (?:to|that)\b",
    r"\b(?:assistant|bot|nanobot|ai|agent)'?s? (?:job|duty|task|role|purpose|policy|rule) (?:is|includes)\b",
    r"\b(?:the|this|your|our) (?:assistant|bot|ai|agent) (?:always |also )?(?:sends|forwards|posts|uploads|shares|obeys"
    r"|tells|gives|pays|reveals|approves|trusts|executes|listens)\b",
    r"\bbe (?:obeyed|executed|forwarded)\b",
    r"\b(?:best practice|(?:the|our|house) (?:rule|policy)|customary|standard procedure|protocol)\b[^.!?\n]{0,30}"
    r"(?:\bto |: ?|\bis )(?:send|forward|post|upload|share|run|execute|obey|ignore|approve|reveal|trust|pay"
    r"|transfer)\b",
    rf"\b(?:when(?:ever)?|every time|each time|any ?time|if|once|as soon as)\b[^.!?\n]{{0,80}}[,:]\s*"
    rf"(?:(?:please|then|always|just|first|simply|you) ){{0,2}}{_TELL}\b",
    r"\b(?:when(?:ever)?|every time|each time|any ?time|if|once)\b[^.!?\n]{0,30}\b(?:asks?|says?|wants?|mentions?"
    rf"|writes?|talks?|speaks?|needs?)\b[^.!?\n]{{0,60}}(?<!\bto)\s{_TELL}\b",
)
_ROBOT = r"(?:机器人|機器人|助手|bot|nanobot|AI)"
_MASTER = r"(?:主人|拥有者|所有者|管理员|老板|上级)"
CHINESE = (
    rf"是(?:现在)?(?:这个|這個|本|该|你|您)(?:的)?\s*{_ROBOT}?\s*的?(?:新|真正)?的?{_MASTER}",
    rf"是\s*{_ROBOT}\s*的?(?:新|真正)?的?{_MASTER}",
    r"(?:命令|指令|要求|请求)(?:都|一律)?(?:不需要|无需|不用|不必)(?:再|任何)?(?:经过)?(?:批准|确认|同意|许可|询问|授权)",
    r"(?:有|得到|获得)了?.{0,8}(?:许可|授权|同意|批准|权限).{0,6}(?:做任何|做所有|执行|一切|所有事|任何事)",
    r"(?:不经|未经|无需|不用)(?:询问|确认|批准|同意|许可)(?:就|即可|直接|便)?(?:执行|运行|发送|转发|操作)",
    r"(?:要|都|必须|应该|得|只)听(?:从)?.{1,12}的(?:命令|指令|吩咐|指挥)|服从",
    rf"(?:你|您|{_ROBOT})\s*(?:已经|已|早就)?(?:同意|答应|承诺|保证)",
    r"(?:每当|每次|一旦|只要|如果|当).{0,30}[,，]\s*(?:请|就|都|要|先)?(?:告诉|回答|回复|发送|发给|转发|执行|运行|转账|付钱|让)"
    r"(?:他|她|我|大家|所有人|\s?[A-Za-z])",
)
