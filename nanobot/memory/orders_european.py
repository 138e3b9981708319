"""The commonest forms of an order to the bot in German, Spanish and French, in letters without accents."""

_START = r"(?:^|[.!?:;,]\s*)"
_SOME = r"[^.!?\n]{0,60}"
GERMAN = (
    rf"{_START}(?:bitte )?(?:immer|stets|nie|niemals|ab (?:jetzt|sofort|heute)|von (?:nun|jetzt) an|kunftig|kuenftig"
    rf"|in zukunft)\b{_SOME}\b(?:gehorchen?|folgen|befolgen|ausfuhren|ausfuehren|senden?|schicken?|weiterleiten|leite"
    r"|antworten?|fragen?|ignorieren?|sagen?|loschen|loeschen|vertrauen?|zahlen?|bezahlen?|uberweisen|zustimmen|tun"
    r"|machen|erwahnen|empfehlen)\b",
    r"^[^\w\n]*(?:bitte )?(?:gehorche?|befolge|ignoriere|sende|schicke?|leite|fuhre|antworte|vertraue|uberweise|sage?"
    r"|behandle|losche) \w",
    r"\b(?:der|die|dieser?|diesem|dem|dein) (?:ro)?(?:bot|assistent(?:en)?|ki|nanobot)\b[^.!?\n]{0,20}\b(?:muss|soll"
    r"|sollte|darf|wird|hat (?:zu|versprochen|zugestimmt))\b",
    r"\bdu (?:musst|sollst|solltest|darfst|wirst|hast (?:zu|versprochen|zugestimmt))\b",
    r"\b(?:ist|bin) (?:jetzt |nun |auch )?(?:(?:der|die|ein|eine) )?(?:neue[rn]? )?(?:besitzer|eigentumer|inhaber|chef"
    r"|admin(?:istrator)?|herr)(?:in)? (?:dieses|des|vom|von|von diesem|von dem) (?:bots?|assistenten|ki|nanobot)\b",
    r"\b(?:ist|bin) (?:jetzt |nun |auch )?deine? (?:neue[rn]? )?(?:besitzer|eigentumer|inhaber|chef|admin|herr)",
    r"\b(?:befehle?|anweisungen|auftrage)\b[^.!?\n]{0,40}\b(?:keine|ohne) (?:zustimmung|genehmigung|erlaubnis"
    r"|bestatigung|freigabe|ruckfrage)",
    r"\b(?:erlaubnis|vollmacht|genehmigung|zugriff|rechte)\b[^.!?\n]{0,15}\b(?:fur alles|zu allem|auf alles)\b",
    r"\b(?:wenn|sobald|falls|jedes ?mal)\b[^.!?\n]{0,80},\s*(?:(?:dann|bitte|immer) )?(?:sage?|sende|schicke?|antworte"
    r"|fuhre?|leite|ignoriere|erzahle?|gib|zeige?|empfiehl|frage?)\b(?! (?:ich|er|sie|es|wir)\b)",
)
SPANISH = (
    rf"{_START}(?:por favor,? )?(?:siempre|nunca|jamas|a partir de ahora|desde ahora|de ahora en adelante|en adelante)"
    rf"\b{_SOME}\b(?:obedece\w*|ejecut\w+|envi\w+|reenvi\w+|manda\w*|respond\w+|contest\w+|pregunt\w+|di|dile|ignor\w+"
    r"|sigue|haz|paga\w*|borra\w*|confia\w*)\b",
    r"^[^\w\n]*(?:por favor,? )?(?:obedece|ejecuta|envia|reenvia|ignora|responde|manda|paga|borra|confia) \w",
    r"\b(?:el|este|tu) (?:bot|asistente|agente)\b[^.!?\n]{0,20}\b(?:debe\w*|tiene que|puede|hara|va a"
    r"|ha (?:prometido|aceptado|acordado))\b|\b(?:debes|tienes que)\b",
    r"\bes (?:ahora )?(?:el|la|un|una) (?:nuev[oa] )?(?:duen[oa]|propietari[oa]|jefe|jefa|administrador\w*|amo)"
    r" (?:de este|del|de tu) (?:bot|asistente|nanobot)",
    r"\bes (?:ahora )?tu (?:nuev[oa] )?(?:duen[oa]|propietari|jef|amo\b)",
    r"\b(?:ordenes|comandos|peticiones)\b[^.!?\n]{0,40}\b(?:no (?:necesitan|requieren)|sin) (?:aprobacion|permiso"
    r"|confirmacion|autorizacion)|\bpermiso\b[^.!?\n]{0,25}\bpara todo\b",
    r"\b(?:cuando|cada vez que|siempre que|si)\b[^.!?\n]{0,80},\s*(?:(?:siempre|entonces) )?(?:di|dile|envia\w*"
    r"|responde|manda\w*|ejecuta|ignora|contesta\w*|recomienda\w*)\b",
)
FRENCH = (
    rf"{_START}(?:s'il (?:te|vous) plait,? )?(?:toujours|jamais|desormais|a partir de maintenant|dorenavant)\b{_SOME}\b"
    r"(?:obei\w*|execut\w+|envo[iy]\w+|transfer\w+|repond\w*|demand\w+|ignor\w+|dis|dites|dire|suivre|suis|suivez|pay\w+"
    r"|supprim\w+|fais|faire)\b",
    r"^[^\w\n]*(?:obeis(?:sez)?|execute[zr]?|envoie|envoyez|ignore[zr]?|reponds|repondez|transfere[zr]?|paie|paye) \w",
    r"\b(?:le|ce|ton|cet|l')\s?(?:bot|assistant|agent)\b[^.!?\n]{0,20}\b(?:doit|devra|peut|va|a (?:promis|accepte))\b"
    r"|\b(?:tu dois|vous devez)\b",
    r"\best (?:maintenant )?(?:le|la|un|une) (?:nouve(?:au|lle) )?(?:proprietaire|patron\w*|chef\w*|maitre\w*"
    r"|administrat\w+) (?:de ce|de cet|du|de l'|de ton) ?(?:bot|assistant|nanobot)",
    r"\best (?:maintenant )?(?:ton|ta|votre) (?:nouve(?:au|lle) )?(?:proprietaire|patron|chef|maitre|administrat)",
    r"\b(?:commandes|ordres|demandes)\b[^.!?\n]{0,40}\b(?:sans|pas besoin d'|pas besoin de |aucune )\s?(?:approbation"
    r"|permission|autorisation|confirmation)|\bpermission\b[^.!?\n]{0,25}\bpour tout\b",
    r"\b(?:quand|lorsque|chaque fois que|des que|si)\b[^.!?\n]{0,80},\s*(?:(?:alors|toujours) )?(?:dis|envoie|reponds"
    r"|execute|ignore|transfere|recommande|paie|paye)\b",
)
