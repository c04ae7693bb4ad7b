"""A chat by its id, or the error that says that there is none."""

from anycowork.domain.chats import Chat
from anycowork.domain.errors import NotFound
from anycowork.domain.ports import Store


async def find_chat(store: Store, chat_id: str) -> Chat:
    """Raises: NotFound."""
    chat = await store.chat(chat_id)
    if chat is None:
        raise NotFound("chat", chat_id)
    return chat
