"""Reads the addresses that a repository's configuration gives its remotes, and decides which of them a person may push to."""

import re

from anycowork.domain.values import value
from anycowork.git.git_process import run_git
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


def read_remotes(place: RepositoryPlace) -> list[Remote]:
    """Returns the remotes in the order of the configuration. Includes of other files are not followed. Raises: ToolFault."""
    config = place.read_common("config") or ""
    words = ("config", "--file", "-", "--no-includes", "-z", "--get-regexp", r"^remote\..*\.(url|pushurl)$")
    printed = run_git(words, folder="/", environment={}, given=config.encode(errors="surrogateescape"), good=(0, 1))
    urls: dict[str, str] = {}
    push_urls: dict[str, str] = {}
    for entry in printed.decode(errors="replace").split("\0"):
        key, _, address = entry.partition("\n")
        name, _, kind = key.removeprefix("remote.").rpartition(".")
        if name:
            (push_urls if kind == "pushurl" else urls).setdefault(name, address)
    found = [_remote(name, push_urls.get(name) or urls[name]) for name in {**urls, **push_urls} if name in urls]
    return found[:MOST_REMOTES]


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
    scheme, separator, rest = address.partition("://")
    if not separator:
        return None if _SCP.fullmatch(address) else "The address is of no kind that is known."
    if scheme not in _SCHEMES:
        return f"Addresses that begin with '{scheme[:20]}:' are not used."
    host = rest.partition("/")[0].rpartition("@")[2]
    if scheme != "file" and not _HOST.fullmatch(host):
        return "The address has no usable host name."
    return None


def _without_password(address: str) -> str:
    """Leaves out what signs in: a user name with or without a password for the web, a password for the rest."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return address
    netloc, slash, path = rest.partition("/")
    user, at, host = netloc.rpartition("@")
    kept = "" if scheme in ("http", "https") else user.partition(":")[0] + at
    return f"{scheme}://{kept}{host}{slash}{path}"
