"""Reads a request of a client key whose tokens or dollars are limited: how much it may use at most, or why nobody can say. Pure.

Everything that an API can bill for is known here by name. What is not known is refused: a limit that a new field could pass is none.
"""

import json
from collections.abc import Iterator
from math import isfinite
from typing import NoReturn

from pydantic import JsonValue

from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.metering import Expected
from anycowork.domain.values import value

BYTES_PER_TOKEN = 4
UNNAMED_COMPLETION = 8192  # what a request gets that names no bound
LOW_DETAIL_TOKENS, IMAGE_TOKENS = 3_000, 50_000  # as much as the dearest model bills for one image
MAX_ANSWERS = 128
MAX_DEPTH = 16

CHAT, RESPONSES, EMBEDDINGS = "/v1/chat/completions", "/v1/responses", "/v1/embeddings"

# fmt: off
_SAMPLING = frozenset({
    "model", "temperature", "top_p", "top_k", "min_p", "top_a", "typical_p", "presence_penalty", "frequency_penalty",
    "repetition_penalty", "repeat_penalty", "seed", "stop", "logit_bias", "logprobs", "top_logprobs",
    "response_format", "user", "safety_identifier", "prompt_cache_key", "metadata", "store", "stream",
    "stream_options", "tools", "tool_choice", "parallel_tool_calls", "service_tier", "reasoning", "reasoning_effort",
    "verbosity", "thinking", "chat_template_kwargs", "guided_json", "guided_regex", "guided_choice", "guided_grammar",
    "grammar", "json_schema", "ignore_eos", "min_tokens", "stop_token_ids", "skip_special_tokens", "cache_prompt",
    "keep_alive", "enable_thinking", "include_reasoning", "reasoning_format",
})
_KNOWN = {
    CHAT: _SAMPLING | {
        "messages", "max_tokens", "max_completion_tokens", "n", "functions", "function_call", "prediction",
        "modalities",
    },
    RESPONSES: _SAMPLING | {
        "input", "instructions", "max_output_tokens", "max_tool_calls", "include", "text", "truncation", "background",
    },
    EMBEDDINGS: frozenset({"model", "input", "dimensions", "encoding_format", "user", "input_type", "truncate"}),
}
_TEXT_PARTS = frozenset({
    "text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text", "message", "function_call",
    "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output", "tool_result", "tool_use",
    "thinking",
})
# fmt: on
_BOUNDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_STORED = frozenset({"previous_response_id", "conversation", "prompt"})
_IMAGE_PARTS = frozenset({"image_url", "input_image"})
_TOOLS = frozenset({"function", "custom"})
_TIERS = frozenset({"auto", "default", "flex"})


class CannotBeLimited(Invalid):
    """The request may cost more than anybody can say before it is answered."""

    code = "cannot_be_limited"


@value
class LimitedRequest:
    """`fields` are the body's; `names_bound` says whether it bounds its answer, `wants_usage` whether its stream shall tell what it used."""

    fields: Json
    expected: Expected
    answers: int
    names_bound: bool
    wants_usage: bool

    @property
    def streams(self) -> bool:
        return self.fields.get("stream") is True


def read_limited(path: str, body: bytes) -> LimitedRequest:
    """Raises: CannotBeLimited, with the field as its `param`."""
    fields = _read_object(body)
    _require_known(path, fields)
    _require_plain_answer(fields)
    answers = _count(fields, "n") or 1
    if answers > MAX_ANSWERS:
        raise CannotBeLimited(f"'n' asks for {answers} answers; {MAX_ANSWERS} are the most.", param="n")
    prompt = max(-(-len(body) // BYTES_PER_TOKEN), _numbers_in(fields.get("input"))) + _image_tokens(fields)
    if path == EMBEDDINGS:
        return LimitedRequest(fields, Expected(prompt, 0, bounded=True), 1, names_bound=True, wants_usage=True)
    named = [bound for name in _BOUNDS if (bound := _count(fields, name))]
    completion = (max(named, default=UNNAMED_COMPLETION) + _extra_completion(fields)) * answers
    return LimitedRequest(
        fields,
        Expected(prompt, completion, bounded=bool(named)),
        answers,
        names_bound=bool(named),
        wants_usage=path == RESPONSES or _asks_for_usage(fields),
    )


def with_bounds(request: LimitedRequest, path: str, *, granted: int, bound_field: str) -> bytes | None:
    """The body with what it lacks: a bound that the provider heeds, and a stream that tells what it used. None if it lacks nothing.

    `bound_field` is how that provider bounds a chat completion.
    """
    added: Json = {}
    if not request.names_bound:
        added["max_output_tokens" if path == RESPONSES else bound_field] = max(1, granted // request.answers)
    elif path == CHAT and bound_field == "max_tokens" and request.fields.get("max_tokens") is None:
        added["max_tokens"] = request.fields["max_completion_tokens"]  # many servers know the older name alone
    if request.streams and not request.wants_usage:
        options = request.fields.get("stream_options")
        added["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
    return json.dumps({**request.fields, **added}, separators=(",", ":")).encode() if added else None


# --- reading it: one meaning for every reader


def _read_object(body: bytes) -> Json:
    """Raises: CannotBeLimited unless everybody reads this body alike."""
    try:
        found = json.loads(
            body.decode("utf-8"), object_pairs_hook=_unambiguous, parse_constant=_no_constant, parse_float=_finite
        )
    except CannotBeLimited:
        raise
    except (ValueError, RecursionError):
        raise CannotBeLimited("The body is not plain JSON, so what it asks for cannot be limited.") from None
    if not isinstance(found, dict):
        raise CannotBeLimited("The body is not a JSON object, so what it asks for cannot be limited.")
    return found


def _unambiguous(pairs: list[tuple[str, JsonValue]]) -> Json:
    """Some servers take the first of two equal keys, some the last, and some do not heed their case."""
    spellings: set[str] = set()
    for name, _ in pairs:
        if name.casefold() in spellings:
            raise CannotBeLimited(
                f"The field '{name[:60]}' stands there twice, in the same or in another spelling. Send each field once.",
                param=name[:60],
            )
        spellings.add(name.casefold())
    return dict(pairs)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _no_constant(digits)


def _no_constant(word: str) -> NoReturn:
    raise CannotBeLimited(f"{word[:60]} is no number that everybody reads alike.")


# --- what cannot be bounded


def _require_known(path: str, fields: Json) -> None:
    for name, given in fields.items():
        if given is None:
            continue
        if name in _STORED:
            raise CannotBeLimited(
                f"'{name}' brings in text that the provider keeps, and nobody here knows how much. Send the messages themselves.",
                param=name,
            )
        if name not in _KNOWN[path]:
            raise CannotBeLimited(
                f"'{name[:60]}' is not known here, so a key with a limit cannot use it: what it costs cannot be foreseen. Leave it "
                "out, or have the owner make a key without a limit of tokens or dollars.",
                param=name[:60],
            )


def _require_plain_answer(fields: Json) -> None:
    if fields.get("background"):
        raise CannotBeLimited(
            "'background' lets an answer come later, where nobody counts it. Leave it out.", param="background"
        )
    if fields.get("service_tier") not in (None, *_TIERS):
        raise CannotBeLimited(
            f"'service_tier' may be {', '.join(sorted(_TIERS))}: others have other prices.", param="service_tier"
        )
    if any(kind != "text" for kind in _items(fields.get("modalities"))):
        raise CannotBeLimited("'modalities' may be text alone: sound has other prices.", param="modalities")
    if isinstance(model := fields.get("model"), str) and model.rstrip().casefold().endswith(":online"):
        raise CannotBeLimited("A model that searches the web is billed by the search.", param="model")
    for tool in _items(fields.get("tools")):
        kind = tool.get("type", "function") if isinstance(tool, dict) else None
        if kind not in _TOOLS:
            raise CannotBeLimited(
                f"The provider's own tool '{str(kind)[:60]}' is billed by its use, which nobody can foresee. Tools of type 'function' work.",
                param="tools",
            )
    for name in ("messages", "input"):
        for part in _parts(fields.get(name)):
            _require_countable(part, name)


def _require_countable(part: Json, param: str) -> None:
    if part.get("audio") is not None:
        raise CannotBeLimited("Sound that the provider keeps cannot be counted. Leave 'audio' out.", param=param)
    kind = part.get("type")
    if kind is None or kind in _TEXT_PARTS:
        return
    if kind not in _IMAGE_PARTS:
        raise CannotBeLimited(
            f"A part of type '{str(kind)[:60]}' (sound, a file, something stored) cannot be counted before it is sent. Send text or images.",
            param=param,
        )
    if part.get("file_id") is not None:
        raise CannotBeLimited("An image that the provider keeps cannot be counted. Send it as data.", param=param)


# --- how much it may be


def _image_tokens(fields: Json) -> int:
    """An image's address is short and its file may be small: neither says how many tokens it is."""
    parts = (part for name in ("messages", "input") for part in _parts(fields.get(name)))
    return sum(_image_floor(part) for part in parts if part.get("type") in _IMAGE_PARTS)


def _image_floor(part: Json) -> int:
    shown = part.get("image_url")
    detail = shown.get("detail") if isinstance(shown, dict) else part.get("detail")
    return LOW_DETAIL_TOKENS if detail == "low" else IMAGE_TOKENS


def _extra_completion(fields: Json) -> int:
    """Thought that is budgeted apart, and foretold text, which is billed where it was wrong."""
    budgets = (fields.get("reasoning"), fields.get("thinking"))
    thought = sum(
        _count(budget, name) or 0
        for budget in budgets
        if isinstance(budget, dict)
        for name in ("max_tokens", "budget_tokens")
    )
    foretold = fields.get("prediction")
    return thought + (0 if foretold is None else -(-len(json.dumps(foretold)) // BYTES_PER_TOKEN))


def _count(fields: Json, name: str) -> int | None:
    """Raises: CannotBeLimited for what is no number of tokens: readers differ in what they make of it."""
    given = fields.get(name)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given < 2**31:
        raise CannotBeLimited(f"'{name}' must be a whole number above zero.", param=name)
    return given


def _asks_for_usage(fields: Json) -> bool:
    options = fields.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _numbers_in(given: JsonValue) -> int:
    """Embeddings take tokens as numbers; two bytes may be one."""
    if isinstance(given, list):
        return sum(_numbers_in(each) for each in given)
    return int(isinstance(given, int | float))


def _parts(given: JsonValue, depth: int = 0) -> Iterator[Json]:
    """Every message, item and part of a content. Raises: CannotBeLimited where they lie too deep in one another."""
    if depth > MAX_DEPTH:
        raise CannotBeLimited(f"Contents lie more than {MAX_DEPTH} deep in one another.")
    if isinstance(given, list):
        for each in given:
            yield from _parts(each, depth + 1)
    elif isinstance(given, dict):
        yield given
        for name in ("content", "output", "summary"):
            yield from _parts(given.get(name), depth + 1)


def _items(given: JsonValue) -> list[JsonValue]:
    return given if isinstance(given, list) else []
