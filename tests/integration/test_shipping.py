"""How the web UI gets into an installation: built where there is a Node and a network, left out and said where not, and a build that
was tried and failed is never passed over."""

import importlib.util
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from anycowork.cli import diagnostics
from anycowork.server.machine import find_bubblewrap

ROOT = Path(__file__).resolve().parents[2]
TLS = ROOT / "tests" / "support" / "tls"
NOBODY = "http://127.0.0.1:9/"  # the discard port: nothing listens there
TIMEOUT = 120.0  # npm itself takes seconds to start on a busy machine


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a clone has before anything is built, with an npm that has nothing in store and asks once."""
    place = tmp_path / "clone"
    for name in ("src", "web", "scripts"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("node_modules", "dist", "__pycache__"))
    for name in ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place / name)
    leave_one_package(place / "web")
    monkeypatch.delenv("ANYCOWORK_WEB", raising=False)
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    return place


def leave_one_package(web: Path) -> None:
    """npm asks for each package before it gives up, and there are hundreds."""
    manifest, lock = (json.loads((web / name).read_text("utf-8")) for name in ("package.json", "package-lock.json"))
    needed = {"dependencies": {"react": manifest["dependencies"]["react"]}, "devDependencies": {}}
    root = {**lock["packages"][""], **needed}
    packages = {"": root, "node_modules/react": lock["packages"]["node_modules/react"]}
    (web / "package.json").write_text(json.dumps({**manifest, **needed}), "utf-8")
    (web / "package-lock.json").write_text(json.dumps({**lock, "packages": packages}), "utf-8")


def webui_of(clone: Path) -> ModuleType:
    return _loaded("webui", clone / "scripts" / "webui.py")


def test_a_wheel_built_without_a_network_has_no_web_ui_and_says_so(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", NOBODY)
    built = hatch(clone)
    assert built.returncode == 0, built.stderr
    assert "No web UI was built" in built.stderr and "reaches no registry" in built.stderr
    [wheel] = (clone / "out").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "anycowork/api/static/index.html" in names
    assert not [name for name in names if name.startswith("anycowork/api/static/dist/")]


def test_source_that_cannot_be_written_is_built_in_a_copy(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bubblewrap = find_bubblewrap()
    if bubblewrap is None or not bubblewrap.works:
        pytest.skip("no bubblewrap here: root would write anywhere")
    monkeypatch.setenv("npm_config_registry", NOBODY)
    (clone / "out").mkdir()
    held = [
        bubblewrap.path,
        "--dev-bind",
        "/",
        "/",
        "--ro-bind",
        clone,
        clone,
        "--bind",
        clone / "out",
        clone / "out",
        "--",
    ]
    built = hatch(clone, *map(str, held))
    assert built.returncode == 0, built.stderr
    assert "No web UI was built" in built.stderr and "reaches no registry" in built.stderr
    assert len(list((clone / "out").glob("*.whl"))) == 1


def test_a_release_is_not_built_without_its_web_ui(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("npm_config_registry", NOBODY)
    monkeypatch.setenv("ANYCOWORK_WEB", "require")
    built = hatch(clone)
    assert built.returncode != 0 and "NoNetwork" in built.stderr
    assert not list(clone.glob("out/*.whl"))


def test_an_npm_that_fails_with_a_network_fails_the_build(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the machine trusts who signed the registry's certificate, as behind the proxy of a company."""
    monkeypatch.delenv("NODE_EXTRA_CA_CERTS", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "server.pem"))
    with a_registry_without_packages() as address:
        monkeypatch.setenv("npm_config_registry", address)
        built = hatch(clone)
    assert built.returncode != 0 and "BuildFailed: npm ci" in built.stderr
    assert "No web UI was built" not in built.stderr


def test_without_a_node_it_is_said_and_required_it_fails(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    webui = webui_of(clone)
    monkeypatch.setattr(webui.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(clone))
    webui.offer("auto")
    assert "There is no Node" in capsys.readouterr().err
    with pytest.raises(webui.NoNode):
        webui.offer("require")
    webui.offer("skip")
    with pytest.raises(webui.BuildFailed, match="it can be auto, require, skip"):
        webui.offer("perhaps")


def test_what_was_built_from_this_very_source_is_not_built_again(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    webui = webui_of(clone)
    monkeypatch.setenv("npm_config_registry", NOBODY)
    webui.BUILT.mkdir(parents=True)
    (webui.BUILT / "index.html").write_text("<!doctype html>")
    webui.STAMP.write_text(webui.source_hash())
    assert webui.build() is False
    (clone / "web" / "index.html").write_text("changed")
    with pytest.raises(webui.NoNetwork):
        webui.build()


def test_the_doctor_says_whether_there_is_a_web_ui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "files", lambda package: tmp_path)
    missing = diagnostics._web_ui()
    assert not missing.ok and missing.detail == "not in this installation" and "make web" in missing.way_out
    page = tmp_path / "api" / "static" / "dist" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<!doctype html>")
    assert diagnostics._web_ui().ok


def hatch(clone: Path, *held: str) -> subprocess.CompletedProcess[str]:
    """`pip wheel .` without the network that its build isolation needs: the same hook, in this very environment."""
    command = [*held, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out"]
    return subprocess.run(
        command, cwd=clone, env=os.environ, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


@contextmanager
def a_registry_without_packages() -> Iterator[str]:
    """It answers a ping and has nothing."""

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path.startswith("/-/ping") else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        secured.load_cert_chain(TLS / "server.pem", TLS / "server.key")
        server.socket = secured.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
