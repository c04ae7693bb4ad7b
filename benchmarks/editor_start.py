"""What does `anycowork acp` cost until it has answered `initialize`, and until the first session? An editor waits for both."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from resource import RUSAGE_CHILDREN, getrusage

from measuring import Ground, Leg, cpu_seconds_of, environment_of_ours

QUESTION = "What `anycowork acp` costs until `initialize` is answered, and until the first session"
_SECONDS = 60


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with ground.fresh("editor") as place:
        workspace = place / "work"
        workspace.mkdir()
        words = ["-m", "anycowork.cli.main", "acp", "--data-dir", str(place / "data"), "--workspace", str(workspace)]
        initialize = _request(0, "initialize", {"protocolVersion": 1})
        session = _request(1, "session/new", {"cwd": str(workspace), "mcpServers": []})
        _until_answered(words, initialize, session)  # compiles what is not compiled yet
        yield {
            "initialize": lambda: _until_answered(words, initialize),
            "session": lambda: _until_answered(words, initialize, session),
            "sdk": lambda: _whole_cost(["-c", "import acp"]),
            "nothing": lambda: _whole_cost(["-c", "pass"]),
        }


def _request(number: int, method: str, params: dict[str, object]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def _until_answered(words: list[str], *requests: str) -> dict[str, float]:
    """CPU seconds of the process at the moment when the last of the requests is answered. Its input stays open meanwhile, as an editor's does."""
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment_of_ours(),
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        for number, request in enumerate(requests):
            process.stdin.write(request)
            process.stdin.flush()
            answer = next(found for line in process.stdout if (found := json.loads(line)).get("id") == number)
            assert "result" in answer, answer
        return {"cpu_s": cpu_seconds_of(process.pid)}
    finally:
        process.stdin.close()
        process.wait(_SECONDS)
        process.stdout.close()


def _whole_cost(words: list[str]) -> dict[str, float]:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, timeout=_SECONDS, env=environment_of_ours())
    after = getrusage(RUSAGE_CHILDREN)
    return {"cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}
