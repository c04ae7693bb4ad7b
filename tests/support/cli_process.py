"""What a person types, as real processes: `anycowork …` in a folder of its own, answered by a scripted model."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # JSON that tests look into freely
from urllib.request import Request, urlopen

import anycowork
from support.forked_command import ForkedCommand

SOURCE = Path(anycowork.__file__).parents[1]
TIMEOUT = 60.0  # until something that should happen did not: says nothing of how fast it is
WHOLE_PROCESS = 60.0  # starting an interpreter with the whole server on a busy machine
_OURS = ("ANYCOWORK_", "OPENAI_", "ANTHROPIC_")


@dataclass(frozen=True)
class CommandLine:
    """`home` holds the data folder and a workspace; `model_url` is who answers."""

    home: Path
    model_url: str | None = None

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def workspace(self) -> Path:
        folder = self.home / "work"
        folder.mkdir(exist_ok=True)
        return folder

    def environ(self, **more: str) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        model = {"OPENAI_BASE_URL": self.model_url, "ANYCOWORK_MODEL": "openai/scripted"} if self.model_url else {}
        ours = {"ANYCOWORK_DATA_DIR": str(self.data), "ANYCOWORK_PROBE_LOCAL_SERVERS": "false"}
        return {**inherited, "PYTHONPATH": ":".join([str(SOURCE), *filter(None, sys.path)]), **ours, **model, **more}

    def start(
        self, *words: str, stdin: int | None = None, stdout: int = subprocess.PIPE, **more: str
    ) -> subprocess.Popen[str]:
        return ForkedCommand(
            words,
            cwd=self.workspace,
            env=self.environ(**more),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def type(self, *words: str, piped: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """What came of it; `piped` is what standard input holds."""
        with ending(self.start(*words, stdin=None if piped is None else subprocess.PIPE, **more)) as process:
            out, err = process.communicate(piped, timeout=WHOLE_PROCESS)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    @contextmanager
    def serving(self, *words: str, **more: str) -> Iterator["ServeProcess"]:
        """A server that has said where it is."""
        with ending(self.start("serve", "--port", "0", *words, **more)) as process:
            assert process.stdout is not None
            banner = []
            for line in process.stdout:
                banner.append(line)
                if line.startswith("Ctrl-C"):
                    break
            else:
                raise AssertionError(f"The server ended: {process.communicate(timeout=TIMEOUT)[1]}")
            info = json.loads((self.data / "server.json").read_text())
            yield ServeProcess(process, "".join(banner), info["url"], (self.data / "token").read_text().strip())


@dataclass(frozen=True)
class ServeProcess:
    process: subprocess.Popen[str]
    banner: str
    url: str
    token: str

    def get(self, path: str) -> Any:
        return self._ask(Request(self.url + path))

    def post(self, path: str, body: object) -> Any:
        return self._ask(Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}))

    def delete(self, path: str) -> None:
        request = Request(self.url + path, headers={"Authorization": f"Bearer {self.token}"}, method="DELETE")
        urlopen(request, timeout=TIMEOUT).close()

    def wait_for(self, chat_id: str, event_type: str, *, after: int = 0) -> Any:
        """The chat's first event of this type, after a number; each single wait is bounded."""
        headers = {"Authorization": f"Bearer {self.token}", "Last-Event-ID": str(after)}
        request = Request(f"{self.url}/context/{chat_id}/events", headers=headers)
        with urlopen(request, timeout=TIMEOUT) as stream:
            events = (json.loads(line.removeprefix(b"data:")) for line in stream if line.startswith(b"data:"))
            return next(event for event in events if event["type"] == event_type)

    def _ask(self, request: Request) -> Any:
        request.add_header("Authorization", f"Bearer {self.token}")
        with urlopen(request, timeout=TIMEOUT) as response:
            return json.load(response)


@contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """The process is gone afterwards, whatever happened."""
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
