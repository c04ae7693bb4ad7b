"""`anycowork model connect | test`, and the connected part of `list` and `remove`: model servers of a running or temporary server."""

import getpass
import sys
from collections.abc import Awaitable, Callable
from urllib.parse import quote, urlsplit

import typer
from pydantic import JsonValue

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding, print_error
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.errors import ServerRefused
from anycowork.client.http import ServerClient
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.messages import Json
from anycowork.providers.presets import PRESETS, Preset, find_preset

TEST_SECONDS = 90.0  # the server itself gives up after 60


def connect(
    invocation: Invocation, *, server: str | None, name: str | None, models: list[str], key_from_stdin: bool
) -> typer.Exit:
    """Stores the server and its key, then tests it. Without `server` a person is asked for it. Exits with 0 if a model answered."""
    try:
        invocation.settings()  # a wrong setting is reported before a key is asked for
        preset = _find_server(server or _read_server(from_stdin=key_from_stdin))
        entry = _entry(preset, name, models)
        key = _read_key(str(entry["name"]), preset.key_url, from_stdin=key_from_stdin)
    except AnyCoworkError as error:
        return typer.Exit(print_error("model connect", error))
    return _run("connect", invocation, lambda client: _connect(client, entry, key))


def test(invocation: Invocation, *, name: str) -> typer.Exit:
    """Exits with 0 if a model answered."""
    return _run("test", invocation, lambda client: _test(client, name))


def remove(invocation: Invocation, *, name: str) -> typer.Exit:
    async def work(client: ServerClient) -> None:
        await client.delete(f"/providers/{quote(name, safe='')}")
        stdout().line(f"{name} and its key are removed.")

    return _run("remove", invocation, work)


def is_connected(invocation: Invocation, *, name: str) -> bool:
    """Tells whether config.toml has a model server of this name."""
    try:
        return any(entry.name == name for entry in invocation.settings().providers)
    except AnyCoworkError:
        return False


def connected_lines(invocation: Invocation) -> list[str]:
    """Returns a line for each connected server. Raises: AnyCoworkError."""
    return [
        f"{entry.name:<22}{'connected':<16}{entry.base_url or entry.kind}{_named(entry.models)}"
        for entry in invocation.settings().providers
    ]


def _run(word: str, invocation: Invocation, work: Callable[[ServerClient], Awaitable[int | None]]) -> typer.Exit:
    return run_with_server(f"model {word}", invocation, work, request_seconds=TEST_SECONDS)


def _named(models: tuple[str, ...]) -> str:
    return f" ({', '.join(models)})" if models else ""


def _read_server(*, from_stdin: bool) -> str:
    """Raises: Invalid if nobody can be asked, or nothing was typed."""
    if not from_stdin and sys.stdin.isatty():
        for preset in PRESETS:
            stderr().line(f"  {preset.name:<12} {preset.title}")
        stderr().line("  https://…    any other OpenAI-compatible server")
        if typed := input("Which server? ").strip():
            return typed
    raise Invalid(f"Name the model server: {_known()}, or its address.")


def _find_server(server: str) -> Preset:
    """Raises: Invalid if it is neither a known name nor an address."""
    if preset := find_preset(server):
        return preset
    address = urlsplit(server)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise Invalid(
            f"'{server}' is neither a known server ({_known()}) nor an address that begins with http:// or https://."
        )
    return Preset(address.hostname.replace(":", "-"), address.hostname, server)


def _known() -> str:
    return ", ".join(preset.name for preset in PRESETS)


def _entry(preset: Preset, name: str | None, models: list[str]) -> dict[str, JsonValue]:
    """Returns the entry to store."""
    return {
        "name": name or preset.name,
        "kind": preset.kind,
        "base_url": preset.base_url,
        **({"models": [*models]} if models else {}),
    }


def _read_key(name: str, key_url: str | None, *, from_stdin: bool) -> str | None:
    """Never reads it from an argument: other users of the machine can see those. Raises: Invalid."""
    if from_stdin:
        return sys.stdin.readline().strip() or None
    if not sys.stdin.isatty():
        if key_url is not None:
            raise Invalid(f"{name} needs a key, and there is no terminal to ask for it: pipe it in, with --key-stdin.")
        return None
    if key_url is not None:
        stderr().line(f"You get a key at {key_url}")
    return getpass.getpass(f"Key for {name}{' (empty if it needs none)' if key_url is None else ''}: ").strip() or None


async def _connect(client: ServerClient, entry: dict[str, JsonValue], key: str | None) -> int:
    """Keeps a server only if it answers, like the page: the next request would go to one that does not."""
    name = str(entry["name"])
    try:
        await client.post("/providers", {**entry, **({"api_key": key} if key else {})})
    except ServerRefused as error:
        if error.status != 409:
            raise
        raise Invalid(
            f"'{name}' is connected already. Give this one another --name, or remove that one first: "
            f"`anycowork model remove {name}`."
        ) from None
    verdict = await _verdict_where_it_answers(client, name, str(entry["base_url"] or ""))
    code = _print_result(name, verdict)
    if code != EXIT_CODES[RunEnding.DONE]:
        await client.delete(f"/providers/{quote(name, safe='')}")
        stderr().line("Nothing was stored. Correct it, and connect it again.")
    return code


async def _verdict_where_it_answers(client: ServerClient, name: str, address: str) -> Json:
    """Tests the server, also where people omit the /v1 that most addresses end in."""
    verdict = await _verdict(client, name)
    if not _is_elsewhere(verdict) or urlsplit(address).path.strip("/"):
        return verdict
    await client.patch(f"/providers/{quote(name, safe='')}", {"base_url": f"{address.rstrip('/')}/v1"})
    second_verdict = await _verdict(client, name)
    return verdict if _is_elsewhere(second_verdict) else second_verdict


def _is_elsewhere(verdict: Json) -> bool:
    return verdict.get("ok") is not True and "(404)" in str(verdict.get("message"))


async def _test(client: ServerClient, name: str) -> int:
    return _print_result(name, await _verdict(client, name))


async def _verdict(client: ServerClient, name: str) -> Json:
    return await client.post(f"/providers/{quote(name, safe='')}/test")


def _print_result(name: str, verdict: Json) -> int:
    message = strip_controls(str(verdict.get("message")))
    if verdict.get("ok") is not True:
        stderr().line(f"{name} is not ready: {message}")
        return EXIT_CODES[RunEnding.FAILED]
    stdout().line(f"{name} is ready: {message}")
    models = verdict.get("models")
    if isinstance(models, list) and models:
        stdout().line(
            f"It offers {len(models)} models. Choose one with --model {name}/{strip_controls(str(models[0]))}"
        )
    return EXIT_CODES[RunEnding.DONE]
