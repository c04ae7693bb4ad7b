"""Links that sign a browser in, and how a browser is started with one. Imports no HTTP client: every start loads it.

Other users of the machine read the arguments of every program, so no secret is among those of the browser: it opens a file that only
this account can read, and the file sends it on to the link.
"""

import html
import shutil
import subprocess
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from anycowork.config.secure_files import make_private_folder, replace_file
from anycowork.domain.errors import StorageFault

REDIRECT_FILE = "open.html"
_REDIRECT = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="referrer" content="no-referrer" />
    <meta http-equiv="refresh" content="0; url={link}" />
    <title>AnyCowork</title>
  </head>
  <body><a href="{link}">AnyCowork</a></body>
</html>
"""
_SETTINGS_SECONDS = 3.0


def sign_in_link(url: str, code: str, confirmation: str | None = None) -> str:
    """The code stands in the fragment, which browsers send to no server. With the confirmation the link must stay private."""
    link = f"{url.rstrip('/')}/#code={code}"
    return link if confirmation is None else f"{link}&confirmation={confirmation}"


def has_screen(environ: Mapping[str, str]) -> bool:
    """On Linux without a desktop, `webbrowser` would start a text browser in this very terminal."""
    return sys.platform != "linux" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def open_privately(link: str, data_dir: Path) -> bool:
    """Opens a browser at this link, which stands in no argument. Tells whether one was started."""
    file = (_snap_folder() or data_dir) / REDIRECT_FILE
    try:
        if file.parent == data_dir:
            make_private_folder(data_dir)
        replace_file(file, _REDIRECT.format(link=html.escape(link)).encode())
    except StorageFault:
        return False
    return webbrowser.open(file.as_uri())


def _snap_folder() -> Path | None:
    """Returns the own folder of a browser that was installed as a snap: it sees no hidden folder of the home."""
    if sys.platform != "linux" or shutil.which("xdg-settings") is None:
        return None
    try:
        command = ["xdg-settings", "get", "default-web-browser"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SETTINGS_SECONDS, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    snap = Path.home() / "snap" / answer.strip().partition("_")[0] / "common"
    return snap if "_" in answer and snap.is_dir() else None
