"""Reads the text of a PDF in a child process with limits (`pdf_worker`). The server parses nothing of it."""

import asyncio
import json
import subprocess
import sys
import tempfile

from anycowork.domain.attached_files import MAX_BYTES, PdfText
from anycowork.domain.errors import Invalid
from anycowork.files.worker_host import read_answer

_WORKER = "anycowork.files.pdf_worker"
_HEAD = 1024  # a PDF names itself within its first bytes
_CONTROLS = dict.fromkeys((*range(9), 11, *range(14, 32), *range(127, 133), *range(134, 160)))


class LocalPdfTexts:
    """Reads one file at a time: each may take the whole of its limits."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)

    async def read(self, name: str, data: bytes) -> PdfText:
        """Returns the text that a PDF holds. Raises: Invalid if it has none, is damaged, locked or too costly."""
        if b"%PDF-" not in data[:_HEAD]:
            raise Invalid(f"{name} is not a PDF.", param="data")
        async with self._turn:
            answer = await asyncio.to_thread(run_worker, _WORKER, data, str(MAX_BYTES))
        fault, text, pages = answer.get("fault"), answer.get("text"), answer.get("pages")
        if isinstance(fault, str):
            raise Invalid(f"{name} {fault}, so its text cannot be attached.", param="data")
        if not isinstance(text, str) or not isinstance(pages, int):
            raise Invalid(f"{name} could not be read as a PDF.", param="data")
        clean = text.encode("utf-8", "replace").decode().translate(_CONTROLS)
        if not clean.strip():
            raise Invalid(f"{name} has no text: its pages may be scanned pictures.", param="data")
        return PdfText(clean, pages)


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
        return read_answer(answer)
