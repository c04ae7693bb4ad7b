"""Reads the addresses that a repository's configuration gives its remotes, and decides which of them a person may push to."""

import re
from urllib.parse import urlsplit

from anycowork.domain.values import value
from anycowork.git.configuration import read_configuration
from anycowork.git.repository_place import RepositoryPlace

MOST_REMOTES = 50
_SCHEMES = ("https", "http", "ssh", "file")
_SCP = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:].*")
_HOST = re.compile(r"[A-Za-z0-9[][A-Za-z0-9.:\]-]*")


@value
class Remote:
    """`address` is what git gets; `shown` has no password. `refused` says why nothing is pushed there."""

    name: str
    address: str
    shown: str
    refused: str | None = None

    @property
    def is_local(self) -> bool:
        return self.address.startswith(("/", "file:"))


def read_remotes(repository: RepositoryPlace, *, fetches: bool = False) -> list[Remote]:
    """Returns the remotes in the order of the configuration, with the address to push to, or the one to fetch from.

    Includes of other files are not followed. Raises: ToolFault.
    """
    urls: dict[str, str] = {}
    push_urls: dict[str, str] = {}
    for key, address in read_configuration(repository, r"^remote\..*\.(url|pushurl)$"):
        name, _, kind = key.removeprefix("remote.").rpartition(".")
        if name:
            (push_urls if kind == "pushurl" else urls).setdefault(name, address)
    used = urls if fetches else {**urls, **push_urls}
    remotes = [_remote(name, used[name] or urls[name]) for name in used if name in urls]
    return remotes[:MOST_REMOTES]


def remote_host(address: str) -> str:
    """Returns the host of a remote's address; the address itself where it names none."""
    if "://" in address:
        return urlsplit(address).hostname or address
    return address if address.startswith("/") else address.partition(":")[0].rpartition("@")[2]


def _remote(name: str, address: str) -> Remote:
    return Remote(name, address, _without_password(address), _refusal(address))


def _refusal(address: str) -> str | None:
    """Why git would do more with it than open a connection of a known kind, or None."""
    if not address.isprintable() or address.startswith("-") or address != address.strip():
        return "The address has characters that an address does not have."
    if "::" in address.split("/", 1)[0]:
        return "The address names a program ('…::'), which is not run."
    if address.startswith("/"):
        return None
    scheme, separator, remainder = address.partition("://")
    if not separator:
        return None if _SCP.fullmatch(address) else "The address is of no kind that is known."
    if scheme not in _SCHEMES:
        return f"Addresses that begin with '{scheme[:20]}:' are not used."
    host = remainder.partition("/")[0].rpartition("@")[2]
    if scheme != "file" and not _HOST.fullmatch(host):
        return "The address has no usable host name."
    return None


def _without_password(address: str) -> str:
    """Leaves out what signs in: a user name with or without a password for the web, a password for the rest."""
    scheme, separator, remainder = address.partition("://")
    if not separator:
        return address
    netloc, slash, path = remainder.partition("/")
    user, at_sign, host = netloc.rpartition("@")
    kept_user = "" if scheme in ("http", "https") else user.partition(":")[0] + at_sign
    return f"{scheme}://{kept_user}{host}{slash}{path}"
