"""How OpenAI's other routes and native tool calls look on the wire, for the scripted model. Pure: a reply in, JSON or events out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any  # bodies are whatever a client sent

Body = dict[str, Any]


@dataclass(frozen=True)
class NativeCall:
    """A call as the API's own `tools` have it; `pieces` are its arguments as a stream cuts them up."""

    name: str
    arguments: Mapping[str, Any]

    def pieces(self) -> list[str]:
        text = json.dumps(self.arguments)
        return [text[i : i + 9] for i in range(0, len(text), 9)]


# --- chat completions


def whole_calls(calls: Sequence[NativeCall]) -> list[Body]:
    return [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": "".join(call.pieces())},
        }
        for index, call in enumerate(calls)
    ]


def call_deltas(calls: Sequence[NativeCall]) -> Iterator[Body]:
    """The first delta of a call names it; those after it carry its arguments and its index alone."""
    for index, call in enumerate(calls):
        head = {"index": index, "id": f"call_{index}", "type": "function"}
        yield {"tool_calls": [{**head, "function": {"name": call.name, "arguments": ""}}]}
        for piece in call.pieces():
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


# --- responses

_USAGE = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 2},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 1},
    "total_tokens": 16,
}


def response(pieces: Sequence[str], calls: Sequence[NativeCall], body: Body, *, status: str = "completed") -> Body:
    done = status == "completed"
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": body.get("model"),
        "output": _output(pieces, calls) if done else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "usage": _USAGE if done else None,
    }


def response_events(pieces: Sequence[str], calls: Sequence[NativeCall], body: Body) -> list[bytes]:
    """From created to completed; each event says its type twice, as the API does."""
    begun = response(pieces, calls, body, status="in_progress")
    told: list[Body] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(_output(pieces, calls)):
        place = {"output_index": index, "item_id": item["id"]}
        told.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            told += [
                {"type": "response.output_text.delta", **place, "content_index": 0, "delta": piece} for piece in pieces
            ]
        else:
            call = calls[index - (1 if pieces else 0)]
            told += [
                {"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in call.pieces()
            ]
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    told.append({"type": "response.completed", "response": response(pieces, calls, body)})
    return [_typed(number, event) for number, event in enumerate(told)]


def _output(pieces: Sequence[str], calls: Sequence[NativeCall]) -> list[Body]:
    text = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    message = {"id": "msg_0", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    asked = [
        {
            "id": f"fc_{index}",
            "call_id": f"call_{index}",
            "type": "function_call",
            "status": "completed",
            "name": call.name,
            "arguments": "".join(call.pieces()),
        }
        for index, call in enumerate(calls)
    ]
    return [*([message] if pieces else []), *asked]


def _typed(number: int, event: Body) -> bytes:
    data = json.dumps({**event, "sequence_number": number})
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


# --- embeddings


def embeddings(body: Body) -> Body:
    """A small vector for each input: its length, and two numbers that stay as they are."""
    given = body.get("input")
    inputs = given if isinstance(given, list) else [given]
    data = [
        {"object": "embedding", "index": index, "embedding": [float(len(str(text))), 0.25, -1.5]}
        for index, text in enumerate(inputs)
    ]
    usage = {"prompt_tokens": len(inputs), "total_tokens": len(inputs)}
    return {"object": "list", "model": body.get("model"), "data": data, "usage": usage}
