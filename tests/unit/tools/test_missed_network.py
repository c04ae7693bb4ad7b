"""Where the kernel was not asked (a command on a joined worker), only the words of the resolver and the system count, not parts of others."""

import pytest

from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult
from anycowork.tools.command_summary import CommandSummary, summary_text

LIMITS = ChildLimits(seconds=10.0, output=1_000)


def needs_network(output: str, *, exit_code: int = 1, missed: bool | None = None) -> bool:
    child = ChildResult(ChildEnding.ITSELF, exit_code, output.encode(), b"", 0.1, missed)
    result = summary_text(child, LIMITS, sandbox="full", story=CommandSummary())
    assert ("It ran without network." in result.content) == ("needs_network" in result.facts)
    return "needs_network" in result.facts


@pytest.mark.parametrize(
    "output",
    [
        "curl: (6) Could not resolve host: example.org",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "npm error code ENOTFOUND",
        "dial tcp: lookup proxy.golang.org: no such host",
        "java.net.UnknownHostException: example.org",
        "Temporary failure resolving 'deb.debian.org'",
        "connect ECONNREFUSED 127.0.0.1:5432",
    ],
)
def test_a_program_that_reached_nothing_needs_network(output: str) -> None:
    assert needs_network(output)
    assert not needs_network(output, exit_code=0)
    assert not needs_network(output, missed=False), "the kernel knows better"


@pytest.mark.parametrize(
    "output",
    [
        "ModuleNotFoundError: No module named 'shop'",
        "the resolution of the picture is wrong",
        "AssertionError: conflict resolution failed",
        "Error: Cannot find module './shop'",
    ],
)
def test_words_that_only_resemble_it_do_not(output: str) -> None:
    assert not needs_network(output)
    assert not needs_network(output, missed=True)
