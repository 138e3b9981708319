"""Letters that look like others: a word that is written with them is read as that word all the same."""

import unicodedata

_ALIKE = """\
a аɑαᴀАΑ b ʙВΒ c сᴄС d ԁᴅ e еεᴇЕΕ f ꜰ g ɡɢ h һնʜНΗ i іιıɪІΙ j јᴊЈ k кκᴋКΚ l ӏǀʟ m мᴍМΜ n ոɴΝ o оοօᴏОΟ p рρᴘРΡ
q ԛ r ʀ s ѕꜱЅ t тτᴛТΤ u սᴜ v ʋνᴠ w ԝᴡ x хХΧ y уүʏУΥ z ᴢΖ
"""
_WORDS = _ALIKE.split()
_TABLE = str.maketrans(
    {other: plain for plain, others in zip(_WORDS[::2], _WORDS[1::2], strict=True) for other in others}
)


def spelled(text: str) -> str:
    """The text in plain letters: without accents, and with look-alikes of other scripts as the Latin letters."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    return "".join(char for char in apart if not unicodedata.combining(char)).translate(_TABLE)
