"""Defines every setting once: name, type, unit, default. A new setting is one line here; `loading.py` gets its value.

The package that uses a setting implements it; it gets plain values from `app.py`, never this model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, ValidationError, model_validator

from anycowork.config.errors import describe_problem
from anycowork.config.sections import DelegateFields, NotificationEntry, OpenIdEntry
from anycowork.domain.errors import Invalid
from anycowork.domain.network import is_loopback
from anycowork.domain.values import value

UNKEPT_FOLDERS = (
    "node_modules", "target", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    ".gradle", ".next", ".nuxt", ".turbo",
)  # fmt: skip


class BadSettings(Invalid):
    """Names the setting, the source of its value and what would be right."""

    code = "bad_settings"


@value
class SettingSpec:
    """What is known of a setting besides its type: its unit, and whether a person may change it through PUT /settings."""

    unit: str = ""
    changeable: bool = False


class PriceEntry(BaseModel):
    """One model's price from config.toml, in US dollars per million tokens. `cached` is the price of prompt tokens that the provider
    had cached; without it, the full price applies."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    cached: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


ModelId = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$", max_length=300)]


class ModelEntry(BaseModel):
    """What a person says of one model of a provider; what is left out is taken from what is known of it. `fallbacks` are models, each with
    its provider in front, that go on in this order where it cannot answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    images: bool | None = None
    calling: Literal["text", "schema", "native"] | None = None
    context_tokens: Annotated[int, Field(gt=0)] | None = None
    price: PriceEntry | None = None
    fallbacks: Annotated[tuple[ModelId, ...], Field(max_length=5)] = ()


class ProviderEntry(BaseModel):
    """One provider from config.toml. It never holds the key: `api_key_env` names the variable that does.

    `calling` schema: a JSON schema limits the replies of its models; native: they use their own function calling; `brief`: they are small,
    and get short prompts. `images`: the models that accept images, as names or patterns (`*-vision*`); without it, those with a known name.
    `ca_file`: a PEM file of authorities that are trusted for its certificate, besides those of this machine. `privacy`: who sees what is
    sent there; without it, nobody else for an address of this machine, and anyone for every other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
    kind: Literal["openai", "anthropic"] = "openai"
    base_url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    models: tuple[str, ...] = ()
    context_tokens: Annotated[int, Field(gt=0)] | None = None
    calling: Literal["text", "schema", "native"] = "text"
    brief: bool | None = None
    images: tuple[str, ...] | None = None
    ca_file: Path | None = None
    prices: Mapping[str, PriceEntry] = Field(default_factory=dict)
    model_settings: Mapping[str, ModelEntry] = Field(default_factory=dict)
    privacy: Literal["local", "company", "anyone"] | None = None


class SearchEngineEntry(BaseModel):
    """The engine that `search_web` asks. It never holds the key: a pasted one is stored apart, or `api_key_env` names the variable."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: Literal["searxng", "brave", "tavily"]
    base_url: Annotated[str, Field(pattern=r"^https?://\S+$", max_length=2_000)] | None = None
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None


Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0)]
Word = Annotated[str, Field(pattern=r"^\S+$")]
FolderText = Annotated[str, Field(min_length=1, max_length=4_096)]


class AgentLimits(BaseModel):
    """What one turn of the agent may use, instead of `max_steps` and `turn_seconds`, and a task that another agent gives it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    steps: Count | None = None
    seconds: Seconds | None = None
    tokens: Count | None = None
    cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class AgentEntry(DelegateFields):
    """One agent from config.toml, `[agents.NAME]`. Without a `model` it uses the chat's. `description` tells others what it is for."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    role: Word = "actor"
    model: Word | None = None
    prompt: Annotated[str, Field(max_length=50_000)] = ""
    description: Annotated[str, Field(max_length=1_000)] = ""
    limits: AgentLimits = AgentLimits()


class Settings(BaseModel):
    """The server's settings, read once at startup. Secrets appear in no repr and no dump."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    # address and access
    host: Annotated[Word, SettingSpec("address")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535), SettingSpec("port; 0 = any free one")] = 8484
    token: Annotated[SecretStr | None, SettingSpec("secret; created at the first start")] = None
    allowed_hosts: Annotated[
        tuple[Word, ...], SettingSpec("further host names that are accepted", changeable=True)
    ] = ()
    new_visibility: Annotated[
        Literal["private", "everyone"] | None,
        SettingSpec(
            "who sees chats and workspaces that people start, until they share them: private or everyone; none = everyone where there"
            " were people before chats could be private, else private",
            changeable=True,
        ),
    ] = None
    request_limit_bytes: Annotated[Count, SettingSpec("bytes")] = 10 * 1024 * 1024
    heartbeat_seconds: Annotated[Seconds, SettingSpec("seconds between heartbeats on an event stream")] = 15.0
    shutdown_seconds: Annotated[Seconds, SettingSpec("seconds that running turns get to end")] = 10.0

    # folders and storage
    data_dir: Annotated[Path, SettingSpec("folder")] = Field(default_factory=lambda: default_data_dir())
    workspace: Annotated[Path | None, SettingSpec("folder; naming it here registers it")] = None
    snapshot_quota_bytes: Annotated[Count, SettingSpec("bytes that kept file contents may take")] = 2 * 1024**3
    unkept_folders: Annotated[
        tuple[Word, ...],
        SettingSpec(
            "names of folders of generated files: if git ignores such a folder, undo removes what a command made in it but does not"
            " bring older content back; none = keep everything"
        ),
    ] = UNKEPT_FOLDERS
    command_copy_bytes: Annotated[
        Count, SettingSpec("bytes of a workspace that is copied for a command, without overlays")
    ] = 512 * 1024**2
    command_cache_bytes: Annotated[
        Count, SettingSpec("bytes that the command caches of all workspaces may take; the oldest are removed first")
    ] = 4 * 1024**3
    kept_changes_bytes: Annotated[
        Count, SettingSpec("bytes of kept command changes that could not be committed; the oldest are removed first")
    ] = 1024**3
    mcp_data_bytes: Annotated[
        Count, SettingSpec("bytes that the data folder of one MCP server may take; a server with more is stopped")
    ] = 4 * 1024**3
    database_url: Annotated[SecretStr | None, SettingSpec("postgresql://…; none = SQLite in the data folder")] = None

    # models
    model: Annotated[Word | None, SettingSpec("provider/model", changeable=True)] = None
    providers: Annotated[tuple[ProviderEntry, ...], SettingSpec("list of providers", changeable=True)] = ()
    probe_local_servers: Annotated[bool, SettingSpec("detect Ollama, LM Studio, llama.cpp", changeable=True)] = True
    provider_timeout: Annotated[Seconds, SettingSpec("seconds that a provider may be silent", changeable=True)] = 120.0
    local_threads: Annotated[Count | None, SettingSpec("threads of the local model; none = by load")] = None
    local_idle_seconds: Annotated[Seconds, SettingSpec("seconds unused after which the local model is unloaded")] = (
        600.0
    )

    agents: Annotated[
        Mapping[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)], AgentEntry],
        SettingSpec(
            "agents by name: role, model, prompt, description, limits; or a program (command, env, network, seconds)",
            changeable=True,
        ),
    ] = Field(default_factory=dict)

    parallel_tasks: Annotated[
        Count, SettingSpec("tasks of a job that run at the same time at most", changeable=True)
    ] = 4

    # limits of a turn
    max_steps: Annotated[Count, SettingSpec("tool calls in a turn", changeable=True)] = 10
    turn_seconds: Annotated[Seconds, SettingSpec("seconds of work in a turn", changeable=True)] = 300.0
    autonomy_max_steps: Annotated[
        Count, SettingSpec("tool calls in a turn of a chat with autonomy 'edits' or 'sandboxed'", changeable=True)
    ] = 60
    autonomy_turn_seconds: Annotated[
        Seconds, SettingSpec("seconds of work in a turn of such a chat", changeable=True)
    ] = 1800.0
    max_faults: Annotated[Count, SettingSpec("unreadable replies in a turn", changeable=True)] = 3
    command_timeout: Annotated[Seconds, SettingSpec("seconds that a command may run", changeable=True)] = 120.0

    diagnostics_seconds: Annotated[
        float,
        Field(ge=0, le=60, allow_inf_nan=False),
        SettingSpec(
            "seconds that an edit waits for the errors that the project's language server finds; 0 starts none",
            changeable=True,
        ),
    ] = 2.0

    person_commands: Annotated[
        Literal["auto", "on", "off"],
        SettingSpec(
            "whether people may run commands of their own in the page: on, off, or auto = only if no other machine reaches this server"
        ),
    ] = "auto"

    sandbox_paths: Annotated[
        tuple[FolderText, ...],
        SettingSpec("folders that commands may read besides the tools on the server's PATH", changeable=True),
    ] = ()

    ask: Annotated[
        Literal["before", "at_commit"],
        SettingSpec(
            "when a command without a matching rule asks: before it runs, or afterwards with its actual changes",
            changeable=True,
        ),
    ] = "before"

    search_engine: Annotated[
        SearchEngineEntry | None,
        SettingSpec(
            "the search engine of search_web: kind (searxng, brave or tavily), base_url, api_key_env; none by default",
            changeable=True,
        ),
    ] = None

    notifications: Annotated[
        NotificationEntry | None,
        SettingSpec(
            "how people are told what waits for them: delay (seconds), page_url, private_hosts, smtp", changeable=True
        ),
    ] = None

    openid: Annotated[
        OpenIdEntry | None,
        SettingSpec("the OpenID provider with which people sign on; none by default, only in config.toml"),
    ] = None

    plugins: Annotated[
        tuple[Word, ...], SettingSpec("names of installed plugins whose tools may be used", changeable=True)
    ] = ()
    mcp_modules: Annotated[
        tuple[Word, ...],
        SettingSpec("names of installed plugins whose MCP servers run inside this server, with all its rights"),
    ] = ()

    # behaviour
    log_level: Annotated[
        Literal["auto", "debug", "info", "warning", "error"],
        SettingSpec("the least that the log holds; auto = info with log_format json, else warning", changeable=True),
    ] = "auto"
    log_format: Annotated[
        Literal["text", "json"],
        SettingSpec("json: one object in each line of the log, with the ids of request, chat and turn"),
    ] = "text"
    traces: Annotated[
        bool, SettingSpec("send spans to the OpenTelemetry collector that OTEL_EXPORTER_OTLP_ENDPOINT names")
    ] = False
    trace_contents: Annotated[bool, SettingSpec("spans hold prompts, replies, parameters and results too")] = False
    open_browser: Annotated[bool, SettingSpec("only when started in a terminal")] = True

    @model_validator(mode="after")
    def _other_addresses_need_a_token(self) -> Self:
        if not is_loopback(self.host) and self.token is None:
            raise ValueError(
                f"host {self.host} can be reached from other machines, so a token must be set on purpose: "
                "give --token or ANYCOWORK_TOKEN, or stay on 127.0.0.1"
            )
        return self

    @model_validator(mode="after")
    def _a_token_can_stand_in_a_header(self) -> Self:
        if self.token is not None and not _fits_a_header(self.token.get_secret_value()):
            raise ValueError("token must be printable ASCII without spaces, and not empty")
        return self

    def changed(self, changes: Mapping[str, JsonValue]) -> Self:
        """Returns these settings with the changes; None resets one to its default. Raises: BadSettings."""
        require_changeable(changes)
        unchanged = {name: getattr(self, name) for name in self.model_fields_set if name not in changes}
        new_values = {name: value for name, value in changes.items() if value is not None}
        try:
            return type(self).model_validate({**unchanged, **new_values})
        except ValidationError as error:
            raise describe_fault(error, {}) from None

    @property
    def database_path(self) -> Path:
        return self.data_dir / "anycowork.db"

    @property
    def snapshots_folder(self) -> Path:
        return self.data_dir / "snapshots"

    @property
    def mcp_data_folder(self) -> Path:
        """Where MCP servers keep their data, a folder for each one."""
        return self.data_dir / "mcp-data"

    @property
    def plugins_folder(self) -> Path:
        """Where `pip install --target` puts plugins, separate from the server's own libraries."""
        return self.data_dir / "plugins"

    @property
    def models_folder(self) -> Path:
        return self.data_dir / "models"

    def public_dump(self) -> dict[str, JsonValue]:
        """Returns everything that may be shown; of secrets only whether they are set."""
        dumped = self.model_dump(mode="json", exclude=set(SECRETS))
        return {**dumped, **{f"{name}_set": getattr(self, name) is not None for name in SECRETS}}


def _typed(*types: object) -> tuple[str, ...]:
    return tuple(name for name, field in Settings.model_fields.items() if field.annotation in types)


SECRETS = _typed(SecretStr | None)
PATHS = _typed(Path, Path | None)
WORD_LISTS = _typed(tuple[Word, ...])
FOLDER_LISTS = _typed(tuple[FolderText, ...])
KNOBS: dict[str, SettingSpec] = {
    name: next(mark for mark in field.metadata if isinstance(mark, SettingSpec))
    for name, field in Settings.model_fields.items()
}
CHANGEABLE = frozenset(name for name, knob in KNOBS.items() if knob.changeable)


def require_changeable(changes: Mapping[str, JsonValue]) -> None:
    """Raises: BadSettings for an unknown setting, or one that is read only at startup."""
    if fixed := sorted(changes.keys() - CHANGEABLE):
        reason = "cannot be changed while the server runs" if fixed[0] in KNOBS else "is not a setting"
        raise BadSettings(
            f"'{fixed[0][:80]}' {reason}. These can be changed: {', '.join(sorted(CHANGEABLE))}.",
            param=fixed[0],
        )


def default_data_dir() -> Path:
    """Raises: BadSettings if there is no home folder."""
    try:
        return platformdirs.user_data_path("anycowork", appauthor=False)
    except RuntimeError:
        raise BadSettings(
            "There is no home folder for the data (HOME is not set, and this user has none). "
            "Name a folder with --data-dir or ANYCOWORK_DATA_DIR."
        ) from None


def describe_fault(error: ValidationError, sources: Mapping[str, str], config: Path | None = None) -> BadSettings:
    """Describes invalid values in sentences. `sources` says where each setting came from; `config` is the file, if there was one."""
    units = {name: knob.unit for name, knob in KNOBS.items()}
    text = config.read_text(encoding="utf-8") if config is not None and config.is_file() else ""
    sentences = describe_problem(error, sources, units=units, file=str(config), text=text)
    location = error.errors()[0]["loc"]
    return BadSettings(" ".join(sentences), param=str(location[0]) if location else None)


def _fits_a_header(token: str) -> bool:
    return bool(token) and all("!" <= char <= "~" for char in token)
