"""The routes of one noun. A route knows what it answers with, but FastAPI works that out only when /openapi.json is asked for.

Answers are encoded by us (`answers.py`), so nobody else needs their shapes; working out those of all routes took a third of a start.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from anycowork.api.responses import Responses
from anycowork.api.route_template import name_route


class Route(APIRoute):
    """`response_model` and `responses` are kept for `described`; to a request they are nothing."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        response_model: object = None,
        responses: Responses | None = None,
        **others: Any,  # Any: FastAPI's own, passed on as they are
    ) -> None:
        super().__init__(path, endpoint, response_model=None, **others)
        self._documentation = {"response_model": response_model, "responses": responses, **others}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        name_route(scope, self.path)
        await super().handle(scope, receive, send)

    def described(self) -> APIRoute:
        """The same route with all that it may answer."""
        return APIRoute(self.path, self.endpoint, **self._documentation)


class Router(APIRouter):
    def __init__(self, prefix: str = "", *, tags: Iterable[str | Enum] = (), include_in_schema: bool = True) -> None:
        super().__init__(
            prefix=prefix,
            tags=list(tags),
            include_in_schema=include_in_schema,
            route_class=Route,
            generate_unique_id_function=lambda route: route.name,
        )


def describe_route(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    return [route.described() if isinstance(route, Route) else route for route in routes]
