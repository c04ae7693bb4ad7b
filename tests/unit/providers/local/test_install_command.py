"""The card of the local model names a command that installs the engine for this very server."""

import sys

from anycowork.providers.local.supervisor import ENGINE, install_command


def test_the_command_uses_this_python_and_the_pinned_engine() -> None:
    command = install_command()
    assert command.startswith(f"{sys.executable} -m pip install {ENGINE}==")
    assert "anycowork" not in command.partition(" -m pip install ")[2]
