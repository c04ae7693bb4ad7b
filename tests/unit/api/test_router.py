"""A route costs a start nothing but its path: FastAPI reads its parameters at its first request."""

from typing import Annotated

import pytest
from fastapi import FastAPI, Response
from pydantic import BeforeValidator, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from starlette.types import Message, Scope

from anycowork.api.router import Router


class ReadMark:
    """An annotation that records when pydantic reads it."""

    def __init__(self) -> None:
        self.read = 0

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        self.read += 1
        return handler(source)


def app_with(mark: ReadMark) -> FastAPI:
    routes = Router("/things")

    @routes.get("/{number}")
    async def show_thing(number: Annotated[int, mark, BeforeValidator(int)]) -> Response:
        return Response(str(number + 1))

    app = FastAPI(openapi_url=None)
    app.router.routes.extend(routes.routes)
    return app


async def requested(app: FastAPI, method: str, path: str) -> tuple[int, bytes]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [], "root_path": ""}
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


async def test_parameters_are_read_at_the_first_request_and_not_again() -> None:
    mark = ReadMark()
    app = app_with(mark)
    assert mark.read == 0
    assert await requested(app, "GET", "/things/4") == (200, b"5")
    read = mark.read
    assert read > 0
    assert await requested(app, "GET", "/things/5") == (200, b"6")
    assert mark.read == read


@pytest.mark.parametrize("method", ["POST", "HEAD"])
async def test_other_methods_are_refused_without_reading_the_parameters(method: str) -> None:
    mark = ReadMark()
    status, _ = await requested(app_with(mark), method, "/things/4")
    assert status == 405 and mark.read == 0


async def test_a_path_is_compiled_when_a_request_comes_near_it_and_not_before() -> None:
    app = app_with(ReadMark())
    route = app.router.routes[-1]
    assert await requested(app, "GET", "/other/4") == (404, b'{"detail":"Not Found"}')
    assert "path_regex" not in vars(route)
    assert (await requested(app, "GET", "/things/4/more"))[0] == 404
    assert "path_regex" in vars(route)


@pytest.mark.parametrize(("path", "status"), [("/fixed", 200), ("/fixed/", 404), ("/fixed/4", 404), ("/fixed\n", 404)])
async def test_a_path_without_parameters_is_met_by_itself_alone(path: str, status: int) -> None:
    routes = Router()

    @routes.get("/fixed")
    async def show_fixed() -> Response:
        return Response()

    app = FastAPI(openapi_url=None, redirect_slashes=False)
    app.router.routes.extend(routes.routes)
    assert (await requested(app, "GET", path))[0] == status
