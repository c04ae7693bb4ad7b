"""PDF files that are damaged, locked, endless or made to exhaust their reader: each gives a clear error, and the server goes on."""

import base64
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from anycowork.api.routes import messages
from anycowork.domain.errors import Invalid
from anycowork.files.pdf_text import LocalPdfTexts
from support.live_server import live_server
from support.pdf_files import pdf
from support.spec import proves


@proves("UI-8")
async def test_the_text_of_a_pdf_is_attached_and_shown_to_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live_server(tmp_path, replies=["Yes."]) as client:
        data = base64.b64encode(pdf()).decode()
        read = await client.ask("POST", "/attachments/pdf", {"name": "lion.pdf", "data": data}, expect=200)
        assert (read["content"].strip(), read["pages"]) == ("The lion sleeps", 1)
        chat = await client.chat()
        body = {"content": "What sleeps?", "attachments": [{"name": read["name"], "content": read["content"]}]}
        await client.ask("POST", f"{chat.path}/messages", body, expect=202)
        await chat.rest()
        assert "The lion sleeps" in str(client.model.requests[-1]["messages"])
        monkeypatch.setattr(messages, "MAX_PDF_BYTES", len(pdf()))
        for name, data, status in (
            ("a.pdf", "%%%", 422),
            ("a.pdf", base64.b64encode(b"MZ").decode(), 422),
            ("a.pdf", base64.b64encode(pdf() + bytes(100)).decode(), 413),
        ):
            await client.ask("POST", "/attachments/pdf", {"name": name, "data": data}, expect=status)


async def test_hostile_pdfs_give_a_clear_error() -> None:
    read = LocalPdfTexts().read
    bomb = zlib.compress(bytes(100 << 20), 1)
    cases = {
        "garbage": b"%PDF-1.7\n" + bytes(range(256)) * 50,
        "bomb": pdf(bomb, filters="/Filter /FlateDecode"),
        "no text": pdf(b"0 0 m 1 1 l S"),
        "pages in a circle": pdf(pages="2 0 R 3 0 R", count=2),
        "long text": pdf(b"BT /F1 1 Tf " + b"(" + b"x" * 1000 + b") Tj (" + b"y" * 300_000 + b") Tj ET"),
    }
    for name, data in cases.items():
        try:
            found = await read("x.pdf", data)
        except Invalid as error:
            assert error.message.startswith("x.pdf ") and len(error.message) < 200, name
        else:
            assert name == "pages in a circle" and len(found.content) < 1000, name
    with pytest.raises(Invalid, match="more than 200 KB of text"):
        await read("x.pdf", cases["long text"])
    with pytest.raises(Invalid, match="no text"):
        await read("x.pdf", cases["no text"])


def test_the_reader_of_pdfs_limits_itself(tmp_path: Path) -> None:
    """In a child, as the reader runs: memory, processor time and, with Landlock, reading, writing, starting and connecting are refused."""
    script = (
        f"import os, resource, socket, subprocess, sys\nsys.path[:] = {[*filter(None, sys.path)]!r}\n"
        "from anycowork.files.pdf_worker import limit_this_process, MEMORY, CPU_SECONDS\n"
        "from anycowork.workspace.landlock import landlock_abi\n"
        "limit_this_process()\n"
        "assert resource.getrlimit(resource.RLIMIT_CPU) == (CPU_SECONDS, CPU_SECONDS)\n"
        "try: bytearray(MEMORY); print('memory')\n"
        "except MemoryError: pass\n"
        "if landlock_abi():\n"
        "  for path in ('secret', '/etc/passwd', '/proc/self/environ', '/proc/1/status'):\n"
        "    try: open(path).close(); print('read', path)\n"
        "    except OSError: pass\n"
        "  try: print('listed', os.listdir('.'))\n"
        "  except OSError: pass\n"
        "  import xml.dom.minidom, sqlite3\n"
        "  try: open('written', 'w'); print('wrote')\n"
        "  except OSError: pass\n"
        "  try: subprocess.run(['/bin/true']); print('started')\n"
        "  except OSError: pass\n"
        "if landlock_abi() >= 4:\n"
        "  try: socket.create_connection(('127.0.0.1', 1), timeout=5); print('connected')\n"
        "  except PermissionError: pass\n"
        "  except OSError as error: print('tried to connect', error)\n"
    )
    (tmp_path / "secret").write_text("key")
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, timeout=60, check=True
    )
    assert done.stdout == b"" and not (tmp_path / "written").exists()
