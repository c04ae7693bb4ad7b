"""`anycowork instructions`: shows a folder's AGENTS.md, whether it is used, and lets a person trust exactly that content."""

import asyncio
import json
import shlex
from pathlib import Path
from urllib.parse import urlencode

from anycowork.cli.options import Invocation, require_digits, shown_hash, whole_hash
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding, print_error
from anycowork.cli.server_command import with_client
from anycowork.client.console import Console, stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError, BadWorkspace, Invalid, NotFound
from anycowork.domain.messages import Json

_STATES = {
    "trusted": "It is trusted, and used in every chat in this folder.",
    "untrusted": "Nobody has trusted it yet, so it is not used.",
    "changed": "It has changed since it was trusted, so it is not used: neither this text nor the one before.",
    "unreadable": "It is not used.",
}


def instructions(invocation: Invocation, *, trust: str | None, distrust: bool, as_json: bool) -> int:
    """Shows them, or trusts what was shown; returns the exit code."""
    cwd = invocation.cwd
    try:
        settings = invocation.settings()
        _require_hash(trust, distrust)
        shown_file = asyncio.run(_run(settings, settings.workspace or cwd, trust, distrust=distrust))
    except AnyCoworkError as error:
        return print_error("instructions", error)
    if as_json:
        stdout().json(json.dumps({"instructions": shown_file}, ensure_ascii=False))
    else:
        elsewhere = settings.workspace is not None and settings.workspace != cwd
        _print_instructions(
            shown_file,
            stdout(),
            stderr(),
            folder=f" --workspace {shlex.quote(str(settings.workspace))}" if elsewhere else "",
        )
    return EXIT_CODES[RunEnding.DONE]


def ignored(shown_file: Json | None) -> str | None:
    """Describes instructions that a run ignores; None if there are none, or they are used."""
    if shown_file is None or shown_file.get("state") == "trusted":
        return None
    reasons = {
        "unreadable": f"cannot be used: {shown_file.get('fault')}",
        "changed": "has changed since it was trusted",
    }
    reason = reasons.get(str(shown_file.get("state")), "is not trusted yet")
    return f"{shown_file.get('path')} of this folder {reason}; it was ignored. `anycowork instructions` shows it."


def _require_hash(trust: str | None, distrust: bool) -> None:
    if trust is not None and distrust:
        raise Invalid("Give --trust or --distrust, not both.")
    if trust is not None:
        require_digits(trust, "--trust")


async def _run(settings: Settings, folder: Path, trust: str | None, *, distrust: bool) -> Json | None:
    async def work(client: ServerClient) -> Json | None:
        if settings.workspace is not None or trust is not None:
            await _register(client, folder)
        shown_file = await _fetch(client, folder)
        if trust is None and not distrust:
            return shown_file
        if shown_file is None:
            raise NotFound("instruction file in", str(folder))
        await client.post(
            "/workspaces",
            {"trust": {"workspace": str(folder), "path": shown_file["path"], "sha256": _full_hash(shown_file, trust)}},
        )
        return await _fetch(client, folder)

    return await with_client(settings, work)


async def _register(client: ServerClient, folder: Path) -> None:
    """Naming a folder registers it. Raises: BadWorkspace."""
    try:
        await client.post("/workspaces", {"root": str(folder)})
    except ServerRefused as error:
        raise BadWorkspace(error.message) if error.specific == BadWorkspace.code else error from None


async def _fetch(client: ServerClient, folder: Path) -> Json | None:
    shown_file = (await client.get(f"/instructions?{urlencode({'workspace': str(folder)})}")).get("instructions")
    return shown_file if isinstance(shown_file, dict) else None


def _full_hash(shown_file: Json, trust: str | None) -> str | None:
    """Returns the whole hash of what was read; None revokes the trust."""
    return None if trust is None else whole_hash(str(shown_file["sha256"] or ""), trust, str(shown_file["path"]))


def _print_instructions(shown_file: Json | None, out: Console, aside: Console, *, folder: str) -> None:
    if shown_file is None:
        aside.line("This folder has no AGENTS.md.")
        return
    if isinstance(text := shown_file["content"], str):
        out.line(strip_controls(text.rstrip("\n")))
    state = str(shown_file["state"])
    fault = f" {shown_file['path']}: {shown_file['fault']}." if shown_file["fault"] else ""
    aside.line(aside.paint(strip_controls(_STATES[state] + fault), "green" if state == "trusted" else "yellow"))
    if state in ("untrusted", "changed"):
        aside.line(
            f"If you have read it and want it used: anycowork instructions{folder} --trust {shown_hash(str(shown_file['sha256']))}"
        )
