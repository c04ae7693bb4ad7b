"""The web UI at `/`: the built page if this installation has one, else one inert page that says how to get it. Nothing from elsewhere."""

import asyncio
import gzip
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from mimetypes import guess_type

from fastapi import Request, Response

from anycowork.api.router import Router
from anycowork.domain.errors import NotFound

routes = Router(include_in_schema=False)

_NOTHING_ELSE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_ONLY_OWN_STYLE = f"default-src 'none'; style-src 'self'; img-src 'self'; {_NOTHING_ELSE}"
_ONLY_OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; "
    f"worker-src 'self'; manifest-src 'self'; frame-src 'self'; {_NOTHING_ELSE}"
)
# Diagrams are drawn from a model's words. Their frame has no origin (`sandbox`), and nothing in it loads, sends or leads anywhere.
_DRAWING = (
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox allow-scripts"
)
_FRAME = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Diagram</title>
    <style>html, body {{ margin: 0 }} body {{ padding: 12px; overflow: auto }} svg {{ display: block; margin: auto; max-width: 100% }}</style>
  </head>
  <body><script src="/assets/{script}"></script></body>
</html>
"""
_FOR_EVER = "public, max-age=31536000, immutable"  # a built file's name changes with its content


@routes.get("/")
async def page() -> Response:
    built = _built().joinpath("index.html")
    file, policy = (built, _ONLY_OWN) if built.is_file() else (_static().joinpath("index.html"), _ONLY_OWN_STYLE)
    content = await asyncio.to_thread(file.read_bytes)
    return Response(content, headers={"content-security-policy": policy}, media_type="text/html; charset=utf-8")


@routes.get("/assets/style.css")
async def style() -> Response:
    return Response(
        await asyncio.to_thread(_static().joinpath("style.css").read_bytes), media_type="text/css; charset=utf-8"
    )


@routes.get("/assets/diagram.html")
async def diagram() -> Response:
    """The frame in which the page has diagrams drawn."""
    script = next((name for name in await asyncio.to_thread(_names) if _draws(name)), None)
    if script is None:
        raise NotFound("file", "diagram.html")
    headers = {"content-security-policy": _DRAWING, "x-frame-options": "SAMEORIGIN"}
    return Response(_FRAME.format(script=script), headers=headers, media_type="text/html; charset=utf-8")


@routes.get("/assets/{name}")
async def asset(name: str, request: Request) -> Response:
    """A worker obeys the policy that its own file came with, so files carry the page's."""
    if name not in await asyncio.to_thread(_names):
        raise NotFound("file", name[:100])
    plain, packed = await asyncio.to_thread(_content, name)
    headers = {"content-security-policy": _ONLY_OWN, "cache-control": _FOR_EVER, "vary": "accept-encoding"}
    if _draws(name):
        # Its frame has no origin, so to the browser it is another's.
        headers["cross-origin-resource-policy"] = "cross-origin"
    kind = guess_type(name)[0] or "application/octet-stream"
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, headers={**headers, "content-encoding": "gzip"}, media_type=kind)
    return Response(plain, headers=headers, media_type=kind)


def has_web_ui() -> bool:
    """Whether this installation came with the built web UI."""
    return _built().joinpath("index.html").is_file()


def _static() -> Traversable:
    return files("anycowork.api").joinpath("static")


def _built() -> Traversable:
    return _static().joinpath("dist")


def _draws(name: str) -> bool:
    return name.startswith("diagram-") and name.endswith(".js")


def _names() -> frozenset[str]:
    """Looked up, never joined from what was asked: no name leads out of the folder."""
    folder = _built().joinpath("assets")
    return frozenset(entry.name for entry in folder.iterdir()) if folder.is_dir() else frozenset()


@cache
def _content(name: str) -> tuple[bytes, bytes]:
    plain = _built().joinpath("assets", name).read_bytes()
    return plain, gzip.compress(plain, 9)
