"""Nothing of the protocols' SDKs is loaded by a server, a command or a client that does not use them."""

import subprocess
import sys

SDKS = ("mcp", "mcp_types", "acp", "httpx2")
MODULES = (
    "anycowork.app",
    "anycowork.cli.main",
    "anycowork.cli.mcp_commands",
    "anycowork.client.http",
    "anycowork.tui.app",
)


def test_no_sdk_is_imported_before_it_is_used() -> None:
    code = f"import importlib, sys\nfor name in {MODULES!r}: importlib.import_module(name)\nprint([n for n in {SDKS!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
