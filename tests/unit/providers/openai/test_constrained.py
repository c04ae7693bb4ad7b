"""A reply held to a schema becomes plain words again, however it is cut up."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.openai.provider import JsonUnwrapper
from support.provider_client import all_of, asking, client, text_of
from support.scripted_model import ScriptedModel


def unwrapped(text: str, cuts: list[int]) -> str:
    unwrapping = JsonUnwrapper()
    said, start = "", 0
    for cut in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        said += unwrapping.feed(text[start:cut])
        start = cut
    return said + unwrapping.rest()


cuts = st.lists(st.integers(min_value=0, max_value=10_000), max_size=12)


@given(st.text(), cuts, st.booleans(), st.sampled_from([None, 2]))
def test_an_answer_object_gives_its_words_wherever_it_is_cut(
    words: str, cut: list[int], ascii_only: bool, indent: int | None
):
    assert unwrapped(json.dumps({"answer": words}, ensure_ascii=ascii_only, indent=indent), cut) == words


@given(st.text().filter(lambda text: '"answer"' not in text), cuts)
def test_anything_else_passes_unchanged(text: str, cut: list[int]):
    assert unwrapped(text, cut) == text


@given(cuts)
def test_a_call_passes_unchanged(cut: list[int]):
    call = json.dumps({"tool": "read_file", "parameters": {"path": "answer"}, "terminate": False})
    assert unwrapped(call, cut) == call


def test_half_a_surrogate_pair_is_replaced_and_an_unfinished_answer_keeps_its_words():
    assert unwrapped('{"answer": "a\\ud83dz"}', []) == "a?z"
    assert unwrapped('{"answer": "half', [3, 12]) == "half"


async def test_a_request_with_a_schema_carries_it_and_hears_plain_words(pool: HttpPool):
    schema = {"type": "object"}
    async with ScriptedModel(['{"answer": "Hello \\u00e9"}']) as model:
        chunks = await all_of(client(model.base_url, pool).answer(replace(asking(), schema=schema)))
    assert text_of(chunks) == "Hello é"
    assert model.requests[0]["response_format"]["json_schema"]["schema"] == schema
