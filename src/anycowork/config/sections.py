"""The tables of config.toml that have several fields: programs as agents, notifications with their mail server, and the OpenID provider."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from anycowork.domain.agents import DelegateConfig
from anycowork.domain.network import is_loopback, read_destination, wanted_destinations

Word = Annotated[str, StringConstraints(min_length=1, max_length=4_096, pattern=r"^[^\x00]*$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9.:-]+$", max_length=253)]
MailAddress = Annotated[str, Field(pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+$", max_length=254)]
Group = Annotated[str, Field(min_length=1, max_length=200)]


class DelegateFields(BaseModel):
    """`command` is the program with its arguments. `env` names variables of the server's environment that it gets."""

    command: Annotated[tuple[Word, ...], Field(max_length=100)] = ()
    env: Annotated[tuple[Variable, ...], Field(max_length=50)] = ()
    network: Annotated[tuple[str, ...], Field(max_length=40)] = ()
    seconds: Annotated[float, Field(gt=0, le=86_400)] = 600.0

    @field_validator("network")
    @classmethod
    def _hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        wanted_destinations(hosts)
        return hosts

    @model_validator(mode="after")
    def _belongs_to_a_command(self) -> "DelegateFields":
        if not self.command and (self.env or self.network):
            raise ValueError("'env' and 'network' belong to an agent with a 'command'")
        return self


def delegates_of(agents: Mapping[str, DelegateFields]) -> tuple[DelegateConfig, ...]:
    """The agents that are programs."""
    return tuple(
        DelegateConfig(name, entry.command[0], entry.command[1:], entry.env, entry.network, entry.seconds)
        for name, entry in agents.items()
        if entry.command
    )


class SmtpEntry(BaseModel):
    """`[notifications.smtp]` of config.toml. It never holds the password: `password_env` names the variable that does. `security` none sends plainly,
    and never a password. `ca_file`: a PEM file of authorities that are trusted besides those of this machine."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    host: HostName
    port: Annotated[int, Field(gt=0, le=65_535)] | None = None
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: MailAddress
    user: Annotated[str, Field(min_length=1, max_length=254)] | None = None
    password_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    ca_file: Path | None = None


def _destination(text: str) -> str:
    read_destination(text)
    return text


class NotificationEntry(BaseModel):
    """`[notifications]` of config.toml. `page_url` is the address at which people open the page, for links; `delay` the seconds that
    a decision waits before its person is notified; `private_hosts` the private hosts that may receive notifications of people who are not admins."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    page_url: Annotated[str, Field(pattern=r"^https?://[^\s#?]+$", max_length=2_000)] | None = None
    delay: Annotated[float, Field(ge=0, le=3_600, allow_inf_nan=False)] = 10.0
    private_hosts: Annotated[
        tuple[Annotated[str, Field(max_length=260), AfterValidator(_destination)], ...], Field(max_length=100)
    ] = ()
    smtp: SmtpEntry | None = None


class GroupAccess(BaseModel):
    """The groups of the provider whose people get this access; with several, the most. `everyone` is for people of no group."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    admin: tuple[Group, ...] = ()
    member: tuple[Group, ...] = ()
    viewer: tuple[Group, ...] = ()
    everyone: Literal["member", "viewer"] | None = None


class OpenIdEntry(BaseModel):
    """It never holds the secret: `client_secret_env` names the variable that does."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: Annotated[str, Field(min_length=1, max_length=60)] = "your organisation"
    issuer: Annotated[str, Field(pattern=r"^https?://\S+$", max_length=2_000)]
    client_id: Annotated[str, Field(min_length=1, max_length=500)]
    client_secret_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    scopes: tuple[Annotated[str, Field(pattern=r"^\S+$")], ...] = ("openid", "profile", "email")
    groups_claim: Annotated[str, Field(min_length=1, max_length=200)] = "groups"
    access: GroupAccess = GroupAccess()

    @model_validator(mode="after")
    def _only_this_machine_goes_unencrypted(self) -> Self:
        parts = urlsplit(self.issuer)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise ValueError(f"{self.issuer} is not encrypted: who signs on could be changed on the way. Use https")
        return self
