"""An agent that breaks the protocol as a test needs, without the SDK: `python raw_acp_agent.py WHAT`. It then answers as if nothing was."""

import json
import os
import sys
from pathlib import Path
from typing import Any  # a test's own words

READS = 200


def write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def line_of(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def say(text: str) -> None:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    write(line_of(method="session/update", params={"sessionId": "one", "update": update}))


def long_line() -> None:
    write(b" " * 25_000_000)


def dense_line() -> None:
    write(line_of(method="session/update", params={"x": [[]] * 900_000}))


def deep_line() -> None:
    write(b'{"jsonrpc":"2.0","method":"session/update","params":' + b"[" * 30_000 + b"]" * 30_000 + b"}")


def no_messages() -> None:
    for line in (
        b"no JSON",
        b"[1]",
        b"7",
        b"\xff\xfe",
        b'{"id": {}, "method": "x"}',
        b'{"method": 3}',
        b'{"id": 99}',
        b"",
    ):
        write(line)
    for params in (None, [], {"sessionId": "one"}, {"sessionId": "one", "update": {"sessionUpdate": "no such"}}):
        write(line_of(method="session/update", params=params))
    write(line_of(method="_of_nobody", params={}))


def half_a_pair() -> None:
    Path("a.txt").write_text("new\n")
    say("half \ud800 of a pair, and \U0001f600 whole\n")


def many_reads() -> None:
    """All of them before the first answer is read."""
    path = str(Path.cwd() / "a.txt")
    asked = [
        line_of(id=f"read-{at}", method="fs/read_text_file", params={"sessionId": "one", "path": path})
        for at in range(READS)
    ]
    write(b"\n".join(asked))
    answers = [json.loads(sys.stdin.buffer.readline()) for _ in range(READS)]
    refused = [str(one["error"]) for one in answers if "error" in one]
    say(f"{len({one['id'] for one in answers})} answers, {len(refused)} refused: {set(refused)}\n")


def odd_requests() -> None:
    """Requests that no program can be started for, and one that is answered twice over."""
    cwd = Path.cwd()
    for at, (method, params) in enumerate(
        [
            ("fs/read_text_file", {"path": f"{cwd}/a\0b"}),
            ("fs/write_text_file", {"path": f"{cwd}/a\0b", "content": "x"}),
            ("fs/read_text_file", {"path": f"{cwd}/{'x/' * 500_000}"}),
            ("terminal/create", {"command": "true\0", "args": ["x"]}),
            ("terminal/wait_for_exit", {"terminalId": "terminal-1"}),
            ("terminal/release", {"terminalId": "terminal-1"}),
            ("terminal/release", {"terminalId": "terminal-1"}),
        ]
    ):
        write(line_of(id=f"odd-{at}", method=method, params={"sessionId": "one", **params}))
    answers = [json.loads(sys.stdin.buffer.readline()) for _ in range(7)]
    say(f"{sum('error' in one for one in answers)} errors, {'Internal error' in str(answers)}\n")


def main() -> None:
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        match asked.get("method"):
            case "initialize":
                write(line_of(id=asked["id"], result={"protocolVersion": 1}))
            case "session/new":
                os.chdir(asked["params"]["cwd"])
                write(line_of(id=asked["id"], result={"sessionId": "one"}))
            case "session/prompt":
                globals()[sys.argv[1]]()
                say("went on")
                write(line_of(id=asked["id"], result={"stopReason": "end_turn"}))


if __name__ == "__main__":
    main()
