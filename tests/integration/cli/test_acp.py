"""`anycowork acp` as a process: quick to answer, nothing but the protocol on stdout, and no cost for those who do not use it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any  # parameters, wrong ones too

from support.cli_process import SOURCE, CommandLine, ending
from support.spec import proves

# Optional fields of another type: the SDK takes them as missing.
ODD: list[dict[str, Any]] = [
    {"clientInfo": {"name": "Test Editor"}},
    {"clientInfo": []},
    {"clientInfo": {"name": 3, "version": "1"}},
    {"clientCapabilities": 0},
    {"clientCapabilities": {"fs": "all"}},
    {"clientCapabilities": {"fs": {"readTextFile": "perhaps"}}},
    {"clientCapabilities": {"_meta": 7}},
]
WRONG: list[dict[str, Any]] = [{}, {"protocolVersion": -1}, {"protocolVersion": 65536}]


def request(params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}) + "\n"


INITIALIZE = request({"protocolVersion": 1})


@proves("ACP-1/1")
def test_initialize_is_answered_before_a_server_is_looked_for(tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    done = line.type("acp", piped=INITIALIZE)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["id"], answer["result"]["protocolVersion"]) == (0, 0, 1)
    assert answer["result"]["agentCapabilities"]["loadSession"] is True
    assert not line.data.exists(), "nothing was started"


@proves("ACP-1/1")
def test_the_first_answer_is_the_one_that_the_sdk_gives_to_right_and_wrong_parameters(tmp_path: Path) -> None:
    """A plain `initialize` that comes first is answered without the SDK; a doubtful one, or a later one, by the SDK."""
    newer = {"protocolVersion": 99, "clientInfo": {"name": "Test Editor", "version": "1"}}
    doubtful = [{"protocolVersion": 1, **odd} for odd in ODD]
    for sent in ([newer, {"protocolVersion": 1}, *doubtful, *WRONG], [WRONG[0], doubtful[0], newer]):
        done = CommandLine(tmp_path).type("acp", piped="".join(request(params) for params in sent))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        results = [answer["result"] for answer in answers if "result" in answer]
        refused = [answer["error"]["code"] for answer in answers if "error" in answer]
        assert len(answers) == len(sent), done.stderr
        assert results == [results[0]] * len(results) and results[0]["protocolVersion"] == 1
        assert refused == [-32602] * sum(params in WRONG for params in sent)


def test_the_first_answer_does_not_wait_for_the_sdk(tmp_path: Path) -> None:
    code = "import sys\nsys.modules['acp'] = None\nfrom anycowork.cli.main import main\nsys.argv[1:] = ['acp']\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=CommandLine(tmp_path).environ(),
        input=INITIALIZE,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["result"]["agentCapabilities"]["loadSession"] is True
    assert done.returncode == 1 and "acp" in done.stderr, "the SDK cannot be loaded here"


def test_a_plain_file_as_input_is_refused_with_the_reason(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    requests.write_text(INITIALIZE)
    with requests.open() as file, ending(CommandLine(tmp_path).start("acp", stdin=file.fileno())) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "") and "An editor starts this command" in err


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


def test_without_an_editor_at_the_other_end_it_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anycowork.cli.main", "acp"],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "ANYCOWORK_DATA_DIR": str(tmp_path / "data")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 2 and done.stderr.startswith("anycowork acp: An editor starts this command"), done.stderr
