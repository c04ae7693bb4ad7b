"""Links that sign a browser in, and whether this machine has a screen for one. Imports no HTTP client: every start loads it."""

import sys
from collections.abc import Mapping


def sign_in_link(url: str, code: str) -> str:
    """The code stands in the fragment, which browsers send to no server."""
    return f"{url.rstrip('/')}/#code={code}"


def has_screen(environ: Mapping[str, str]) -> bool:
    """On Linux without a desktop, `webbrowser` would start a text browser in this very terminal."""
    return sys.platform != "linux" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
