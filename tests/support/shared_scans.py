"""One look for credentials in the person's toolchains, and one trial of the sandbox, for all servers of a test process.

A server looks through some thousand files of them when it starts, which takes longer than all the rest of its start. Here what the first
one found is used again, as a server uses it between two commands: until a folder or file that decides it changes. Toolchains that tests
make are below the folder for temporary files, and are looked through each time.

A server also tries its sandbox at its start, and whether a layer can be mounted without syncs: most of the rest of its start. What worked
once works again for the same program, user, file system and folders; what failed is tried again.
"""

import os
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

import pytest

from anycowork.sandbox import toolchains
from anycowork.sandbox.layers import mounts
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.secrets.secret_paths import SecretScan
from anycowork.server.setup.sandbox_setup import set_up_sandbox


@contextmanager
def shared_scans() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        _remember(patch)
        yield


def scan_once() -> None:
    """For the rest of this process and for those that it forks: looks and tries now, so that they need not."""
    _remember(pytest.MonkeyPatch())
    with tempfile.TemporaryDirectory() as folder:
        set_up_sandbox(Path(folder))


def _remember(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(toolchains, "scan_folder", _known_scans(toolchains.scan_folder))
    patch.setattr(Sandbox, "trial", _known_trials(Sandbox.trial))
    patch.setattr(mounts, "_works", _known_layers(mounts._works))


def _known_trials(trial: Callable[[Sandbox], str | None]) -> Callable[[Sandbox], str | None]:
    worked = set[Hashable]()

    @wraps(trial)
    def known_trial(sandbox: Sandbox) -> str | None:
        folders = (sandbox.toolchains.folders, sandbox.toolchains.hidden, sandbox.packages.found)
        key = (sandbox._bwrap, sandbox.layer, os.geteuid(), _device_of(sandbox.staging.folders.private), folders)
        failed = None if key in worked else trial(sandbox)
        if failed is None:
            worked.add(key)
        return failed

    return known_trial


def _device_of(folder: Path) -> int:
    return next(path for path in (folder, *folder.parents) if path.exists()).stat().st_dev


def _known_layers(works: Callable[[Path, Sequence[str]], bool]) -> Callable[[Path, Sequence[str]], bool]:
    worked = set[Hashable]()

    def known_to_work(folder: Path, as_runner: Sequence[str]) -> bool:
        key = (os.geteuid(), folder.stat().st_dev, tuple(as_runner), mounts._programs())
        if key not in worked and works(folder, as_runner):
            worked.add(key)
        return key in worked

    return known_to_work


def _known_scans(scan_folder: Callable[[Path], SecretScan]) -> Callable[[Path], SecretScan]:
    temporary, scans = Path(tempfile.gettempdir()).resolve(), dict[Path, SecretScan]()

    def known_scan(folder: Path) -> SecretScan:
        if folder.is_relative_to(temporary):
            return scan_folder(folder)
        if (known := scans.get(folder)) is None or known.is_outdated():
            known = scans[folder] = scan_folder(folder)
        return known

    return known_scan
