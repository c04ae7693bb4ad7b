"""Reads a database URL, names it without its password, and opens a session there."""

from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from anycowork.domain.errors import Invalid
from anycowork.domain.values import value

if TYPE_CHECKING:
    import asyncpg

SCHEMES = ("postgresql", "postgres")
CONNECT_SECONDS = 10.0
COMMAND_SECONDS = 60.0
MOST_STATEMENTS = 500  # prepared ones of a session


@value
class DatabaseAddress:
    """`url` holds the password and is only for the driver; `public_url` is for people and logs."""

    url: str
    public_url: str
    secrets: tuple[str, ...]
    session_name: str = "anycowork"
    """How PostgreSQL lists the sessions of this process."""

    def without_secrets(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def read_address(url: str) -> DatabaseAddress:
    """Raises: Invalid for what is no PostgreSQL URL."""
    try:
        parts = urlsplit(url.strip())
        public_url = _shown(parts)
    except ValueError as error:
        raise _refused(f"it cannot be read ({error})") from None
    if parts.scheme not in SCHEMES:
        raise _refused(f"it begins with '{parts.scheme or url[:8]}'")
    if not parts.path.strip("/"):
        raise _refused("it names no database")
    in_query = [text for name, text in parse_qsl(parts.query) if name in ("password", "sslpassword")]
    written = parts.password or ""
    return DatabaseAddress(url.strip(), public_url, tuple(filter(None, (written, unquote(written), *in_query))))


def _shown(parts: SplitResult) -> str:
    user = f"{parts.username}@" if parts.username else ""
    host = parts.hostname or dict(parse_qsl(parts.query)).get("host", "")
    port = f":{parts.port}" if parts.port else ""
    return f"postgresql://{user}{host}{port}{parts.path}"


def _refused(reason: str) -> Invalid:
    return Invalid(
        f"'database_url' is not the address of a PostgreSQL database: {reason}. Write postgresql://user:password@host:5432/database.",
        param="database_url",
    )


# The database asks a silent client after two seconds, and lets go of its locks after four. Otherwise it would wait for hours for one that
# was cut off, and all others for the lock of its transaction.
_PROBES = {
    "tcp_keepalives_idle": "2",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "2",
    "tcp_user_timeout": "4000",
}


async def open_session(address: DatabaseAddress, *, keeps_statements: bool = False) -> "asyncpg.Connection":
    """Opens a session on the running event loop; `keeps_statements`: the driver prepares what `fetch` runs once. Raises: asyncpg's errors,
    OSError."""
    import asyncpg  # every server reads addresses, and few open a session

    session = await asyncpg.connect(
        address.url,
        timeout=CONNECT_SECONDS,
        command_timeout=COMMAND_SECONDS,
        statement_cache_size=MOST_STATEMENTS if keeps_statements else 0,
        server_settings={"application_name": address.session_name, "timezone": "UTC", **_PROBES},
    )
    # Sums of whole numbers come as numerics.
    await session.set_type_codec("numeric", schema="pg_catalog", encoder=str, decoder=int, format="text")
    return session
