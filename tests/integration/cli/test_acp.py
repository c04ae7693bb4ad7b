"""`anycowork acp` as a process: quick to answer, nothing but the protocol on stdout, and no cost for those who do not use it."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from support.cli_process import SOURCE, CommandLine, ending
from support.spec import proves

INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}) + "\n"


@proves("ACP-1/1")
def test_initialize_is_answered_before_a_server_is_looked_for(tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    done = line.type("acp", piped=INITIALIZE)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["id"], answer["result"]["protocolVersion"]) == (0, 0, 1)
    assert answer["result"]["agentCapabilities"]["loadSession"] is True
    assert not line.data.exists(), "nothing was started"


def test_another_protocol_version_is_answered_with_ours(tmp_path: Path) -> None:
    done = CommandLine(tmp_path).type("acp", piped=INITIALIZE.replace(":1}", ":99}"))
    assert json.loads(done.stdout)["result"]["protocolVersion"] == 1


def test_a_plain_file_as_input_is_refused_with_the_reason(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    requests.write_text(INITIALIZE)
    with requests.open() as file, ending(CommandLine(tmp_path).start("acp", stdin=file.fileno())) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "") and "an editor starts this command" in err


def test_the_sdk_costs_nothing_where_it_is_not_used() -> None:
    code = (
        "import sys, anycowork.app, anycowork.cli.main, anycowork.cli.run, anycowork.tui.app\n"
        "print([name for name in sys.modules if name == 'acp' or name.startswith(('acp.', 'anycowork.acp'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_printing_by_accident_does_not_reach_the_protocol(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom anycowork.acp.command import claim_stdio\n"
        "source, sink = claim_stdio()\nprint('by accident', flush=True)\nos.system('echo from a child')\n"
        "os.write(sink, b'protocol')\nassert os.read(0, 10) == b''\nassert os.read(source, 10) == b'input'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        input="input",
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert (done.stdout, done.returncode) == ("protocol", 0), done.stderr
    assert "by accident" in done.stderr and "from a child" in done.stderr


def test_the_first_answer_costs_little_more_than_loading_the_sdk(tmp_path: Path) -> None:
    """A ratio of CPU times; the best of three, since the machine may be busy."""
    line = CommandLine(tmp_path)

    def seconds(*words: str, piped: str = "") -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *words],
            env=line.environ(),
            input=piped,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    bare = min(seconds("-c", "import acp") for _ in range(3))
    ours = min(seconds("-m", "anycowork.cli.main", "acp", piped=INITIALIZE) for _ in range(3))
    assert ours < 1.3 * bare
