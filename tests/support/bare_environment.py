"""The environment of a machine on which nothing was set up: an empty home folder, and none of the variables of whoever runs the tests.

What their shell or home folder has would otherwise hide a missing step: git's name for commits, a key, a language, a tool's settings.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

MARK = "ANYCOWORK_TESTS_HOME"
_FETCHES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")  # packages
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_NAMES = ("PATH", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH", "PYENV_ROOT", "CI", *_FETCHES, *_PROXIES)
_STARTS = ("PYTEST_", "HYPOTHESIS_", "PIP_", "UV_", "npm_config_")
_ASKED_FOR = (
    "ANYCOWORK_ALL_",
    "ANYCOWORK_KILL_",
    "ANYCOWORK_LARGE_",
    "ANYCOWORK_TEST_",
    "ANYCOWORK_TESTS_",
)  # by `make`


def enter_bare_environment() -> None:
    """Takes effect once: what a test or a run of the tests starts finds itself in it."""
    if MARK in os.environ:
        return
    _leave_shell()
    home = Path(tempfile.mkdtemp(prefix="anycowork-home-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ |= {"HOME": str(home), MARK: str(home), "LANG": "C.UTF-8"}


def _leave_shell() -> None:
    home = Path(os.environ.get("HOME", "/nonexistent"))
    kept = {name: text for name, text in os.environ.items() if name in _NAMES or name.startswith(_STARTS + _ASKED_FOR)}
    if (settings := home / ".npmrc").is_file():
        kept.setdefault("npm_config_userconfig", str(settings))  # from where packages are fetched
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share", "anycowork")
    kept.setdefault("ANYCOWORK_TEST_MODELS", str(data / "models"))  # large: fetched once, by `make model`
    kept["PATH"] = _without_shims(kept.get("PATH", os.defpath))
    os.environ.clear()
    os.environ.update(kept)


def _without_shims(path: str) -> str:
    """A `python3` that a version manager looks for with a shell script takes three times as long to start as the one that it finds."""
    programs = Path(sys.base_prefix, "bin")
    found = shutil.which("python3", path=path)
    is_shim = found is not None and Path(found).parent.name == "shims" and (programs / "python3").is_file()
    return f"{programs}{os.pathsep}{path}" if is_shim else path
