"""The routes of one noun. A start knows their paths and methods only: FastAPI reads a route's parameters and bodies when it is first
asked for, and what it answers with when /openapi.json is asked for.

Answers are encoded by us (`responses.py`), so nobody else needs their shapes. Working out what all routes accept took a tenth of a
start, what they answer with a third.
"""

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match, compile_path
from starlette.routing import Route as PathRoute
from starlette.types import Receive, Scope, Send

from anycowork.api.asgi import name_route
from anycowork.api.responses import Responses
from anycowork.api.visibility import check_parameters, for_visible_only
from anycowork.domain.boundary import Boundary
from anycowork.server.services import Services

_COMPILED = ("path_regex", "path_format", "param_convertors")


class Route(PathRoute):
    """Keeps FastAPI's definition of a route until it is needed. `response_model` and `responses` are for `described` alone."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        methods: Collection[str],
        include_in_schema: bool = True,
        response_model: object = None,
        responses: Responses | None = None,
        **others: Any,  # Any: FastAPI's own, passed on as they are
    ) -> None:
        self.path, self.endpoint, self.name = path, endpoint, endpoint.__name__
        self.include_in_schema = include_in_schema
        check_parameters(path)
        self.methods = set(methods)  # without the HEAD that is added to a GET: `HeadAsGet` answers it
        self.app = self._answer_first
        self._fixed_start, self._has_parameters, _ = path.partition("{")
        self._definition: dict[str, Any] = {"methods": methods, "include_in_schema": include_in_schema, **others}
        self._documentation: dict[str, Any] = {"response_model": response_model, "responses": responses}

    def __getattr__(self, name: str) -> Any:  # Any: the pattern and its parts, as Starlette has them
        """Compiles the path when a request first comes near it: to compile all of them took a seventieth of a start."""
        if name not in _COMPILED:
            raise AttributeError(name)
        self.__dict__ |= zip(_COMPILED, compile_path(self.path), strict=True)
        return self.__dict__[name]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path: str = scope["path"]
        if not (path.startswith(self._fixed_start) if self._has_parameters else path == self._fixed_start):
            return Match.NONE, {}
        return super().matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        name_route(scope, self.path)
        await super().handle(scope, receive, send)

    def described(self) -> APIRoute:
        """The same route with all that it may answer."""
        _work_out_bodies(self.endpoint)
        return APIRoute(self.path, self.endpoint, **self._definition, **self._documentation)

    async def _answer_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers the first request. The later ones reach what FastAPI made."""
        _work_out_bodies(self.endpoint)
        self.app = APIRoute(self.path, for_visible_only(self.endpoint), response_model=None, **self._definition).app
        await self.app(scope, receive, send)


def _work_out_bodies(endpoint: Callable[..., Any]) -> None:
    """Works out the bodies that this endpoint takes. FastAPI would put it off once more, to where pydantic warns of what FastAPI does."""
    for body in get_type_hints(endpoint).values():
        if isinstance(body, type) and issubclass(body, Boundary):
            body.work_out()


class Router(APIRouter):
    def __init__(self, prefix: str = "", *, tags: Iterable[str | Enum] = (), include_in_schema: bool = True) -> None:
        super().__init__(
            prefix=prefix,
            tags=list(tags),
            include_in_schema=include_in_schema,
            route_class=Route,  # type: ignore[arg-type]  # no APIRoute, but made with the same arguments and then only listed
            generate_unique_id_function=lambda route: route.name,
        )


def describe_route(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    return [route.described() if isinstance(route, Route) else route for route in routes]


async def _services_of(request: Request) -> Services:
    services = request.app.state.services
    assert isinstance(services, Services)
    return services


ServicesDep = Annotated[Services, Depends(_services_of)]
