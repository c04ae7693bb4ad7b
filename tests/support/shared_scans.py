"""One look for credentials in the person's toolchains for all servers of a test process.

A server looks through some thousand files of them when it starts, which takes longer than all the rest of its start. Here what the first
one found is used again, as a server uses it between two commands: until a folder or file that decides it changes. Toolchains that tests
make are below the folder for temporary files, and are looked through each time.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anycowork.sandbox import toolchains
from anycowork.sandbox.secrets.secret_paths import SecretScan
from anycowork.server.setup.sandbox_setup import visible_tools


@contextmanager
def shared_scans() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchains, "scan_folder", _remembering(toolchains.scan_folder))
        yield


def scan_once() -> None:
    """For the rest of this process and for those that it forks: looks now, so that they need not."""
    pytest.MonkeyPatch().setattr(toolchains, "scan_folder", _remembering(toolchains.scan_folder))
    visible_tools(Path(tempfile.gettempdir()), (), os.environ)


def _remembering(scan_folder: Callable[[Path], SecretScan]) -> Callable[[Path], SecretScan]:
    temporary, scans = Path(tempfile.gettempdir()).resolve(), dict[Path, SecretScan]()

    def known_scan(folder: Path) -> SecretScan:
        if folder.is_relative_to(temporary):
            return scan_folder(folder)
        if (known := scans.get(folder)) is None or known.is_outdated():
            known = scans[folder] = scan_folder(folder)
        return known

    return known_scan
