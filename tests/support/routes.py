"""Requests to every route, made from the server's own description: a new route is asked as well."""

from collections.abc import Iterator, Mapping
from typing import Any  # JSON schemas

from support.live_server import Json
from support.people import METHODS


class RouteRequest:
    """A request with the ids that are given to it, in its path, its query and its body."""

    def __init__(self, method: str, path: str, names: frozenset[str], query: Json, body: Json | None) -> None:
        self.method, self.path, self.names = method, path, names
        self._query, self._body = query, body

    def __repr__(self) -> str:
        return f"{self.method} {self.path} {sorted(self.names)}"

    def with_ids(self, ids: Mapping[str, str]) -> tuple[str, str, Json, Json | None]:
        """Return the method, the path, the query and the body."""
        path = self.path
        for name in [part[1:-1] for part in self.path.split("/") if part.startswith("{")]:
            path = path.replace(f"{{{name}}}", ids.get(name, "x1"))
        query = {name: ids.get(name, content) for name, content in self._query.items()}
        return self.method, path, query, None if self._body is None else _with_ids(self._body, ids)


def requests_naming(document: Json, names: frozenset[str]) -> Iterator[RouteRequest]:
    """Yield a request for each route and each of these names that it takes in its path, its query or its body."""
    for path, methods in document["paths"].items():
        for method in methods:
            if method.upper() in METHODS:
                yield from _requests(document, method.upper(), path, methods[method], names)


def _requests(document: Json, method: str, path: str, operation: Json, names: frozenset[str]) -> Iterator[RouteRequest]:
    parameters = operation.get("parameters", [])
    in_path = frozenset(each["name"] for each in parameters if each["in"] == "path") & names
    needed = {
        each["name"]: fitting(document, each["schema"])
        for each in parameters
        if each["in"] == "query" and each.get("required")
    }
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    schema = _resolved(document, content["schema"]) if content else None
    body = fitting(document, schema) if schema else None
    if in_path:
        yield RouteRequest(method, path, in_path, needed, body)
        return
    for name in sorted(names):
        if any(each["in"] == "query" and each["name"] == name for each in parameters):
            yield RouteRequest(method, path, frozenset({name}), {**needed, name: "x1"}, body)
        if schema is not None:
            for given in _bodies_with(document, schema, name):
                yield RouteRequest(method, path, frozenset({name}), needed, given)


def _bodies_with(document: Json, schema: Json, name: str) -> Iterator[Json]:
    base = fitting(document, schema)
    for field, part in schema.get("properties", {}).items():
        inner = _resolved(document, part)
        if field == name:
            yield {**base, field: "x1"}
        elif inner.get("type") == "object":
            for given in _bodies_with(document, inner, name):
                yield {**base, field: given}


def fitting(document: Json, schema: Json) -> Any:
    """Return the least that fits this schema."""
    schema = _resolved(document, schema)
    if "default" in schema and schema["default"] is not None:
        return schema["default"]
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            needed = schema.get("required", [])
            return {
                field: fitting(document, part)
                for field, part in schema.get("properties", {}).items()
                if field in needed
            }
        case "array":
            return [fitting(document, schema["items"]) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case _:
            if "pattern" in schema and "64" in schema["pattern"]:
                return "0" * 64
            return "x" * max(1, schema.get("minLength", 1))


def choices(document: Json, schema: Json) -> list[Any]:
    """Return the values that a parameter of a query may have, where there are few."""
    schema = _resolved(document, schema)
    return schema.get("enum") or (["true", "false"] if schema.get("type") == "boolean" else [])


def _resolved(document: Json, schema: Json) -> Json:
    while "$ref" in schema or "anyOf" in schema or "allOf" in schema or "oneOf" in schema:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        else:
            options = schema.get("anyOf") or schema.get("allOf") or schema.get("oneOf") or []
            schema = next(each for each in options if each.get("type") != "null")
    return schema


def _with_ids(body: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(body, dict):
        return {name: ids[name] if name in ids else _with_ids(part, ids) for name, part in body.items()}
    return [_with_ids(part, ids) for part in body] if isinstance(body, list) else body
