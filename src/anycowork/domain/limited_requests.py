"""Computes how much a request of a client key with a token or dollar limit may use at most, or why this cannot be determined. Pure.

Every field that an API can bill for is listed here. Unknown fields are refused, because a new field could bypass the limit.
"""

import json
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import NoReturn

from pydantic import JsonValue

from anycowork.domain.bounded_json import has_more_values
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.metering import ExpectedUse
from anycowork.domain.values import value

BYTES_PER_TOKEN = 4  # of plain words; every other byte may be a token of its own
MAX_VALUES = 300_000  # providers take no more numbers in one request for embeddings
UNNAMED_COMPLETION = 8192  # for a request without a bound
LOW_DETAIL_TOKENS, IMAGE_TOKENS = 3_000, 50_000  # the most that an expensive model bills for one image
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
_PLAIN = b"abcdefghijklmnopqrstuvwxyz "
_BOUNDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_STORED = frozenset({"previous_response_id", "conversation", "prompt"})
_IMAGE_PARTS = frozenset({"image_url", "input_image"})
_TOOLS = frozenset({"function", "custom"})
_TIERS = frozenset({"auto", "default", "flex"})


class CannotBeLimited(Invalid):
    """The cost of the request cannot be bounded before it is answered."""

    code = "cannot_be_limited"


@value
class LimitedRequest:
    """`fields` is the body; `names_bound`: it bounds its answer; `wants_usage`: its stream reports the usage."""

    fields: Json
    expected: ExpectedUse
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
    parts = [*_parts(fields, "messages"), *_parts(fields, "input")]
    _require_plain_answer(fields)
    images = [part for part in parts if not _is_text(part)]
    answers = _count(fields, "n") or 1
    if answers > MAX_ANSWERS:
        raise CannotBeLimited(f"'n' asks for {answers} answers; the maximum is {MAX_ANSWERS}.", param="n")
    text = _most_tokens(fields, apart_from=_image_data(images))
    prompt = max(fewest_tokens(len(body)), text, _numbers_in(fields.get("input"))) + _image_tokens(images)
    if path == EMBEDDINGS:
        return LimitedRequest(fields, ExpectedUse(prompt, 0, bounded=True), 1, names_bound=True, wants_usage=True)
    bounds = [bound for name in _BOUNDS if (bound := _count(fields, name))]
    completion = (max(bounds, default=UNNAMED_COMPLETION) + _extra_completion(fields)) * answers
    return LimitedRequest(
        fields,
        ExpectedUse(prompt, completion, bounded=bool(bounds)),
        answers,
        names_bound=bool(bounds),
        wants_usage=path == RESPONSES or _asks_for_usage(fields),
    )


def with_bounds(request: LimitedRequest, path: str, *, granted: int, bound_field: str) -> bytes | None:
    """Returns the body with a bound that the provider respects and a stream that reports its usage. None if both are there.

    `bound_field` is the provider's name for the bound of a chat completion.
    """
    added: Json = {}
    if not request.names_bound:
        added["max_output_tokens" if path == RESPONSES else bound_field] = max(1, granted // request.answers)
    elif path == CHAT and bound_field == "max_tokens" and request.fields.get("max_tokens") is None:
        added["max_tokens"] = request.fields["max_completion_tokens"]  # many servers know only the older name
    if request.streams and not request.wants_usage:
        options = request.fields.get("stream_options")
        added["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
    return json.dumps({**request.fields, **added}, separators=(",", ":")).encode() if added else None


# --- parsing: the same meaning for every server


def _read_object(body: bytes) -> Json:
    """Parses the body. Raises: CannotBeLimited if servers could read it differently."""
    if has_more_values(body, MAX_VALUES):
        raise CannotBeLimited(f"The body has more than {MAX_VALUES:,} values. Send them in several requests.")
    try:
        fields = _STRICT_JSON.decode(body.decode("utf-8"))
    except CannotBeLimited:
        raise
    except (ValueError, RecursionError):
        raise CannotBeLimited("The body is not plain JSON, so what it asks for cannot be limited.") from None
    if not isinstance(fields, dict):
        raise CannotBeLimited("The body is not a JSON object, so what it asks for cannot be limited.")
    return fields


def _unambiguous(pairs: list[tuple[str, JsonValue]]) -> Json:
    """Refuses duplicate keys: some servers take the first, some the last, and some ignore their case."""
    fields = dict(pairs)
    if len(set(map(str.casefold, fields))) == len(pairs):
        return fields
    spellings: set[str] = set()
    for name, _ in pairs:
        if name.casefold() in spellings:
            raise CannotBeLimited(
                f"The field '{name[:60]}' appears twice, perhaps in different spellings. Send each field once.",
                param=name[:60],
            )
        spellings.add(name.casefold())
    return fields


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _no_constant(digits)


def _no_constant(word: str) -> NoReturn:
    raise CannotBeLimited(f"{word[:60]} is not a number that every server reads the same way.")


_STRICT_JSON = json.JSONDecoder(object_pairs_hook=_unambiguous, parse_constant=_no_constant, parse_float=_finite)


# --- fields that cannot be bounded


def _require_known(path: str, fields: Json) -> None:
    for name, content in fields.items():
        if content is None:
            continue
        if name in _STORED:
            raise CannotBeLimited(
                f"'{name}' refers to text stored at the provider, whose size is not known here. Send the messages themselves.",
                param=name,
            )
        if name not in _KNOWN[path]:
            raise CannotBeLimited(
                f"'{name[:60]}' is not known here, so a key with a limit cannot use it: its cost cannot be predicted. Leave it "
                "out, or ask the owner for a key without a token or dollar limit.",
                param=name[:60],
            )


def _require_plain_answer(fields: Json) -> None:
    if fields.get("background"):
        raise CannotBeLimited(
            "'background' delivers the answer later, where it cannot be counted. Leave it out.", param="background"
        )
    if fields.get("service_tier") not in (None, *_TIERS):
        raise CannotBeLimited(
            f"'service_tier' may be {', '.join(sorted(_TIERS))}: others have other prices.", param="service_tier"
        )
    if any(kind != "text" for kind in _items(fields.get("modalities"))):
        raise CannotBeLimited("'modalities' may only be text: audio has other prices.", param="modalities")
    if isinstance(model := fields.get("model"), str) and model.rstrip().casefold().endswith(":online"):
        raise CannotBeLimited("A model that searches the web is billed per search.", param="model")
    for tool in _items(fields.get("tools")):
        kind = tool.get("type", "function") if isinstance(tool, dict) else None
        if kind not in _TOOLS:
            raise CannotBeLimited(
                f"The provider's own tool '{str(kind)[:60]}' is billed by use, which cannot be predicted. Use tools of type 'function'.",
                param="tools",
            )


def _is_text(part: Json) -> bool:
    kind = part.get("type")
    return kind is None or kind in _TEXT_PARTS


def _require_countable(part: Json, param: str) -> None:
    if part.get("audio") is not None:
        raise CannotBeLimited("Audio stored at the provider cannot be counted. Leave 'audio' out.", param=param)
    if _is_text(part):
        return
    kind = part.get("type")
    if kind not in _IMAGE_PARTS:
        raise CannotBeLimited(
            f"A part of type '{str(kind)[:60]}' (audio, a file, stored content) cannot be counted before it is sent. Send text or images.",
            param=param,
        )
    if part.get("file_id") is not None:
        raise CannotBeLimited("An image stored at the provider cannot be counted. Send it as data.", param=param)


# --- the maximum use


def fewest_tokens(size: int) -> int:
    """Returns what a body of this many bytes is counted as at least."""
    return -(-size // BYTES_PER_TOKEN)


def _most_tokens(document: JsonValue, *, apart_from: Iterable[str] = ()) -> int:
    """Counts digits, signs, capitals and what is not ASCII byte by byte, as some tokenizers do, but for images, which are no text."""
    text = "".join(_texts(document)).encode("utf-8", "surrogatepass")
    dense = _dense_bytes(text) - sum(_dense_bytes(data.encode()) for data in apart_from)
    return fewest_tokens(len(text) - dense) + dense


def _dense_bytes(text: bytes) -> int:
    return len(text.translate(None, _PLAIN))


def _texts(document: JsonValue) -> Iterator[str]:
    """Yields every text and every name of a field."""
    pending = [document]
    while pending:
        outer = pending.pop()
        if isinstance(outer, str):
            yield outer
        elif isinstance(outer, list):
            pending.extend(outer)
        elif isinstance(outer, dict):
            yield from outer
            pending.extend(outer.values())


def _image_data(images: Iterable[Json]) -> Iterator[str]:
    for part in images:
        source = part.get("image_url")
        url = source.get("url") if isinstance(source, dict) else source
        if isinstance(url, str) and url.startswith("data:image/") and url.isascii():
            yield url


def _image_tokens(images: Iterable[Json]) -> int:
    """Counts images separately: neither the length of the URL nor the file size shows how many tokens an image has."""
    return sum(map(_image_floor, images))


def _image_floor(part: Json) -> int:
    image = part.get("image_url")
    detail = image.get("detail") if isinstance(image, dict) else part.get("detail")
    return LOW_DETAIL_TOKENS if detail == "low" else IMAGE_TOKENS


def _extra_completion(fields: Json) -> int:
    """Counts reasoning with a separate budget, and predicted output, which is billed where it was wrong."""
    budgets = (fields.get("reasoning"), fields.get("thinking"))
    reasoning = sum(
        _count(budget, name) or 0
        for budget in budgets
        if isinstance(budget, dict)
        for name in ("max_tokens", "budget_tokens")
    )
    prediction = fields.get("prediction")
    return reasoning + (
        0 if prediction is None else max(fewest_tokens(len(json.dumps(prediction))), _most_tokens(prediction))
    )


def _count(fields: Json, name: str) -> int | None:
    """Returns the number in this field. Raises: CannotBeLimited for any other value, which servers interpret differently."""
    number = fields.get(name)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or not 0 < number < 2**31:
        raise CannotBeLimited(f"'{name}' must be a whole number above zero.", param=name)
    return number


def _asks_for_usage(fields: Json) -> bool:
    options = fields.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _numbers_in(content: JsonValue) -> int:
    """Counts the numbers: embeddings accept tokens as numbers, and two bytes may be one token."""
    if isinstance(content, list):
        return sum(_numbers_in(item) for item in content)
    return int(isinstance(content, int | float))


def _parts(fields: Json, name: str) -> list[Json]:
    """Returns every message, item and content part of this field. Raises: CannotBeLimited if one cannot be counted or is nested too
    deeply."""
    parts: list[Json] = []
    pending: list[tuple[JsonValue, int]] = [(fields.get(name), 0)]
    while pending:
        outer, depth = pending.pop()
        if isinstance(outer, list):
            pending.extend([(inner, depth + 1) for inner in outer if isinstance(inner, list | dict)])
        elif isinstance(outer, dict):
            _require_countable(outer, name)
            parts.append(outer)
            for inner in (outer.get("content"), outer.get("output"), outer.get("summary")):
                if isinstance(inner, list | dict):
                    pending.append((inner, depth + 1))
        if depth > MAX_DEPTH:
            raise CannotBeLimited(f"Contents are nested more than {MAX_DEPTH} levels deep.")
    return parts


def _items(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else []
