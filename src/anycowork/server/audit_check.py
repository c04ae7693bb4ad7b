"""Verifies the audit chains in the database against their heads: for `anycowork audit verify` and the page. Changes nothing."""

from collections.abc import Sequence
from pathlib import Path

from anycowork.config.settings import Settings
from anycowork.domain.audit import BrokenChain, ChainHead, HeadEvent, verify_heads
from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.server.database_setup import open_to_read
from anycowork.store.sql.audit import chat_ids, end_of, verify_chat
from anycowork.store.sql.audit_heads import heads_path, read_heads


@value
class AuditFinding:
    what: str
    broken: BrokenChain | None
    end: str = ""

    def as_json(self) -> Json:
        return {
            "what": self.what,
            "holds": self.broken is None,
            "seq": self.broken.seq if self.broken else None,
            "reason": self.broken.reason if self.broken else None,
        }


def verify_every_chain(settings: Settings) -> list[Json]:
    """Returns what was found of every chat and of the heads, as JSON. Blocking. Raises: StorageFault."""
    heads = AuditHeadsFile(heads_path(settings.database_path))  # before the database, which may grow meanwhile
    return [finding.as_json() for finding in verify_in_database(settings, (), heads, every=True)]


def verify_in_database(
    settings: Settings, chats: Sequence[str], heads: "AuditHeadsFile", *, every: bool
) -> list[AuditFinding]:
    with open_to_read(settings) as (connection, expects_heads):
        wanted = [*chats, *([*chat_ids(connection), *heads.chats()] if every else [])]
        found = []
        for chat_id in dict.fromkeys(wanted):
            end = end_of(connection, chat_id)
            broken = verify_chat(connection, chat_id, heads.newest.get(chat_id))
            found.append(AuditFinding(f"chat {chat_id}", broken, end.hash if end else ""))
        if heads.all or expects_heads:
            missing = None if heads.all else BrokenChain(0, "the file is missing or empty")
            found.append(
                AuditFinding("heads of all chats", heads.broken or missing, heads.all[-1].head if heads.all else "")
            )
    return found


class AuditHeadsFile:
    """The file of heads; without one there is nothing to compare with."""

    def __init__(self, path: Path) -> None:
        self.all: list[ChainHead] = []
        self.broken: BrokenChain | None = None
        try:
            self.all += read_heads(path)
            self.broken = verify_heads(self.all)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            self.broken = BrokenChain(len(self.all), f"it cannot be read ({error})")
        self.newest = {head.chat_id: head for head in self.all if head.chat_id}

    def chats(self) -> list[str]:
        """Returns the chats that must be in the database."""
        return [chat_id for chat_id, head in self.newest.items() if head.event is HeadEvent.ADVANCED]
