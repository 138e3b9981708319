"""The methods of the Bot API that a bot calls to speak: parameters in, a result or a RefusalError out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.telegram_checks import (
    ACTIONS,
    CAPTION_LIMIT,
    DOWNLOAD_BYTES,
    FILE_BYTES,
    PHOTO_BYTES,
    RefusalError,
    bad,
    check_commands,
    check_keyboard,
    check_text,
)
from tests.fakes.telegram_world import Chat, Json, World


@dataclass(frozen=True)
class Upload:
    """A file in a request."""

    name: str
    mime: str
    content: bytes


class Methods:
    def __init__(self, world: World) -> None:
        self.world = world

    def find(self, name: str) -> Callable[[Mapping[str, Any]], Any]:
        method: Callable[[Mapping[str, Any]], Any] | None = getattr(self, name.lower(), None)
        if method is None or name.lower() == "find":
            raise RefusalError(404, "Not Found: method not found")
        return method

    def getme(self, _: Mapping[str, Any]) -> Json:
        return self.world.bot

    def sendmessage(self, told: Mapping[str, Any]) -> Json:
        chat = self._chat(told)
        entities = told.get("entities", [])
        return self._said(chat, told, {"text": check_text(str(told.get("text", "")), entities), "entities": entities})

    def sendphoto(self, told: Mapping[str, Any]) -> Json:
        chat, photo = self._chat(told), self._upload(told, "photo")
        if len(photo.content) > PHOTO_BYTES:
            raise bad("file is too big for a photo")
        if b"too wide" in photo.content:
            raise bad("PHOTO_INVALID_DIMENSIONS")
        return self._said(chat, told, {"photo": self.world.photo(photo.content), **self._caption(told)})

    def senddocument(self, told: Mapping[str, Any]) -> Json:
        chat, file = self._chat(told), self._upload(told, "document")
        document = self.world.document(file.content, file.name, file.mime)
        return self._said(chat, told, {"document": document, **self._caption(told)})

    def sendchataction(self, told: Mapping[str, Any]) -> bool:
        if told.get("action") not in ACTIONS:
            raise bad("wrong parameter action in request")
        chat = self._chat(told)
        chat.actions.append((told["action"], self._thread(chat, told)))
        return True

    def editmessagetext(self, told: Mapping[str, Any]) -> Json:
        message = self._chat(told).found(told.get("message_id"), "edit")
        markup = self._markup(told)
        self.world.change(message, str(told.get("text", "")), told.get("entities", []), markup)
        return message.data

    def editmessagereplymarkup(self, told: Mapping[str, Any]) -> Json:
        message = self._chat(told).found(told.get("message_id"), "edit")
        markup = self._markup(told)
        if message.data.get("reply_markup") == markup:
            raise bad("message is not modified: specified new message content and reply markup are exactly the same")
        message.data.pop("reply_markup", None)
        if markup:
            message.data["reply_markup"] = markup
        return message.data

    def deletemessage(self, told: Mapping[str, Any]) -> bool:
        self._chat(told).found(told.get("message_id"), "delete").is_deleted = True
        return True

    def answercallbackquery(self, told: Mapping[str, Any]) -> bool:
        press = str(told.get("callback_query_id"))
        if press not in self.world.presses:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self.world.presses[press] = str(told.get("text", ""))
        return True

    def setmycommands(self, told: Mapping[str, Any]) -> bool:
        check_commands(told["commands"])
        self.world.commands[str(told.get("language_code", ""))] = told["commands"]
        return True

    def getfile(self, told: Mapping[str, Any]) -> Json:
        number = str(told.get("file_id"))
        if number not in self.world.files:
            raise bad("wrong file_id or the file is temporarily unavailable")
        if self.world.sizes[number] > DOWNLOAD_BYTES:
            raise bad("file is too big")
        path, content = self.world.files[number]
        return {"file_id": number, "file_unique_id": f"u{number}", "file_size": len(content), "file_path": path}

    def _chat(self, told: Mapping[str, Any]) -> Chat:
        chat = self.world.chat(told.get("chat_id", 0))
        if chat.moved_to is not None:
            upgraded = "group chat was upgraded to a supergroup chat"
            raise bad(upgraded, migrate_to_chat_id=chat.moved_to)
        if chat.refuses is not None:
            raise chat.refuses
        return chat

    def _thread(self, chat: Chat, told: Mapping[str, Any]) -> int | None:
        thread = int(told["message_thread_id"]) if "message_thread_id" in told else None
        if thread is not None and thread not in chat.threads:
            raise bad("message thread not found")
        return thread

    def _said(self, chat: Chat, told: Mapping[str, Any], content: Json) -> Json:
        thread = self._thread(chat, told)
        reply = told.get("reply_parameters", {})
        if reply and int(reply["message_id"]) not in chat.messages and not reply.get("allow_sending_without_reply"):
            raise bad("message to be replied not found")
        if reply and int(reply["message_id"]) in chat.messages:
            content["reply_to_message"] = {"message_id": reply["message_id"], "chat": chat.data, "date": 0}
        if thread is not None:
            content |= {"message_thread_id": thread, "is_topic_message": True}
        if markup := self._markup(told):
            content["reply_markup"] = markup
        return self.world.show(chat, content).data

    def _markup(self, told: Mapping[str, Any]) -> Json | None:
        markup: Json = told.get("reply_markup") or {}
        check_keyboard(markup)
        return markup if markup.get("inline_keyboard") else None

    def _caption(self, told: Mapping[str, Any]) -> Json:
        entities = told.get("caption_entities", [])
        caption = check_text(str(told.get("caption", "")), entities, limit=CAPTION_LIMIT, what="caption")
        return {"caption": caption, "caption_entities": entities} if caption else {}

    def _upload(self, told: Mapping[str, Any], name: str) -> Upload:
        upload = told.get(name)
        if not isinstance(upload, Upload):
            raise bad(f"there is no {name} in the request")
        if not upload.content:
            raise bad("file must be non-empty")
        if len(upload.content) > FILE_BYTES:
            raise RefusalError(413, "Request Entity Too Large")
        return upload
