"""The container of all services that the API uses; `app.py` fills it. Adapters appear here only as Protocols."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from pydantic import JsonValue, SecretStr

from anycowork.chats.chat_export import ChatExport
from anycowork.chats.chat_service import ChatService
from anycowork.chats.decision_service import DecisionService
from anycowork.chats.fork_service import ForkService
from anycowork.chats.job_service import JobService
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.queue_service import QueueService
from anycowork.chats.rollback_service import RollbackService
from anycowork.chats.rule_service import RuleService
from anycowork.chats.trust_service import TrustService
from anycowork.domain.audit import ChainEnd, ChainHead, Link
from anycowork.domain.chats import Chat, ChatState, Turn
from anycowork.domain.images import ImageBytes
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.messages import Json
from anycowork.domain.metering import Account, Day, KeyLimits, Price, Used
from anycowork.domain.ports import Clock, MessagePage, Store, SuppliedFile
from anycowork.domain.principals import Principal
from anycowork.domain.text_search import SearchResult
from anycowork.domain.usage import ChatUsage, ModelUsage
from anycowork.domain.values import value
from anycowork.jobs.agents import AgentRegistry
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.workflows.workflow_service import WorkflowService


class ReadStore(Store, Protocol):
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

    async def chat_usage(self, chat_id: str) -> ChatUsage:
        """Return the usage of the chat; empty if there is no such chat."""

    async def chain_end(self, chat_id: str) -> ChainEnd | None:
        """None if there is no such chat."""

    def newest_head(self) -> ChainHead | None: ...

    async def chained_after(self, chat_id: str, seq: int, *, up_to: int, limit: int) -> list[Link]:
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


class Session(Protocol):
    @property
    def cookie(self) -> str: ...
    @property
    def page_key(self) -> str: ...


class Sessions(Protocol):
    """Signed-in browsers. A cookie counts only together with the page key of the same session."""

    cookie_name: str

    def offer(self, seconds: float = ...) -> tuple[str, Session]:
        """Return a one-time code, and the session that begins when it is redeemed."""

    async def redeem(self, code: str) -> Session | None:
        """None if the code is unknown, expired or used."""

    async def begin(self) -> Session: ...
    def is_open(self, cookie: str, page_key: str) -> bool: ...
    async def end(self, cookie: str) -> None: ...


class KeyLedger(Protocol):
    """The use of client keys, per day."""

    async def account(self, key_id: str, date: str) -> Account:
        """Return the key's account. It is read once; from then on the account in memory is authoritative."""

    def changed(self, day: Day) -> None:
        """Schedule the day for writing, in a batch. The caller does not wait."""

    async def day(self, key_id: str, date: str) -> Day: ...
    async def totals(self) -> Mapping[str, Day]:
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


class RegisteredRoot(Protocol):
    @property
    def root(self) -> str: ...
    @property
    def created_at(self) -> str: ...


class WorkspaceRootsPort(Protocol):
    """The folders that a person registered."""

    async def all(self) -> Sequence[RegisteredRoot]: ...
    async def register(self, root: str, *, registered_by: str) -> str:
        """Register a folder; return its real path. Raises: BadWorkspace."""


class TrustedFilePort(Protocol):
    """A file of a workspace that is used only after a person has trusted its content."""

    @property
    def kind(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def trusted(self) -> bool: ...


class TrustedFilesPort(Protocol):
    async def in_root(self, root: str) -> Sequence[TrustedFilePort]: ...
    async def instructions(self, workspace: str) -> SuppliedFile | None: ...


class EventStreamsPort(Protocol):
    """Endless streams of server-sent events as bytes; the reader closes them."""

    def follow(self, chat_id: str, *, after: int) -> AsyncGenerator[bytes, None]: ...
    def follow_all(self, *, after: int | None) -> AsyncGenerator[bytes, None]:
        """None: from now on."""


class SettingsPort(Protocol):
    """Shows and changes the settings."""

    async def shown(self) -> Json: ...
    def cost(self, used: ModelUsage) -> float | None:
        """Return the cost in US dollars; None if no price is known."""

    async def change(self, changes: Mapping[str, JsonValue]) -> Json:
        """Raises: Invalid."""


class ProvidersPort(Protocol):
    def describe(self) -> Sequence[Json]: ...
    def context_tokens(self, model_id: str | None) -> int:
        """Return the size of the model's context window in tokens. Raises: NoSuchModel."""


class Connections(Protocol):
    """Manages connections to model servers. Keys can be set but never read."""

    def presets(self) -> Sequence[Json]: ...
    async def connect(self, entry: Mapping[str, JsonValue], key: SecretStr | None) -> Json:
        """Raises: Conflict, Invalid."""

    async def change(self, name: str, changes: Mapping[str, JsonValue], key: SecretStr | None) -> Json:
        """Raises: NotFound, Conflict, Invalid."""

    async def remove(self, name: str) -> None:
        """Raises: NotFound, Conflict."""

    async def models(self, name: str) -> Sequence[str]:
        """Raises: NotFound, ProviderFault."""

    async def test(self, name: str) -> Json:
        """Raises: NotFound."""


class LocalModelsPort(Protocol):
    """Lists, downloads and removes local models."""

    def shown(self) -> Json: ...
    def pull(self, name: str) -> Json:
        """Start a download in the background. Raises: NotFound, Conflict, Invalid."""

    async def cancel(self, name: str) -> Json:
        """Raises: NotFound."""

    async def remove(self, name: str) -> None:
        """Raises: NotFound, Conflict."""


class McpServersPort(Protocol):
    """The MCP servers as a person configures them. Values of environment and headers go in and never come out."""

    def shown(self) -> Sequence[Json]: ...
    async def add(self, config: McpServerConfig) -> Json:
        """Raises: Conflict, StorageFault."""

    async def remove(self, name: str) -> None:
        """Raises: NotFound, StorageFault."""

    async def connect(self, name: str) -> Json:
        """Raises: NotFound."""

    async def disconnect(self, name: str) -> Json:
        """Raises: NotFound."""

    async def relist(self, name: str) -> Json:
        """Raises: NotFound, Conflict."""


class LiveAnswerPort(Protocol):
    """A provider's response whose head has arrived and whose body is streaming."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Iterable[tuple[bytes, bytes]]: ...
    def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body's bytes as they arrive. Raises: ProviderFault."""

    def used(self, expected: Used, *, in_full: bool = False) -> Used:
        """Return the use so far, as reported or estimated; with `in_full`, an unreported use counts as all that was expected."""

    async def aclose(self) -> None:
        """Close the response; before its end, this also stops the provider's work."""


class UpstreamPort(Protocol):
    """Sends requests to one provider."""

    async def post(self, path: str, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> LiveAnswerPort:
        """Send the unchanged body with the provider's key. Raises: ProviderFault."""

    @property
    def bound_field(self) -> str:
        """The provider's field for the maximum length of a chat completion."""

    def price(self, model: str | None) -> Price | None:
        """Return the model's price; None if this provider's prices are not known."""


class UpstreamsPort(Protocol):
    """The targets of the passthrough. Models have the providers' own ids."""

    def find(self, model: str | None) -> UpstreamPort | None:
        """Return the provider that lists exactly this id, else the default one; None if there is no provider."""

    def any_prices(self) -> bool:
        """Whether the price of any model is known."""

    async def models(self) -> Sequence[Json]:
        """Return the models as the providers list them; empty if there are none. Raises: ProviderFault."""


@value
class Services:
    """The services container. `stopping` is set when the server shuts down: streams finish and readiness becomes false."""

    chats: ChatService
    queue: QueueService
    forks: ForkService
    decisions: DecisionService
    jobs: JobService
    agents: AgentRegistry
    rules: RuleService
    rollback: RollbackService
    plan_audit: PlanAudit
    export: ChatExport
    store: ReadStore
    image_bytes: ImageBytes
    keys: ClientKeysPort
    sessions: Sessions
    ledger: KeyLedger
    receipts: IdempotencyPort
    roots: WorkspaceRootsPort
    trusted_files: TrustedFilesPort
    trust: TrustService
    workflows: WorkflowService
    find_workspace: Callable[[str | None], Awaitable[str]]
    streams: EventStreamsPort
    roles: RoleRegistry
    prompts: PromptService
    providers: ProvidersPort
    connections: Connections
    local: LocalModelsPort
    mcp: McpServersPort
    upstreams: UpstreamsPort
    settings: SettingsPort
    clock: Clock
    token: str
    numbers: Callable[[], Awaitable[Mapping[str, int]]]
    storage: Callable[[], Awaitable[Sequence[Json]]]
    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    request_limit_bytes: int = 10 * 1024 * 1024
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
