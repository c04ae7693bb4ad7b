"""How people are told what waits for them: when, from which address, and through which mail server."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from anycowork.domain.network import read_destination

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9.:-]+$", max_length=253)]
MailAddress = Annotated[str, Field(pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+$", max_length=254)]


class SmtpEntry(BaseModel):
    """`[notifications.smtp]` of config.toml. It never holds the password: `password_env` names the variable that does. `security` none sends plainly,
    and never a password. `ca_file`: a PEM file of authorities that are trusted besides those of this machine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    something waits before its person is told; `private_hosts` those that targets of people who are no admins may be at."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page_url: Annotated[str, Field(pattern=r"^https?://[^\s#?]+$", max_length=2_000)] | None = None
    delay: Annotated[float, Field(ge=0, le=3_600, allow_inf_nan=False)] = 10.0
    private_hosts: Annotated[
        tuple[Annotated[str, Field(max_length=260), AfterValidator(_destination)], ...], Field(max_length=100)
    ] = ()
    smtp: SmtpEntry | None = None
