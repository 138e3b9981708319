"""Everything the model reads for a step, from the files that people edit and the conversation."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from nanobot.authority import Role
from nanobot.messages import InboundMessage
from nanobot.ports import Clock, Documents, ModelInfo
from nanobot.transcript import Message
