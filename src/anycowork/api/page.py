"""The page at `/` until the web UI stands there: one inert file, no script, nothing from elsewhere."""

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Response

routes = APIRouter(include_in_schema=False)

_ONLY_OWN_STYLE = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KINDS = {"style.css": "text/css; charset=utf-8"}


@routes.get("/")
async def page() -> Response:
    headers = {"content-security-policy": _ONLY_OWN_STYLE}
    return Response(_static("index.html"), headers=headers, media_type="text/html; charset=utf-8")


@routes.get("/assets/style.css")
async def style() -> Response:
    return Response(_static("style.css"), media_type=_KINDS["style.css"])


@cache
def _static(name: str) -> bytes:
    return files("anycowork.api").joinpath("static", name).read_bytes()
