"""Ports of the store besides `ports.py`: pages for clients, client keys and their usage, idempotency, roots, leases; `StoreBackend` names all.

`tests/contract/` holds every store to them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from anycowork.domain.audit import ChainEnd, ChainHead, ChainLink
from anycowork.domain.chats import Chat, ChatState, Turn
from anycowork.domain.images import ImageBytes
from anycowork.domain.messages import Json
from anycowork.domain.metering import Account, DailyUsage, KeyLimits
from anycowork.domain.people import AccessLevel, Person
from anycowork.domain.people_changes import PeopleChange
from anycowork.domain.ports import Journal, MessagePage, Rules, Store, SystemPrompts
from anycowork.domain.principals import Principal
from anycowork.domain.snapshot_ports import SnapshotRows
from anycowork.domain.text_search import SearchResult
from anycowork.domain.usage import ChatUsage, GroupedUsage, UsageGroup
from anycowork.domain.values import value


@value
class StoreNumbers:
    """Counts for operators. `turns`, `jobs` and `tasks` are by state, without those that are over."""

    chats: int
    events: int
    turns: dict[str, int] = field(hash=False)
    jobs: dict[str, int] = field(hash=False)
    tasks: dict[str, int] = field(hash=False)
    approvals_pending: int = 0
    oldest_approval: str | None = None


class StoreQueries(Store, Protocol):
    """The store's reads, and the pages that only API clients need."""

    async def chats_page(
        self,
        *,
        limit: int,
        cursor: str | None,
        q: str | None,
        states: Collection[ChatState],
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> tuple[list[Chat], str | None]:
        """Return chats, newest first, and the cursor of the next page. Raises: Invalid for an invalid cursor."""

    async def newest_turns(self, chat_ids: Sequence[str]) -> Mapping[str, Turn]:
        """The last turn of each of these chats that has one, by the chat's id."""

    async def messages_page(
        self, chat_id: str, *, after: str | None = None, before: str | None = None, limit: int
    ) -> MessagePage:
        """Return one page of messages. Raises: Invalid for an invalid cursor."""

    async def search_messages(
        self, query: str, *, limit: int, before: str | None = None
    ) -> tuple[list[SearchResult], str | None]:
        """Return messages of all chats, newest first, and the cursor of the next page. Raises: Invalid for an invalid cursor."""

    async def grouped_usage(self, by: UsageGroup, since: str, until: str) -> Sequence[GroupedUsage]:
        """The use of all turns that began from one day to another, both included; without a job, none for jobs."""

    async def chat_usage(self, chat_id: str) -> ChatUsage:
        """Return the usage of the chat; empty if there is no such chat."""

    async def chain_end(self, chat_id: str) -> ChainEnd | None:
        """None if there is no such chat."""

    def newest_head(self) -> ChainHead | None: ...

    async def chained_after(self, chat_id: str, seq: int, *, up_to: int, limit: int) -> list[ChainLink]:
        """A page of the audit chain, ascending."""


class KeyHolder(Protocol):
    @property
    def principal(self) -> Principal: ...
    @property
    def created_at(self) -> str: ...
    @property
    def revoked_at(self) -> str | None: ...
    @property
    def limits(self) -> KeyLimits: ...


class ClientKeysPort(Protocol):
    """Client keys, stored only as hashes."""

    async def find(self, key_hash: str) -> Principal | None:
        """None if there is no such key, or it was revoked."""

    async def all(self) -> Sequence[KeyHolder]: ...
    async def add(self, principal: Principal, *, key_hash: str, limits: KeyLimits | None = None) -> str:
        """Add a key; return when it was added."""

    async def revoke(self, principal_id: str) -> bool:
        """False if there is no such key."""

    async def revoked(self, principal_id: str) -> None:
        """Return when this key is revoked."""


class PeoplePort(Protocol):
    """The people of this server besides its owner. Each change is recorded in a hash chain, `by` the label of who made it."""

    async def find(self, person_id: str) -> Person | None:
        """None if there is no such person, or it was removed."""

    async def holder(self, token_digest: str) -> Person | None:
        """Return whose token has this digest; None if nobody's."""

    async def all(self) -> Sequence[Person]:
        """Return all, oldest first, including removed ones."""

    async def changes(self, *, before: int | None, limit: int) -> Sequence[PeopleChange]:
        """Return the recorded changes, newest first: those before this number, or the newest."""

    async def add(self, person: Person, *, by: str) -> None:
        """Raises: Conflict if the name could be taken for another person's."""

    async def change(
        self, person_id: str, *, by: str, name: str | None = None, access: AccessLevel | None = None
    ) -> Person:
        """Return the changed person. What they wrote for a running turn is withdrawn if they may only read now.

        Raises: NotFound, Conflict.
        """

    async def set_token(self, person_id: str, token_digest: str, *, by: str) -> Person:
        """Replace the token; the old one ends. Raises: NotFound."""

    async def remove(self, person_id: str, *, by: str) -> Person:
        """Raises: NotFound."""

    async def changed(self, person: Person) -> Person | None:
        """Return when the stored person is not this one any more: with another access, name or token; None when removed."""


class KeyLedger(Protocol):
    """The use of client keys, per day."""

    async def account(self, key_id: str, date: str) -> Account:
        """Return the key's account. It is read once; from then on the account in memory is authoritative."""

    async def refresh(self, day: DailyUsage) -> None:
        """Add to the day in memory what other servers have counted of it since."""

    def changed(self, day: DailyUsage) -> None:
        """Schedule the day for writing, in a batch. The caller does not wait."""

    async def day(self, key_id: str, date: str) -> DailyUsage: ...
    async def totals(self) -> Mapping[str, DailyUsage]:
        """Return the sum of all days of each key. Pending changes are durable when this returns."""


class RememberedAnswer(Protocol):
    """The stored request of an Idempotency-Key; without a status the request was started and never finished."""

    @property
    def path(self) -> str: ...
    @property
    def body_hash(self) -> str: ...
    @property
    def status(self) -> int | None: ...
    @property
    def response(self) -> bytes | None: ...


class IdempotencyPort(Protocol):
    async def begin(self, principal: str, key: str, *, path: str, body_hash: str) -> RememberedAnswer | None:
        """Claim the key durably and return None, or return its earlier request."""

    async def finish(self, principal: str, key: str, *, status: int, response: bytes) -> None: ...
    async def abandon(self, principal: str, key: str) -> None:
        """Release the key of a request that had no effect."""


@value
class WorkspaceRoot:
    """A folder that a person registered. `trust` maps a path inside to the content hash that a person trusted."""

    root: str
    registered_by: str
    created_at: str
    trust: Json


class RootRows(Protocol):
    async def register(self, root: str, *, registered_by: str) -> None:
        """Again is harmless."""

    async def all(self) -> Sequence[WorkspaceRoot]: ...
    async def set_trust(self, root: str, path: str, content_hash: str | None) -> None:
        """Store the trusted hash; None revokes the trust. Raises: NotFound if the root is not registered."""


class Leases(Protocol):
    """Decides which server writes in a workspace. A change that names an older epoch than the newest is refused (`RequireLease`)."""

    async def take(self, workspace: str, *, owner: str, seconds: float) -> int:
        """Make the owner the writer for this long, and return the new epoch. An owner may take its lease again at any time.

        Raises: LeaseHeld while the lease of another owner has not expired.
        """


class AllStoreQueries(StoreQueries, SnapshotRows, Protocol):
    """Everything that is read from the store."""


class StoreBackend(Protocol):
    """An open store: what the composition root needs, whatever database is behind it."""

    @property
    def journal(self) -> Journal: ...
    @property
    def store(self) -> AllStoreQueries: ...
    @property
    def principals(self) -> ClientKeysPort: ...
    @property
    def people(self) -> PeoplePort: ...
    @property
    def ledger(self) -> KeyLedger: ...
    @property
    def roots(self) -> RootRows: ...
    @property
    def rules(self) -> Rules: ...
    @property
    def system_prompts(self) -> SystemPrompts: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def idempotency(self) -> IdempotencyPort: ...
    @property
    def blobs(self) -> ImageBytes: ...
    async def aclose(self) -> None: ...
