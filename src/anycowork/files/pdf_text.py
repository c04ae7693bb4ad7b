"""Implements the `PdfTexts` port: the text of a PDF, read by a child process with limits (`pdf_worker`). The server parses nothing of it."""

import asyncio
import json
import subprocess
import sys
import tempfile

from anycowork.domain.attached_files import MAX_BYTES, PdfText
from anycowork.domain.errors import Invalid
from anycowork.files.pdf_worker import ANSWER

SECONDS = 60.0
_HEAD = 1024  # a PDF names itself within its first bytes
# Without our environment, and yet with our packages, wherever this Python found them.
_START = (
    "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "runpy.run_module('anycowork.files.pdf_worker', run_name='__main__')"
)
_CONTROLS = dict.fromkeys((*range(9), 11, *range(14, 32), *range(127, 133), *range(134, 160)))


class LocalPdfTexts:
    """Reads one file at a time: each may take the whole of its limits."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)

    async def read(self, name: str, data: bytes) -> PdfText:
        if b"%PDF-" not in data[:_HEAD]:
            raise Invalid(f"{name} is no PDF.", param="data")
        async with self._turn:
            found = await asyncio.to_thread(_run_worker, data)
        fault, text, pages = found.get("fault"), found.get("text"), found.get("pages")
        if isinstance(fault, str):
            raise Invalid(f"{name} {fault}, so its text cannot be attached.", param="data")
        if not isinstance(text, str) or not isinstance(pages, int):
            raise Invalid(f"{name} could not be read as a PDF.", param="data")
        clean = text.encode("utf-8", "replace").decode().translate(_CONTROLS)
        if not clean.strip():
            raise Invalid(f"{name} has no text: its pages may be scanned pictures.", param="data")
        return PdfText(clean, pages)


def _run_worker(data: bytes) -> dict[str, object]:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
        given.write(data)
        given.seek(0)
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", _START, json.dumps([*filter(None, sys.path)]), str(MAX_BYTES)],
                stdin=given,
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
            found = json.loads(answer.read(ANSWER))
        except ValueError:
            return {}
    return found if isinstance(found, dict) else {}
