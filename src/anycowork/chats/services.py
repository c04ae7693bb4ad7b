"""Everything the API stands on, in one object that `app.py` fills. Adapters are known here by Protocols alone."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from pydantic import JsonValue, SecretStr

from anycowork.chats.chat_service import ChatService
from anycowork.chats.decision_service import DecisionService
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.rollback_service import RollbackService
from anycowork.chats.rule_service import RuleService
from anycowork.chats.trust_service import TrustService
from anycowork.domain.audit import ChainEnd, ChainHead, Link
from anycowork.domain.chats import Chat, ChatState
from anycowork.domain.images import ImageBytes
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.messages import Json
from anycowork.domain.metering import Account, Day, KeyLimits, Price, Used
from anycowork.domain.ports import Clock, MessagePage, Store, SuppliedFile
from anycowork.domain.principals import Principal
from anycowork.domain.usage import ChatUsage, ModelUsage
from anycowork.domain.values import value
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.workflows.workflow_service import WorkflowService


class ReadStore(Store, Protocol):
    """The store's reads, and the pages that only readers from outside need."""

    async def chats_page(
        self, *, limit: int, cursor: str | None, q: str | None, states: Collection[ChatState]
    ) -> tuple[list[Chat], str | None]:
        """Newest first, and the cursor for the page beyond. Raises: Invalid for a cursor that is none."""

    async def messages_page(
        self, chat_id: str, *, after: str | None = None, before: str | None = None, limit: int
    ) -> MessagePage:
        """Raises: Invalid for a cursor that is none."""

    async def chat_usage(self, chat_id: str) -> ChatUsage:
        """What the chat has used so far; nothing if there is no such chat."""

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
    """Client keys, known by the hash of their words alone."""

    async def find(self, key_hash: str) -> Principal | None:
        """None if there is no such key, or it was revoked."""

    async def all(self) -> Sequence[KeyHolder]: ...
    async def add(self, principal: Principal, *, key_hash: str, limits: KeyLimits | None = None) -> str:
        """When it was added."""

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
        """A one-time code, and the session that begins when it is redeemed."""

    async def redeem(self, code: str) -> Session | None:
        """None if the code is unknown, expired or used."""

    async def begin(self) -> Session: ...
    def is_open(self, cookie: str, page_key: str) -> bool: ...
    async def end(self, cookie: str) -> None: ...


class KeyLedger(Protocol):
    """What client keys used, day by day."""

    async def account(self, key_id: str, date: str) -> Account:
        """Read once; from then on the one who counts has the truth."""

    def changed(self, day: Day) -> None:
        """Made durable soon, in a group. Nobody waits for it."""

    async def day(self, key_id: str, date: str) -> Day: ...
    async def totals(self) -> Mapping[str, Day]:
        """All days of each key added up. What was changed is durable when this returns."""


class RememberedAnswer(Protocol):
    """What an Idempotency-Key was used for; without a status the request was begun and never finished."""

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
        """None: the key was free and is now taken, durably. Otherwise what it was used for."""

    async def finish(self, principal: str, key: str, *, status: int, response: bytes) -> None: ...
    async def abandon(self, principal: str, key: str) -> None:
        """The request came to nothing: the key may be used again."""


class RegisteredRoot(Protocol):
    @property
    def root(self) -> str: ...
    @property
    def created_at(self) -> str: ...


class WorkspaceRootsPort(Protocol):
    """The folders that a person registered."""

    async def all(self) -> Sequence[RegisteredRoot]: ...
    async def register(self, root: str, *, registered_by: str) -> str:
        """The folder's real path. Raises: BadWorkspace."""


class TrustedFilePort(Protocol):
    """One file of a workspace that is used only once a person trusted its content."""

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
    """Server-sent events as bytes, for ever; whoever reads them closes them."""

    def follow(self, chat_id: str, *, after: int) -> AsyncGenerator[bytes, None]: ...
    def follow_all(self, *, after: int | None) -> AsyncGenerator[bytes, None]:
        """None: from now on."""


class SettingsPort(Protocol):
    """Settings as they may be shown, and the way to change them."""

    async def shown(self) -> Json: ...
    def cost(self, used: ModelUsage) -> float | None:
        """In US dollars; None where no price is known."""

    async def change(self, changes: Mapping[str, JsonValue]) -> Json:
        """Raises: Invalid."""


class ProvidersPort(Protocol):
    def describe(self) -> Sequence[Json]: ...
    def context_tokens(self, model_id: str | None) -> int:
        """How many tokens the model can be shown. Raises: NoSuchModel."""


class Connections(Protocol):
    """Model servers as a person connects them. Keys go in and never come out."""

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
    """The local models: what is here, what is on its way, and how to get or remove one."""

    def shown(self) -> Json: ...
    def pull(self, name: str) -> Json:
        """Begins in the background. Raises: NotFound, Conflict, Invalid."""

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
    """A provider's answer on its way: its head is there, its body comes."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Iterable[tuple[bytes, bytes]]: ...
    def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body's bytes as they arrive. Raises: ProviderFault."""

    def used(self, expected: Used, *, in_full: bool = False) -> Used:
        """What it used so far, by its own word or by estimate; `in_full`: else all that was expected."""

    async def aclose(self) -> None:
        """Whoever asked closes; before the end, this ends the provider's work too."""


class UpstreamPort(Protocol):
    """The way to one provider."""

    async def post(self, path: str, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> LiveAnswerPort:
        """With the provider's key, and the body as it is. Raises: ProviderFault."""

    @property
    def bound_field(self) -> str:
        """The field by which a chat completion bounds its answer there."""

    def price(self, model: str | None) -> Price | None:
        """None if this provider's prices are not known."""


class UpstreamsPort(Protocol):
    """Where the passthrough leads. Models go by the providers' own ids."""

    def find(self, model: str | None) -> UpstreamPort | None:
        """The provider that lists this very id, else the default one; None if there is no provider at all."""

    def any_prices(self) -> bool:
        """Whether a price is known of any model."""

    async def models(self) -> Sequence[Json]:
        """What the providers list, in their own words; empty if there are none. Raises: ProviderFault."""


@value
class Services:
    """`stopping` is set when the server is asked to end: streams finish and readiness turns false."""

    desk: ChatService
    decisions: DecisionService
    rules: RuleService
    rollback: RollbackService
    plan_audit: PlanAudit
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
