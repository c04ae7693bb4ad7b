"""What /openapi.json says beyond the JSON routes: the event streams, the roles there are, who may ask, and repeated requests."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from anycowork.api.gateway.app import FORWARDED
from anycowork.api.responses import error_responses
from anycowork.api.router import describe_route
from anycowork.api.routes.roles import ROLE_MARK
from anycowork.domain.chats import ChatState, EndReason
from anycowork.domain.events import DELTAS, EventType
from anycowork.domain.workflows import RunStatus

Schema = dict[str, Any]  # Any: a JSON schema is whatever JSON schema allows

_OPEN = ("/healthz", "/readyz")
_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_ENVELOPE: dict[str, Schema] = {
    "seq": {"type": "integer", "description": "Ascending per chat; gaps are legal. The stream's `id` line."},
    "id": _TEXT,
    "type": _TEXT,
    "v": {"type": "integer"},
    "chat_id": _TEXT,
    "turn_id": _TEXT_OR_NULL,
    "job_id": _TEXT_OR_NULL,
    "task_id": _TEXT_OR_NULL,
    "step_id": _TEXT_OR_NULL,
    "call_id": _TEXT_OR_NULL,
    "attempt": {"type": "integer"},
    "at": {"type": "string", "format": "date-time"},
    "principal": _TEXT,
    "cause": _TEXT_OR_NULL,
}
_DELTA: dict[str, Schema] = {"message_id": _TEXT, "offset": {"type": "integer"}, "text": _TEXT}
_NOUN_OF: dict[EventType, str] = {
    EventType.MESSAGE: "message",
    EventType.TURN_STARTED: "turn",
    EventType.TURN_ENDED: "turn",
    EventType.TOOL_CALL: "tool_call",
    EventType.TOOL_RESULT: "tool_result",
    EventType.PERMISSION_REQUEST: "approval",
    EventType.PERMISSION_DECIDED: "approval",
    EventType.QUESTION: "question",
    EventType.QUESTION_ANSWERED: "question",
    EventType.PLAN_UPDATE: "plan",
    EventType.TASK_STARTED: "task",
    EventType.TASK_COMPLETED: "task",
    EventType.JOB_UPDATED: "job",
    EventType.JOB_COMPLETED: "job",
    EventType.WORKFLOW_PROGRESS: "workflow",
    EventType.ROLE_CHANGED: "role",
    EventType.QUEUE_UPDATED: "queued",
    EventType.SNAPSHOT: "snapshot",
    EventType.RESTORE_PROGRESS: "restore",
    EventType.MODEL_RETRY: "retry",
    EventType.MCP_WAIT: "wait",
    EventType.USAGE: "usage",
    EventType.ERROR: "error",
}
_PROGRESS: Schema = {
    "type": "object",
    "description": "Sent when a step begins, and at the run's end.",
    "properties": {
        "run_id": _TEXT,
        "name": _TEXT,
        "step": {"type": "integer", "description": "From 1."},
        "of": {"type": "integer"},
        "status": {"type": "string", "enum": [status.value for status in RunStatus]},
        "title": _TEXT,
        "error": {"type": "object"},
    },
    "required": ["run_id", "name", "step", "of", "status", "title"],
}
_RESTORE: Schema = {
    "type": "object",
    "description": "Sent while a restore runs, and not stored.",
    "properties": {
        "snapshot": {"type": "string", "description": "The snapshot that is restored."},
        "done": {"type": "integer"},
        "total": {"type": "integer", "description": "How many paths it restores."},
    },
    "required": ["snapshot", "done", "total"],
}
_RETRY: Schema = {
    "type": "object",
    "description": "Sent when a model's server fails and is asked again after a wait, and not stored.",
    "properties": {
        "seconds": {"type": "number", "description": "How long the wait takes."},
        "until": {"type": "string", "format": "date-time", "description": "When the server is asked again."},
        "attempt": {"type": "integer", "description": "The attempt that follows; the first request is 1."},
        "tries": {"type": "integer", "description": "How many attempts there are at most."},
        "reason": {"type": "string", "description": "The code of the fault, such as `provider_rate_limited`."},
        "status": {
            "type": ["integer", "null"],
            "description": "The HTTP status of its answer; null if there was none.",
        },
    },
    "required": ["seconds", "until", "attempt", "tries", "reason", "status"],
}
_WAIT: Schema = {
    "type": "object",
    "description": "Sent while a turn waits for MCP servers that are being started, and not stored.",
    "properties": {
        "servers": {
            "type": "array",
            "items": _TEXT,
            "description": "The names of those that it waits for; none when it goes on.",
        }
    },
    "required": ["servers"],
}
_STREAM = "Server-sent events that stay open: `id: <number>`, `event: <type>`, `data: <the envelope, as described>`."
_HINT = "A comment `: chats` says that the list of chats should be read again: one came, went, or has another title"
_STATE: dict[str, Schema] = {"state": {"type": "string", "enum": [state.value for state in ChatState]}}
_BESIDE: dict[EventType, dict[str, Schema]] = {
    EventType.TURN_STARTED: _STATE,
    EventType.TURN_ENDED: {
        **_STATE,
        "reason": {"type": "string", "enum": [reason.value for reason in EndReason]},
        "evidence": {"anyOf": [{"$ref": "#/components/schemas/EvidenceResponse"}, {"type": "null"}]},
    },
    EventType.PERMISSION_REQUEST: _STATE,
    EventType.QUESTION: _STATE,
}
"""What stands beside the noun: the chat's new state, so that the sidebar needs no second request."""


def describe(app: FastAPI, role_names: Iterable[str]) -> Schema:
    """The whole document. `role_names` are the roles of this server, custom ones included."""
    document: Schema = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=describe_route(app.routes),
    )
    _add_events(document)
    _add_passthrough(document)
    _add_role_names(document, sorted({*role_names, "plan", "act"}))
    _add_security(document)
    _add_idempotency_key(document)
    _share_error_responses(document)
    return document


# --- events


def _add_events(document: Schema) -> None:
    schemas = document["components"]["schemas"]
    refs = {}
    for event in EventType:
        name = event_schema_name(event)
        schemas[name] = _event_schema(event)
        refs[event.value] = f"#/components/schemas/{name}"
    schemas["EventEnvelope"] = {
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": "type", "mapping": refs},
        "description": "The `data` line of one event: the envelope, with its noun nested under its own key.",
    }
    chat_id: Schema = {"name": "chat_id", "in": "path", "required": True, "schema": _TEXT}
    document["paths"]["/context/{chat_id}/events"] = {
        "get": _stream("Everything that happens in one chat", "with the first event", [chat_id], 404)
    }
    document["paths"]["/events"] = {
        "get": _stream(
            "Chat states, approvals and questions of every chat, without deltas", f"from now on. {_HINT}", []
        )
    }


def event_schema_name(event: EventType) -> str:
    return "".join(part.capitalize() for part in event.value.split("-")) + "Event"


def _event_schema(event: EventType) -> Schema:
    noun_properties = _DELTA if event in DELTAS else {_NOUN_OF[event]: _noun_schema(event), **_BESIDE.get(event, {})}
    properties = {**_ENVELOPE, **noun_properties, "type": {"const": event.value}}
    return {"type": "object", "properties": properties, "required": ["seq", "type", "chat_id", "at", *noun_properties]}


def _noun_schema(event: EventType) -> Schema:
    shape = {
        EventType.MESSAGE: "MessageResponse",
        EventType.PERMISSION_REQUEST: "ApprovalResponse",
        EventType.SNAPSHOT: "SnapshotResponse",
    }.get(event)
    if event is EventType.WORKFLOW_PROGRESS:
        return _PROGRESS
    if event is EventType.RESTORE_PROGRESS:
        return _RESTORE
    if event is EventType.MODEL_RETRY:
        return _RETRY
    if event is EventType.MCP_WAIT:
        return _WAIT
    return {"$ref": f"#/components/schemas/{shape}"} if shape else {"type": "object"}


def _stream(summary: str, beginning: str, parameters: list[Schema], *statuses: int) -> Schema:
    number: Schema = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
    content: Schema = {
        "text/event-stream": {
            "schema": {"$ref": "#/components/schemas/EventEnvelope"},
            "example": 'id: 7\nevent: text-delta\ndata: {"seq": 7, "type": "text-delta", "message_id": "…", "offset": 0, "text": "Hello"}\n\n',
        }
    }
    return {
        "tags": ["events"],
        "summary": summary,
        "description": f"Reconnecting with `Last-Event-ID` or `after` misses nothing; without them it starts {beginning}."
        " A delta whose `call_id` is set is what that call prints while it runs. It is not stored:"
        " the result of one that ends by itself has all of it.",
        "parameters": [
            *parameters,
            {"name": "after", "in": "query", "required": False, "schema": number},
            {"name": "Last-Event-ID", "in": "header", "required": False, "schema": number},
        ],
        "responses": {"200": {"description": _STREAM, "content": content}} | _plain(*statuses, 422),
    }


def _plain(*statuses: int) -> Schema:
    """Returns the documented errors of a route that FastAPI does not describe."""
    return {str(status): _error_reference(str(status)) for status in error_responses(*statuses)}


def _error_reference(status: str) -> Schema:
    return {"$ref": f"#/components/responses/Error{status}"}


# --- the passthrough


def _add_passthrough(document: Schema) -> None:
    """OpenAI's own reference describes these bodies; nothing is added to it here, so nothing of it is repeated."""
    open_object: Schema = {"type": "object", "additionalProperties": True}
    entry: Schema = {**open_object, "properties": {"id": _TEXT, "object": _TEXT}, "required": ["id"]}
    models: Schema = {
        "type": "object",
        "properties": {"object": {"const": "list"}, "data": {"type": "array", "items": entry}},
        "required": ["object", "data"],
    }
    document["paths"]["/v1/models"] = {
        "get": {
            "tags": ["passthrough"],
            "summary": "The models of every provider, by the providers' own ids",
            "responses": {"200": {"description": "OpenAI's list.", "content": {"application/json": {"schema": models}}}}
            | _plain(502, 504),
        }
    }
    document["paths"]["/v1/models/{model}"] = {
        "get": {
            "tags": ["passthrough"],
            "summary": "One of these models",
            "parameters": [{"name": "model", "in": "path", "required": True, "schema": _TEXT}],
            "responses": {"200": {"description": "Its entry.", "content": {"application/json": {"schema": entry}}}}
            | _plain(404, 502, 504),
        }
    }
    request_schema: Schema = {
        **open_object,
        "properties": {"model": {"type": "string", "description": "Chooses the provider; unknown: the default one."}},
    }
    for path in sorted(FORWARDED):
        document["paths"][path] = {"post": _passed_on(path, request_schema)}


def _passed_on(path: str, request_schema: Schema) -> Schema:
    answer: Schema = {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {"schema": _TEXT}}
    return {
        "tags": ["passthrough"],
        "summary": f"OpenAI's {path.removeprefix('/v1')}, passed on to a provider",
        "description": "The body goes on byte for byte, the provider's answer and its errors come back unchanged, streamed as they come.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": request_schema}}},
        "responses": {"200": {"description": "What the provider says.", "content": answer}}
        | _plain(400, 404, 408, 413, 415, 422, 502, 504),
    }


# --- roles, credentials, repeated requests


def _add_role_names(document: Schema, names: list[str]) -> None:
    """Puts the enum where a role is asked for, in a body or in the address."""
    schemas = document["components"]["schemas"]
    schemas["RoleName"] = {"type": "string", "enum": names}
    for shape in schemas.values():
        for name, field in shape.get("properties", {}).items():
            shape["properties"][name] = _role_or(field, name)
    for _, operation in _operations(document):
        for parameter in operation.get("parameters", ()):
            parameter["schema"] = _role_or(parameter["schema"], parameter["name"])


def _role_or(field: Schema, name: str) -> Schema:
    if not _is_role(field):
        return field
    nullable = [{"type": "null"}] if "anyOf" in field else []
    return {"anyOf": [{"$ref": "#/components/schemas/RoleName"}, *nullable], "title": field.get("title", name)}


def _is_role(field: Schema) -> bool:
    return ROLE_MARK in field or any(ROLE_MARK in option for option in field.get("anyOf", ()))


def _add_security(document: Schema) -> None:
    document["components"]["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "The server's token, or for the models under /v1 a client key.",
        },
    }
    for path, operation in _operations(document):
        is_open = path in _OPEN or operation.get("operationId") == "start_trigger"  # signed
        operation["security"] = [] if is_open else [{"token": []}]


def _add_idempotency_key(document: Schema) -> None:
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "The same key with the same body gives the first answer again, and does nothing twice.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    }
    for path, methods in document["paths"].items():
        if "post" in methods and not path.startswith("/v1/"):
            methods["post"].setdefault("parameters", []).append(key)


def _share_error_responses(document: Schema) -> None:
    """Describes each error response once, and lets every route refer to it."""
    shared: dict[str, Schema] = document["components"].setdefault("responses", {})
    for _, operation in _operations(document):
        for status in operation["responses"]:
            if status >= "400":
                operation["responses"][status] = _error_reference(status)
                shared[f"Error{status}"] = _error_response(int(status))


def _error_response(status: int) -> Schema:
    documented = error_responses(status)[status]
    content = {"schema": {"$ref": "#/components/schemas/Error"}, **documented["content"]["application/json"]}
    return {"description": documented["description"], "content": {"application/json": content}}


def _operations(document: Schema) -> Iterable[tuple[str, Schema]]:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            yield path, operation
