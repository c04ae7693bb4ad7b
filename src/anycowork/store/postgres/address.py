"""Reads a database URL, and names it without its password."""

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from anycowork.domain.errors import Invalid
from anycowork.domain.values import value

SCHEMES = ("postgresql", "postgres")


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
