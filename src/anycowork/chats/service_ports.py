"""Ports of the running server: what services and faces need of sessions, workspace roots, streams, settings, models and MCP servers."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Protocol

from pydantic import JsonValue, SecretStr

from anycowork.domain.events import StreamItem
from anycowork.domain.mcp_servers import McpServerChanges, McpServerConfig
from anycowork.domain.messages import Json
from anycowork.domain.metering import Price, TokenUsage
from anycowork.domain.model import ContextSize, ModelFacts
from anycowork.domain.people import Person
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.usage import ModelUsage


class Session(Protocol):
    @property
    def cookie(self) -> str: ...
    @property
    def page_key(self) -> str: ...


class OpenSession(Protocol):
    """`person_id` is None for a session of the owner."""

    @property
    def person_id(self) -> str | None: ...
    def is_of(self, person: Person) -> bool:
        """Whether it began with the token that this person has now."""


class Sessions(Protocol):
    """Signed-in browsers. A cookie counts only together with the page key of the same session."""

    cookie_name: str

    def offer(self, seconds: float = ..., *, person: Person | None = None) -> tuple[str, Session]:
        """Return a one-time code, and the session that begins when it is redeemed: of this person, or of the owner."""

    async def redeem(self, code: str) -> Session | None:
        """None if the code is unknown, expired or used."""

    async def begin(self, person: Person | None = None) -> Session: ...
    def find(self, cookie: str, page_key: str) -> OpenSession | None:
        """None if both do not belong to one session that has not ended."""

    async def end_all_of(self, person_id: str) -> None: ...
    async def end(self, cookie: str) -> None: ...


class AuditChecks(Protocol):
    """Checks of all audit chains, one at a time."""

    async def verify(self, *, full: bool) -> Json:
        """Return the report. Raises: Conflict if a check runs already; StorageFault."""

    def progress(self) -> Json: ...
    def stop(self) -> None: ...


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
    """Endless streams of records; the reader closes them. Each protocol encodes records in its own way."""

    def follow(self, chat_id: str, *, after: int) -> AsyncGenerator[StreamItem, None]: ...
    def follow_all(self, *, after: int | None) -> AsyncGenerator[StreamItem, None]:
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

    def context_size(self, model_id: str | None) -> ContextSize:
        """Return the same, and whether it is known. Raises: NoSuchModel."""

    def facts(self, provider: str, model: str) -> ModelFacts:
        """Return the price and context size of a model of this provider, as far as they are known."""


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
    def resources(self, query: str = "", limit: int = 1_000) -> Sequence[Json]:
        """The resources of all connected servers whose server, name or address holds the query."""

    async def add(self, config: McpServerConfig) -> Json:
        """Raises: Conflict, StorageFault."""

    async def use_in_chat(self, chat_id: str, configs: Sequence[McpServerConfig]) -> Sequence[Json]:
        """Connects them for this chat alone, instead of those it had. Raises: Conflict."""

    async def change(self, name: str, changes: McpServerChanges) -> Json:
        """Raises: NotFound, StorageFault."""

    async def remove(self, name: str) -> None:
        """Raises: NotFound, StorageFault."""

    async def connect(self, name: str) -> Json:
        """Raises: NotFound."""

    async def sign_in(self, name: str, redirect_uri: str) -> Json:
        """The address at which a person logs in. Raises: NotFound, Conflict."""

    def finish_sign_in(self, answer: dict[str, str]) -> bool:
        """Whether a sign-in waited for this answer of a browser."""

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

    def used(self, expected: TokenUsage, *, in_full: bool = False) -> TokenUsage:
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


class MetricsPort(Protocol):
    """Counts for operators. Counting never raises."""

    def http_request(self, method: str, route: str, status: int, seconds: float | None) -> None: ...
    def gateway_request(self, principal: str) -> None: ...
    async def scrape(self) -> bytes:
        """Returns all metrics as Prometheus reads them. Raises: StorageFault."""
