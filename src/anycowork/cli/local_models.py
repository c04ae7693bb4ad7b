"""`anycowork model pull | list | remove`: the models that run on this machine, with or without a running server."""

import asyncio
from pathlib import Path

from anycowork.cli.connected_models import connected_lines
from anycowork.cli.options import Invocation
from anycowork.client.console import stderr, stdout
from anycowork.domain.errors import AnyCoworkError, Invalid, NotFound, RequestFault
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.local.catalogue import DEFAULT, LocalModel
from anycowork.providers.local.download import ModelDownload
from anycowork.providers.local.folder import DownloadedModel, ModelFolder
from anycowork.providers.local.supervisor import engine_installed, install_command
from anycowork.server.disk_usage import human_size

STEP = 5  # percent between two lines if there is no terminal to rewrite one


def pull(invocation: Invocation, *, name: str | None, file: Path | None) -> int:
    """Returns 0 when the model is installed, 1 if it could not be downloaded, 2 for wrong arguments."""
    try:
        folder = ModelFolder(invocation.settings().models_folder)
        weights = (
            folder.adopt(invocation.cwd / file, name)
            if file
            else asyncio.run(_fetched(folder, folder.find(name or DEFAULT)))
        )
    except AnyCoworkError as error:
        return _print_error("pull", error)
    except KeyboardInterrupt:
        stderr().line("Stopped. The downloaded part is kept: pull again to continue.")
        return 130
    stdout().line(f"{weights.model.title} is ready: {weights.path}")
    stdout().line(weights.model.limits)
    if not engine_installed():
        stdout().line(f"To run it, one more step: {install_command()}")
    return 0


def list_models(invocation: Invocation) -> int:
    try:
        folder = ModelFolder(invocation.settings().models_folder)
        connected = connected_lines(invocation)
    except AnyCoworkError as error:
        return _print_error("list", error)
    for line in connected:
        stdout().line(line)
    ready = {downloaded.model.name for downloaded in folder.ready()}
    for model in folder.all():
        stdout().line(f"{model.name:<22}{_state(folder, model, ready):<16}{_needs(model)}")
    if not engine_installed():
        stdout().line(f"The engine that runs them is not installed: {install_command()}")
    return 0


def remove(invocation: Invocation, *, name: str) -> int:
    try:
        ModelFolder(invocation.settings().models_folder).remove(name)
    except NotFound:  # connected servers were looked through before
        missing = (
            f"No connected server and no downloaded model is called '{name[:80]}'. `anycowork model list` lists them."
        )
        return _print_error("remove", Invalid(missing))
    except AnyCoworkError as error:
        return _print_error("remove", error)
    stdout().line(f"{name} is removed.")
    return 0


async def _fetched(folder: ModelFolder, model: LocalModel) -> DownloadedModel:
    pool, printer = HttpPool(), _ProgressPrinter(model)
    stderr().line(f"Fetching {model.title}: {human_size(model.size_bytes)} ({model.licence}), checked by its SHA-256.")
    try:
        return await ModelDownload(folder, pool).pull(model, printer.progress)
    finally:
        await pool.aclose()


class _ProgressPrinter:
    """Prints the progress every few percent."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._printed = -STEP

    def progress(self, fetched: int) -> None:
        percent = fetched * 100 // self._model.size_bytes
        if percent >= self._printed + STEP:
            self._printed = percent
            stderr().line(f"{percent:>3} %  {human_size(fetched)} of {human_size(self._model.size_bytes)}")


def _state(folder: ModelFolder, model: LocalModel, ready: set[str]) -> str:
    if model.name in ready:
        return "ready"
    fetched = folder.fetched_bytes(model)
    return f"{fetched * 100 // model.size_bytes} % downloaded" if fetched else "not downloaded"


def _needs(model: LocalModel) -> str:
    return f"{human_size(model.size_bytes)} on disk, {human_size(model.memory_bytes)} of memory, {model.licence}"


def _print_error(command: str, error: AnyCoworkError) -> int:
    stderr().line(f"anycowork model {command}: {error.message}")
    return 2 if isinstance(error, RequestFault) else 1
