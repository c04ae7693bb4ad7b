"""What the tests remember of the person's toolchains is what a new look would find."""

import os
import tempfile
from pathlib import Path

import pytest

from anycowork.sandbox import toolchains
from anycowork.sandbox.secrets.secret_paths import SecretScan, scan_folder
from support.shared_scans import shared_scans


def test_toolchain_is_looked_through_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Path] = []

    def look(folder: Path) -> SecretScan:
        looks.append(folder)
        return scan_folder(folder)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(toolchains, "scan_folder", look)
    tools = tmp_path / "tools"
    tools.mkdir()
    with shared_scans():
        assert toolchains.scan_folder(tools) == toolchains.scan_folder(tools) == scan_folder(tools)
        assert looks == [tools]
        (tools / ".npmrc").write_text("//registry/:_authToken=0123456789")
        os.utime(tools, ns=(1, 1))  # the clock of the file system may not have moved on
        assert toolchains.scan_folder(tools).found == (str(tools / ".npmrc"),)


def test_toolchain_of_a_test_is_looked_through_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Path] = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(toolchains, "scan_folder", lambda folder: looks.append(folder) or scan_folder(folder))
    with shared_scans():
        toolchains.scan_folder(tmp_path / "tools")
        toolchains.scan_folder(tmp_path / "tools")
    assert looks == [tmp_path / "tools"] * 2
