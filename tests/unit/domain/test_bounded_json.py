"""JSON from outside is read within bounds, and whatever else it is, the error is a ValueError."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.bounded_json import MAX_DEPTH, UnboundedJson, has_more_values, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet='a,[{"\\]}:é', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(alphabet='a,"\\', max_size=4), inner, max_size=5)
    ),
    max_leaves=30,
)


def count(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


@given(VALUES, st.integers(0, 12), st.booleans())
def test_a_value_that_fits_passes_and_one_far_beyond_is_refused_before_it_is_parsed(value, most, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    refused = has_more_values(text, most)
    assert has_more_values(text.encode(), most) == refused
    if refused:
        assert count(value) + text.count("[]") + text.count("{}") > most
    elif len(text.encode()) > most:
        assert count(value) <= most + 1


@given(st.binary(max_size=60) | st.text(max_size=60) | st.text(alphabet='[]{}",:\\1a', max_size=60), st.booleans())
def test_whatever_it_is_the_error_is_a_value_error(source, strict):
    try:
        read_json(source, strict=strict, max_values=5, max_depth=3)
    except ValueError:
        pass


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 2_000, 200_000])
def test_no_depth_breaks_the_reader(strict, depth):
    with pytest.raises(UnboundedJson, match="deeper than"):
        read_json(b"[" * depth + b"]" * depth, strict=strict)
    with pytest.raises(ValueError):
        read_json(b'{"a":' * depth, strict=strict)
    assert read_json("[" * MAX_DEPTH + "]" * MAX_DEPTH, strict=strict)


HALVES = st.text(alphabet=st.sampled_from(["\ud83d", "\ude00", "\\", "u", "d", "8", "D", "é", "a"]), max_size=12)


@given(st.dictionaries(HALVES, HALVES, max_size=3), st.booleans())
def test_nothing_that_is_read_breaks_the_one_who_stores_or_sends_it(value, in_capitals):
    text = json.dumps(value)
    read = read_json(text.replace("\\ud", "\\uD") if in_capitals else text, strict=False)
    json.dumps(read, ensure_ascii=False).encode()
    whole = {key: part for key, part in value.items() if _is_whole(key) and _is_whole(part)}
    assert whole.items() <= read.items()


def _is_whole(text):
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def test_a_pair_stays_and_a_half_is_told():
    read = read_json(b'["\\ud83d\\ude00", "\\ud83d", "\\ude00\\ud83d", "\\\\ud83d", "\\uD83Da"]', strict=False)
    assert read == ["\U0001f600", "\ufffd", "\ufffd\ufffd", "\\ud83d", "\ufffda"]
    with pytest.raises(ValueError):
        read_json(b'"\xed\xa0\xbd"', strict=False)


def test_signs_within_a_text_are_no_values():
    text = json.dumps(["a,b[c{" * 1000, 'say "x,y"' * 1000, "\\" * 999])
    assert not has_more_values(text, 5)
    assert has_more_values(json.dumps([1] * 50), 20) and has_more_values('["' + '","' * 90 + '"]', 20)
    assert not has_more_values('["' + "," * 90, 20)  # no JSON, as the parser will say
