"""OpenAI's own client for Python: what it gets through the gateway is what it gets without it."""

import asyncio
from collections.abc import Callable

import openai
import pydantic
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types import CompletionUsage

from support.real_clients import ANSWER, Place
from support.spec import proves

HELLO = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Grüße 👋"}]},
]
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]
SEEN = object
TIMEOUT = 60.0  # until something that should happen did not: says nothing of how fast it is


def client(url: str, key: str, **more: object) -> OpenAI:
    return OpenAI(base_url=url, api_key=key, timeout=TIMEOUT, max_retries=0, **more)


def on_both_ways(place: Place, walk: Callable[[OpenAI], SEEN]) -> SEEN:
    """What the walk saw; the same both ways, and the provider got the same bodies."""
    before = len(place.model.raw)
    with client(place.direct, "any") as direct:
        expected = walk(direct)
    sent = place.model.raw[before:]
    with client(place.through, place.key()) as through:
        found = walk(through)
    assert found == expected
    assert place.model.raw[before + len(sent) :] == sent
    return found


@proves("GW-1")
def test_a_whole_answer(place):
    def walk(openai: OpenAI):
        return openai.chat.completions.create(
            model="scripted", messages=HELLO, max_completion_tokens=99, extra_body={"x_new": [1.5]}
        ).model_dump()

    found = on_both_ways(place, walk)
    assert found["choices"][0]["message"]["content"] == ANSWER
    assert found["usage"]["total_tokens"] > 0


@proves("GW-1")
def test_a_stream_with_its_usage(place):
    def walk(openai: OpenAI):
        stream = openai.chat.completions.create(
            model="scripted", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        return [chunk.model_dump() for chunk in stream]

    chunks = on_both_ways(place, walk)
    assert "".join(c["choices"][0]["delta"]["content"] or "" for c in chunks if c["choices"]) == ANSWER
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] > 0
    used = place.keys()[-1]["today"]
    assert (used["requests"], used["estimated"]) == (1, 0.0)
    assert used["completion_tokens"] == chunks[-1]["usage"]["completion_tokens"]


@proves("GW-1")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_tools_are_called_and_their_results_understood(place, stream):
    def walk(openai: OpenAI):
        if not stream:
            first = openai.chat.completions.create(model="scripted", messages=HELLO, tools=TOOLS).choices[0].message
        else:
            with openai.chat.completions.stream(model="scripted", messages=HELLO, tools=TOOLS) as events:
                first = events.get_final_completion().choices[0].message
        call = first.tool_calls[0]
        told = [
            {"role": "assistant", "content": None, "tool_calls": [call.model_dump(include={"id", "type", "function"})]},
            {"role": "tool", "tool_call_id": call.id, "content": "rain"},
        ]
        second = openai.chat.completions.create(model="scripted", messages=[*HELLO, *told], tools=TOOLS)
        return call.function.name, call.function.arguments, second.choices[0].message.content

    assert on_both_ways(place, walk) == ("weather", '{"city": "Ulm", "days": 3}', "It says: rain")


@proves("GW-1")
def test_responses_whole_and_streamed(place):
    def walk(openai: OpenAI):
        whole = openai.responses.create(model="scripted", input="hi")
        streamed = [event.model_dump() for event in openai.responses.create(model="scripted", input="hi", stream=True)]
        return whole.output_text, whole.usage.total_tokens, streamed

    text, total, events = on_both_ways(place, walk)
    assert (text, total) == (ANSWER, 16)
    assert (events[0]["type"], events[-1]["type"]) == ("response.created", "response.completed")
    assert "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta") == ANSWER
    used = place.keys()[-1]["today"]
    assert (used["prompt_tokens"], used["cached_tokens"], used["reasoning_tokens"], used["estimated"]) == (22, 4, 2, 0)


@proves("GW-1")
def test_responses_with_tools(place):
    tools = [
        {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}, "strict": False}
    ]

    def walk(openai: OpenAI):
        with openai.responses.stream(
            model="scripted", input=[{"role": "user", "content": "hi"}], tools=tools
        ) as events:
            call = next(item for item in events.get_final_response().output if item.type == "function_call")
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        return call.arguments, openai.responses.create(model="scripted", input=[result], tools=tools).output_text

    assert on_both_ways(place, walk) == ('{"city": "Ulm", "days": 3}', "It says: rain")


@proves("GW-1")
def test_embeddings_and_the_list_of_models(place):
    def walk(openai: OpenAI):
        found = openai.embeddings.create(model="scripted", input=["a", "abc"], encoding_format="float")
        return [item.embedding for item in found.data], [model.id for model in openai.models.list()]

    assert on_both_ways(place, walk) == ([[1.0, 0.25, -1.5], [3.0, 0.25, -1.5]], ["scripted", "other"])


@proves("GW-1")
@pytest.mark.parametrize(
    ("model", "kind", "code"),
    [
        ("refuses", openai.BadRequestError, "bad_x"),
        ("unknown", openai.NotFoundError, "model_not_found"),
        ("busy", openai.RateLimitError, "rate_limit_exceeded"),
        ("fails", openai.InternalServerError, None),
    ],
)
def test_an_error_of_the_provider_is_the_same_error(place, model, kind, code):
    def walk(openai_: OpenAI):
        with pytest.raises(openai.APIStatusError) as caught:
            openai_.chat.completions.create(model=model, messages=HELLO)
        error = caught.value
        return type(error), error.code, error.message, error.response.headers.get("retry-after"), error.body

    found = on_both_ways(place, walk)
    assert found[:2] == (kind, code)
    assert found[3] == ("7" if model == "busy" else None)


@proves("GW-1")
def test_a_stream_that_breaks_off_is_no_whole_answer(place):
    with client(place.through, place.key()) as through, pytest.raises(openai.APIError):
        list(through.chat.completions.create(model="breaks", messages=HELLO, stream=True))


@proves("GW-1")
def test_a_wrong_key_is_an_authentication_error(place):
    with client(place.through, "sk-ac-wrong") as anonymous, pytest.raises(openai.AuthenticationError) as caught:
        anonymous.chat.completions.create(model="scripted", messages=HELLO)
    assert caught.value.code == "unauthenticated"


@proves("GW-1")
def test_a_used_up_key_is_told_once_and_does_not_try_again(place):
    before = len(place.model.raw)
    patient = OpenAI(base_url=place.through, api_key=place.key(tokens_per_day=1), timeout=TIMEOUT, max_retries=5)
    with patient, pytest.raises(openai.RateLimitError) as caught:
        patient.chat.completions.create(model="scripted", messages=HELLO)
    assert (caught.value.code, caught.value.param) == ("insufficient_quota", "tokens_per_day")
    assert len(place.model.raw) == before


@proves("GW-1")
async def test_many_streams_side_by_side_and_one_that_is_left(place):
    async with AsyncOpenAI(base_url=place.through, api_key=place.key(), timeout=TIMEOUT, max_retries=0) as through:

        async def read() -> str:
            stream = await through.chat.completions.create(model="scripted", messages=HELLO, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        left = await through.chat.completions.create(model="scripted", messages=HELLO, stream=True)
        await anext(aiter(left))
        await left.close()
        assert await asyncio.gather(*(read() for _ in range(16))) == [ANSWER] * 16


# --- to the token

USED = ("requests", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "estimated")


class Weather(pydantic.BaseModel):
    city: str


def as_a_hurried_user(openai_: OpenAI) -> list[CompletionUsage]:
    """The same question in every way that the client offers, with its own settings: what each answer said it used."""
    chat, asked = openai_.chat.completions, {"model": "scripted", "messages": HELLO}
    found = [chat.create(**asked).usage, chat.with_raw_response.create(**asked).parse().usage]
    with chat.with_streaming_response.create(**asked) as response:
        found.append(response.parse().usage)
    with chat.stream(**asked, stream_options={"include_usage": True}) as events:
        found.append(events.get_final_completion().usage)
    with chat.create(**asked, stream=True, stream_options={"include_usage": True}) as stream:
        found += [chunk.usage for chunk in stream if chunk.usage]
    found.append(chat.parse(model="json", messages=HELLO, response_format=Weather).usage)
    return found


@proves("GW-1")
def test_every_way_of_asking_is_counted_to_the_token(place):
    key = place.key()
    with OpenAI(base_url=place.through + "/", api_key=key) as through:
        told = as_a_hurried_user(through)
        embedded = through.embeddings.create(model="scripted", input=["a", "abc"])  # in base64, its own default
        parsed = through.responses.parse(model="json", input="hi", text_format=Weather)
        with through.responses.stream(model="scripted", input="hi") as events:
            streamed = events.get_final_response()
    assert [item.embedding for item in embedded.data] == [[1.0, 0.25, -1.5], [3.0, 0.25, -1.5]]
    assert parsed.output_parsed == Weather(city="Ulm")
    responses = [parsed.usage, streamed.usage]
    assert tuple(place.keys()[-1]["today"][name] for name in USED) == (
        9,
        sum(each.prompt_tokens for each in told)
        + embedded.usage.prompt_tokens
        + sum(u.input_tokens for u in responses),
        sum(each.completion_tokens for each in told) + sum(u.output_tokens for u in responses),
        4,
        2,
        0.0,
    )


@proves("GW-1")
async def test_the_async_client_is_counted_to_the_token_too(place):
    async with AsyncOpenAI(base_url=place.through, api_key=place.key()) as through:
        whole = await through.chat.completions.create(model="scripted", messages=HELLO)
        stream = await through.chat.completions.create(
            model="scripted", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        last = [chunk.usage async for chunk in stream][-1]
    assert whole.usage is not None and last is not None
    used = place.keys()[-1]["today"]
    assert (used["requests"], used["prompt_tokens"], used["completion_tokens"], used["estimated"]) == (
        2,
        whole.usage.prompt_tokens + last.prompt_tokens,
        whole.usage.completion_tokens + last.completion_tokens,
        0.0,
    )


@proves("GW-1")
def test_a_base_url_that_lacks_its_version_is_told_in_the_clients_own_error(place):
    with (
        client(place.through.removesuffix("/v1"), place.key()) as hurried,
        pytest.raises(openai.PermissionDeniedError, match="base URL end with /v1"),
    ):
        hurried.chat.completions.create(model="scripted", messages=HELLO)
