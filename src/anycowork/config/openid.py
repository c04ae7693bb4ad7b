"""The OpenID provider with which people sign on, as `[openid]` of config.toml names it."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from anycowork.domain.network import is_loopback

Group = Annotated[str, Field(min_length=1, max_length=200)]


class GroupAccess(BaseModel):
    """The groups of the provider whose people get this access; with several, the most. `everyone` is for people of no group."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    admin: tuple[Group, ...] = ()
    member: tuple[Group, ...] = ()
    viewer: tuple[Group, ...] = ()
    everyone: Literal["member", "viewer"] | None = None


class OpenIdEntry(BaseModel):
    """It never holds the secret: `client_secret_env` names the variable that does."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
