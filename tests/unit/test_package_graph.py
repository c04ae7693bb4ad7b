"""The package graph as `make check` reads it."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from package_graph import cycles, folder_graph, module_graph, web_graph  # noqa: E402 — scripts/ is no package


def test_folders_that_import_each_other_are_a_cycle_though_their_modules_are_none() -> None:
    modules = {"chat/a.ts": {"files/b.ts"}, "files/b.ts": set(), "files/c.ts": {"chat/d.ts"}, "chat/d.ts": set()}
    folders = folder_graph({**modules, "App.tsx": {"chat/a.ts"}})
    assert folders == {"chat": {"files"}, "files": {"chat"}}
    assert not cycles(modules)
    assert len(cycles(folders)) == 1


def test_the_folders_of_the_web_ui_form_no_cycle() -> None:
    folders = folder_graph(web_graph())
    assert {"chat", "content", "ui", "wire"} <= set(folders)
    assert not cycles(folders)


def test_modules_of_one_package_that_load_each_other_are_a_cycle(tmp_path: Path) -> None:
    package = tmp_path / "house"
    package.mkdir()
    (package / "push.py").write_text("from house.remotes import read_remotes\n")
    (package / "remotes.py").write_text("def pull():\n    from house.push import push\n")
    assert module_graph(package) == {"house.push": {"house.remotes"}, "house.remotes": set()}
    (package / "remotes.py").write_text("from house import push\n")
    assert len(cycles(module_graph(package))) == 1
