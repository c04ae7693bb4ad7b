import site
import sys
from pathlib import Path

import pytest

from anycowork.tools.plugins.manifest import find_plugins, plain_name
from support.distributions import install
from support.spec import proves


@proves("TOOL-2", "TOOL-5")
def test_plugins_are_found_by_their_metadata_and_never_imported(tmp_path: Path) -> None:
    install(tmp_path, "Word_Count", "raise SystemExit('imported')", version="2.1")
    [found] = find_plugins(tmp_path)
    assert (found.name, found.version) == ("word-count", "2.1")
    assert found.entries == ("Word_Count:tools",) and found.paths == (str(tmp_path),)
    assert "Word_Count" not in sys.modules


def test_an_empty_server_has_none(tmp_path: Path) -> None:
    assert find_plugins(tmp_path / "missing") == []


def test_those_beside_the_servers_libraries_are_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", "beside", "")
    install(tmp_path / "own", "beside", "", version="9")
    install(tmp_path / "own", "apart", "")
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path / "site")])
    monkeypatch.syspath_prepend(tmp_path / "site")
    found = find_plugins(tmp_path / "own")
    assert [(plugin.name, plugin.version) for plugin in found] == [("apart", "1.0"), ("beside", "9")]


def test_what_lies_where_the_server_was_started_is_no_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "workspace", "planted", "")
    monkeypatch.chdir(tmp_path / "workspace")
    monkeypatch.syspath_prepend("")
    monkeypatch.syspath_prepend(tmp_path / "workspace")
    assert find_plugins(tmp_path / "own") == []


@pytest.mark.parametrize("text", ["no equals sign\n", "a = not-a-module:x\n", "a = os:system('x')\n"])
def test_odd_metadata_is_passed_over_and_hides_nobody(tmp_path: Path, text: str) -> None:
    install(tmp_path, "good", "")
    install(tmp_path, "odd", "")
    (tmp_path / "odd-1.0.dist-info" / "entry_points.txt").write_text(f"[anycowork.tools]\n{text}")
    assert [plugin.name for plugin in find_plugins(tmp_path)] == ["good"]


def test_one_that_is_edited_in_place_is_found_where_it_lies(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    install(tmp_path / "own", "edited", "")
    (tmp_path / "own" / "edited.pth").write_text(f"import os\n{source}\n/not/there\n")
    record = "edited.pth,,\nedited-1.0.dist-info/METADATA,,\n"
    (tmp_path / "own" / "edited-1.0.dist-info" / "RECORD").write_text(record)
    [found] = find_plugins(tmp_path / "own")
    assert found.paths == (str(tmp_path / "own"), str(source))


def test_names_are_compared_as_package_indexes_compare_them() -> None:
    assert plain_name(" My_Plug.in ") == plain_name("my-plug-in") == "my-plug-in"
