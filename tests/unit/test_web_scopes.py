"""What the web UI asks the server to do, and whom it offers that to: the page's own table against the server's routes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints  # Any: annotations

from anycowork.api.application import NOUNS
from anycowork.api.middleware import auth
from anycowork.api.router import Route
from anycowork.domain.principals import Scope
from support.spec import proves

WEB = Path(__file__).resolve().parents[2] / "web" / "src"
TABLE = WEB / "wire" / "scopes.ts"
SCOPE_OF: dict[object, Scope] = {
    auth.Reader: Scope.READ,
    auth.Sender: Scope.SEND,
    auth.Decider: Scope.DECIDE,
    auth.Manager: Scope.MANAGE,
}
SETTINGS = ("definitions/", "mcp/", "rules/", "setup/", "skills/")
"""Folders whose screens stand on the pages of the settings that only admins see (`pagesFor` in setup/pages.tsx)."""
FOR_SETTINGS = {
    "PUT /settings": "state/acts.ts",
    "POST /providers": "state/acts.ts",
    "PATCH /providers/{name}": "state/acts.ts",
    "POST /providers/{name}/test": "state/acts.ts",
    "DELETE /providers/{name}": "state/acts.ts",
}
"""Requests of those screens whose functions stand elsewhere."""


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(WEB.rglob("*.ts*")):
        name = path.relative_to(WEB).as_posix()
        if ".test." not in name and not name.endswith(".gen.ts") and path != TABLE:
            yield name, path.read_text("utf-8")


def changing_requests() -> dict[str, set[str]]:
    """Each request of the page that changes something, with the files that send it."""
    found: dict[str, set[str]] = {}
    for name, text in sources():
        for method, path in re.findall(r"api\s*\.(POST|PUT|PATCH|DELETE)\(\s*\"([^\"]+)\"", text):
            found.setdefault(f"{method} {path}", set()).add(name)
    return found


def table() -> dict[str, str]:
    return dict(re.findall(r"^  \"([A-Z]+ /[^\"]*)\": \"(\w+)\",$", TABLE.read_text("utf-8"), re.MULTILINE))


def required_by_server() -> dict[str, Scope]:
    found = {}
    for route in (one for noun in NOUNS for one in noun.routes.routes if isinstance(one, Route)):
        hints: dict[str, Any] = get_type_hints(route.endpoint, include_extras=True)
        if "principal" in hints:
            found |= {f"{method} {route.path_format}": SCOPE_OF[hints["principal"]] for method in route.methods}
    return found


def of_settings(operation: str, files: set[str]) -> bool:
    return all(name.startswith(SETTINGS) or FOR_SETTINGS.get(operation) == name for name in files)


@proves("OPS-3/2")
def test_every_request_that_changes_something_has_the_scope_of_its_route() -> None:
    required, written, requests = required_by_server(), table(), changing_requests()
    assert len(requests) > 50, "the search finds what the page sends"
    assert {one: required[one].value for one in written} == written
    unlisted = {one: files for one, files in requests.items() if one not in written and not of_settings(one, files)}
    assert not unlisted, f"add them to {TABLE.name}, and `needs` to their controls"
    settings = {one for one, files in requests.items() if one not in written and of_settings(one, files)}
    assert {required[one] for one in settings} == {Scope.MANAGE}, "other people's requests do not belong there"


@proves("OPS-3/2")
def test_every_listed_request_is_asked_for_before_its_control_is_shown() -> None:
    gates = re.compile(
        r"(?:needs=\"|needs: \"|useMay\(\"|mayDo\(me, \"|^const [A-Z]+ = \")([A-Z]+ /[^\"]*)\"", re.MULTILINE
    )
    asked = {operation for _, text in sources() for operation in gates.findall(text)}
    assert set(table()) - asked == set()


@proves("OPS-3/2")
def test_the_screens_of_the_settings_are_used_by_pages_of_admins_only() -> None:
    """A form of theirs that stands elsewhere, such as the one that adds a folder, needs a gate of its own there."""
    borrowed = re.compile(r"from \"\.\./((?:definitions|mcp|rules|setup|skills)/[A-Z]\w+)\"")
    users = {(name, one) for name, text in sources() if not name.startswith(SETTINGS) for one in borrowed.findall(text)}
    harmless = {"setup/ProviderEdit", "setup/ProviderForm"}  # types, and what asks the server for nothing
    users = {(name, one) for name, one in users if one not in harmless}
    assert users == {("chat/Home.tsx", "setup/Welcome"), ("chat/WorkspaceMenu.tsx", "setup/FolderForm")}
