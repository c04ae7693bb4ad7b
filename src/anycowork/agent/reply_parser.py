"""Parses a model's reply. Pure: text in, one of a closed set of readings out; it never raises and loses no content."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from pydantic import ValidationError

from anycowork.domain.bounded_json import MAX_DEPTH, is_too_deep
from anycowork.domain.messages import Json
from anycowork.domain.model import LONGEST_REPLY
from anycowork.domain.plan import Plan, explain_plan, looks_like_plan, read_plan, unusable_plan
from anycowork.domain.question import Question, Review, read_question, read_review
from anycowork.domain.roles import OutputFormat
from anycowork.domain.tools import Parameters, ToolCall
from anycowork.domain.values import replace, value

MAX_CALLS = 20
_CANDIDATES = 200  # objects examined in one reply; a reply with more is prose about JSON
_MOST_READ = 4 * LONGEST_REPLY  # characters scanned to find them
_TOO_DEEP = f"the call is nested deeper than {MAX_DEPTH} levels; flatten it"
_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*$", re.MULTILINE)
# A description, not a template: a weak model copies the placeholders of a template.
_FORMAT = 'an object with exactly the keys "tool" (text), "parameters" (object) and "terminate" (true or false)'


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


@value
class AnswerReply:
    """An answer in text. `note` explains why a plan in it is not valid."""

    text: str
    note: str | None = None


@value
class FoundCall:
    """A call in its strict form. `source` is the call as written in the reply."""

    tool: str
    parameters: Parameters
    terminate: bool
    source: str


@value
class CallsReply:
    """`prose` is the text around the calls; `whole` if there is none, or if the calls came `apart` (natively), so that they cannot be
    quoted text. `dropped` explains why later calls were ignored."""

    calls: tuple[FoundCall, ...]
    prose: str
    dropped: str | None = None
    apart: bool = False

    @property
    def whole(self) -> bool:
        return self.apart or not self.prose


@value
class PlanReply:
    plan: Plan
    text: str


@value
class QuestionReply:
    question: Question
    text: str


@value
class ReviewReply:
    review: Review
    text: str


@value
class UnreadableReply:
    """A call that could not be parsed; `problem` says precisely why."""

    text: str
    problem: str


Reading = AnswerReply | CallsReply | PlanReply | QuestionReply | ReviewReply | UnreadableReply


@value
class _Found:
    value: Json
    start: int
    end: int


def read_reply(
    text: str,
    *,
    output: OutputFormat = OutputFormat.TEXT,
    cut_off: bool = False,
    completed: Collection[str] = (),
) -> Reading:
    """Parses a reply. `cut_off`: the provider stopped the answer because of its length. `completed` are tasks that a new plan of a job
    may depend on."""
    if only := _only_call(text):
        return only
    objects = _objects_in(text)
    attempts = [
        json_object
        for json_object in objects
        if _is_call_attempt(json_object.value, alone=len(objects) == 1 and _is_whole(text, json_object))
    ]
    if attempts:
        return _calls(text, attempts)
    for json_object in objects:
        if reading := _document(json_object.value, text, output, completed):
            return reading
    if problem := _broken_call(text, cut_off=cut_off):
        return UnreadableReply(text, problem)
    notes = (
        unusable_plan(json_object.value, alone=len(objects) == 1 and _is_whole(text, json_object))
        for json_object in objects
    )
    return AnswerReply(text, next(filter(None, notes), None))


def read_called(called: Sequence[str], prose: str) -> Reading:
    """Parses native calls, which the provider sent apart from the text, each in the strict form if possible."""
    read = read_reply("\n".join(called))
    if isinstance(read, CallsReply):
        return replace(read, prose=prose.strip(), apart=True)
    return (
        read
        if isinstance(read, UnreadableReply)
        else UnreadableReply(prose, "the arguments of the call are not a JSON object.")
    )


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`ToolCall` for a decoder that parses and validates in one pass, without error details."""

    tool: str
    parameters: dict[str, Any]  # any JSON: the decoder cannot make anything else
    terminate: bool


_STRICT = msgspec.json.Decoder(_Strict)


def _only_call(text: str) -> CallsReply | None:
    """Parses a reply that is exactly one valid call, the usual case. None means: use the full parser."""
    if not text.startswith("{"):
        return None
    try:
        call = _STRICT.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    if is_too_deep(call.parameters, text):
        return None
    return CallsReply((FoundCall(call.tool, call.parameters, call.terminate, text.rstrip()),), prose="")


def _calls(text: str, attempts: list[_Found]) -> Reading:
    good: list[FoundCall] = []
    problem = None
    for attempt in attempts:
        read = _read_call(attempt.value, text[attempt.start : attempt.end])
        if isinstance(read, str):
            problem = read
            break
        if len(good) == MAX_CALLS:
            problem = f"at most {MAX_CALLS} calls are accepted from one reply; make the other calls again."
            break
        good.append(FoundCall(read.tool, read.parameters, read.terminate, text[attempt.start : attempt.end]))
    if not good:
        return UnreadableReply(text, problem or "no call could be read.")
    return CallsReply(tuple(good), _prose_around(text, attempts), problem)


def _read_call(value: Json, source: str) -> ToolCall | str:
    if is_too_deep(value, source):
        return _TOO_DEEP
    try:
        msgspec.json.encode(value)
        return ToolCall.model_validate(value)
    except UnicodeEncodeError:
        return "the call contains half of a surrogate pair, which is not text"
    except ValidationError as error:
        return f"the call is not {_FORMAT}: {'; '.join(_sentence(item) for item in error.errors())}."


def _sentence(item: object) -> str:
    assert isinstance(item, dict)
    field = ".".join(str(part) for part in item["loc"]) or "the object"
    if item["type"] == "missing":
        return f"'{field}' is missing"
    if item["type"] == "extra_forbidden":
        return f"'{field}' does not belong there"
    return f"'{field}': {item['msg']}"


def plan_problem(text: str, completed: Collection[str]) -> str | None:
    """Explain what is wrong with the plan that this text was meant to be; None if it holds nothing like a plan."""
    objects = [json_object.value for json_object in _objects_in(text)]
    intended_plan = next((value for value in objects if looks_like_plan(value)), None)
    return None if intended_plan is None else explain_plan(intended_plan, completed)


def _document(value: Json, text: str, output: OutputFormat, completed: Collection[str]) -> Reading | None:
    if plan := read_plan(value, completed):
        return PlanReply(plan, text)
    if question := read_question(value):
        return QuestionReply(question, text)
    if output is OutputFormat.REVIEW and (review := read_review(value)):
        return ReviewReply(review, text)
    return None


def _objects_in(text: str) -> list[_Found]:
    """Returns the outermost JSON objects in the text, in order, fenced or not."""
    objects: list[_Found] = []
    position, read = text.find("{"), 0
    for _ in range(_CANDIDATES):
        if position < 0 or read > _MOST_READ:
            break
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            read += error.pos - position if isinstance(error, json.JSONDecodeError) else len(text) - position
            position = text.find("{", position + 1)
            continue
        read += end - position
        objects.append(_Found(value, position, end))
        position = text.find("{", end)
    return objects


def _is_call_attempt(value: Json, *, alone: bool) -> bool:
    """Whether the object is meant as a call: it has a tool, or it is the whole reply and lacks only the tool. In prose, an object with
    neither parameters nor terminate is only data."""
    if "steps" in value:
        return False
    if "tool" not in value:
        return alone and "parameters" in value and "terminate" in value
    return alone or "parameters" in value or "terminate" in value


def _is_whole(text: str, json_object: _Found) -> bool:
    return not _prose_around(text, [json_object])


def _prose_around(text: str, objects: list[_Found]) -> str:
    """Returns the reply without the calls, their fences, and the commas and brackets of a list of calls."""
    pieces, position = [], 0
    for json_object in objects:
        pieces.append(text[position : json_object.start])
        position = json_object.end
    pieces.append(text[position:])
    prose = _FENCE.sub("", "\n".join(pieces)).strip()
    return "" if not prose.strip("[], \t\r\n`") else prose


def _broken_call(text: str, *, cut_off: bool) -> str | None:
    """Returns why a reply that begins like a call is not valid; None if it does not begin like a call."""
    body = _FENCE.sub("", text).strip()
    if not body.startswith(("{", "[{")) or not re.match(r'[\[{\s]*["\']?tool\b', body):
        return None
    if cut_off:
        return "the reply was cut off before the call was complete; send a shorter call."
    try:
        _DECODER.decode(body)
    except json.JSONDecodeError as error:
        return f"the call is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}. A call is {_FORMAT}."
    except (ValueError, RecursionError) as error:
        return f"the call is not valid JSON: {error}."
    return f"the call is not {_FORMAT}."


# Bounded, because it runs for every new piece of text; lines with more leading blanks are shown, and still parsed at the end.
_MAY_BEGIN = re.compile(r"(?m)^[ \t]{0,200}(?=`|\{|\[)|(?<=[^\w])(?=\{)")
_HOLD = re.compile(
    r"(```[\w-]{0,40}\s{0,40})?[\[\s]{0,40}\{\s{0,40}"
    r'("(?:tool|type|goal|steps|tasks|parameters|terminate|format_version)"|"?\w{0,40}$|$)'
    r"|```[\w-]{0,40}\s{0,40}$|`{1,2}$|\[\s{0,40}$"
)


def safe_to_show(text: str, already_shown: int = 0) -> int:
    """Returns how much of a reply may be shown while it streams: up to where a call, plan, question or review may begin."""
    for start in _MAY_BEGIN.finditer(text, already_shown):
        if _HOLD.match(text, start.end()):
            return start.start()
    return len(text)


_SUCCESS = re.compile(
    r"\b(done|complete[d]?|finished|success(ful|fully)?|fixed|created|updated|changed|deleted|all set|works now)\b",
    re.I,
)
_FAILURE = re.compile(
    r"\b(fail(s|ed|ure)?|errors?|could ?n[o']t|can ?not|can't|unable|not (done|possible|found|exist)|missing|denied|refused)\b",
    re.I,
)


def claims_success(text: str) -> bool:
    """Whether the text claims success and mentions no failure."""
    return bool(_SUCCESS.search(text)) and not _FAILURE.search(text)
