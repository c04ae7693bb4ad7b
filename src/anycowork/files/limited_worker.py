"""Runs a worker that limits itself (`pdf_worker`) on one untrusted file. The server parses nothing of the file."""

import json
import subprocess
import sys
import tempfile

from anycowork.domain.bounded_json import read_json
from anycowork.files.pdf_worker import ANSWER

SECONDS = 60.0
# Without our environment, and yet with our packages, wherever this Python found them.
_START = "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1), run_name='__main__')"


def run_worker(module: str, data: bytes, *arguments: str) -> dict[str, object]:
    """Returns the worker's answer; its `fault` completes a sentence about the file. Blocking."""
    with tempfile.TemporaryFile() as content, tempfile.TemporaryFile() as answer:
        content.write(data)
        content.seek(0)
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", _START, json.dumps([*filter(None, sys.path)]), module, *arguments],
                stdin=content,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"fault": "takes too long to read"}
        if done.returncode:
            return {"fault": "takes too long or too much memory to read"}
        answer.seek(0)
        try:
            answer_json = read_json(answer.read(ANSWER), strict=False)
        except ValueError:
            return {}
    return dict(answer_json) if isinstance(answer_json, dict) else {}
