"""What a signature and a body must be, without a server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid
from anycowork.domain.notifications import signed_headers
from anycowork.domain.triggers import Delivery, brought_parameters, is_signed, require_pointers
from anycowork.domain.values import replace
from anycowork.domain.workflows import UnfittingParameters
from support.spec import proves

# The example of the Standard Webhooks specification.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
EXAMPLE = Delivery("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", SIGNATURE, b'{"test": 2432232314}')
NOW = "2021-02-25T15:02:10.000000Z"


@proves("OPS-8/2")
@pytest.mark.parametrize(
    ("now", "signed"),
    [
        (NOW, True),
        ("2021-02-25T15:07:10.000000Z", True),
        ("2021-02-25T15:07:10.000001Z", False),
        ("2021-02-25T14:57:10.000000Z", True),
        ("2021-02-25T14:57:09.000000Z", False),
    ],
)
def test_the_example_of_the_specification_is_signed_for_five_minutes(now: str, signed: bool) -> None:
    assert is_signed(EXAMPLE, SECRET, now) is signed


@pytest.mark.parametrize(
    ("signatures", "signed"),
    [
        (f"v1,AAAA {SIGNATURE}", True),
        (f"v1a,x {SIGNATURE} v2,y", True),
        (SIGNATURE.replace("v1", "v2"), False),
        (SIGNATURE.removeprefix("v1,"), False),
        (SIGNATURE[:-2], False),
        (f"{SIGNATURE}\u00ff", False),
        ("v1,", False),
        ("", False),
        (" " * 10 + SIGNATURE, False),
    ],
)
def test_one_of_a_few_signatures_must_be_right(signatures: str, signed: bool) -> None:
    assert is_signed(replace(EXAMPLE, signatures=signatures), SECRET, NOW) is signed


@given(st.binary(max_size=60), st.text(max_size=20), st.text(max_size=20), st.text(max_size=80))
def test_nothing_else_is_signed_and_nothing_raises(body: bytes, id_: str, timestamp: str, signatures: str) -> None:
    for delivery in (
        replace(EXAMPLE, body=body),
        replace(EXAMPLE, id=id_),
        replace(EXAMPLE, timestamp=timestamp),
        replace(EXAMPLE, signatures=signatures),
    ):
        assert not is_signed(delivery, SECRET, NOW)


def test_a_signature_holds_for_one_split_into_id_time_and_body() -> None:
    stolen = signed_headers("msg", 1614265330, b"1614265331.x", SECRET)["webhook-signature"]
    assert signed_headers("msg.1614265330", 1614265331, b"x", SECRET)["webhook-signature"] == stolen
    assert is_signed(Delivery("msg", "1614265330", stolen, b"1614265331.x"), SECRET, NOW)
    assert not is_signed(Delivery("msg.1614265330", "1614265331", stolen, b"x"), SECRET, NOW)
    assert not is_signed(Delivery("msg", "01614265330", stolen, b"1614265331.x"), SECRET, NOW)


BODY: Any = {"a/b": {"m~n": [1, "two", None, {"x": True}]}, "": "empty", "0": 2.5}


@pytest.mark.parametrize(
    ("pointer", "brought"),
    [
        ("/a~1b/m~0n/1", {"p": "two"}),
        ("/a~1b/m~0n/3/x", {"p": True}),
        ("/", {"p": "empty"}),
        ("/0", {"p": 2.5}),
        ("/a~1b/m~0n/2", {}),
        ("/a~1b/m~0n/01", {}),
        ("/a~1b/m~0n/-", {}),
        ("/a~1b/m~0n/9", {}),
        ("/none/x", {}),
        ("/0/x", {}),
    ],
)
def test_a_pointer_brings_the_value_that_it_names(pointer: str, brought: dict[str, object]) -> None:
    assert brought_parameters("w", {"p": pointer}, BODY) == brought


def test_what_is_no_single_value_is_refused_with_all_faults() -> None:
    with pytest.raises(UnfittingParameters) as fault:
        brought_parameters("w", {"p": "/a~1b", "q": "/a~1b/m~0n", "r": "/0"}, BODY)
    assert fault.value.faults.keys() == {"p", "q"}


@pytest.mark.parametrize("pointer", ["", "a", "/~2", "/a~", "/x" * 11, "/" + "x" * 81])
def test_what_is_no_pointer_is_refused(pointer: str) -> None:
    with pytest.raises(Invalid, match="JSON Pointer"):
        require_pointers({"p": pointer}, {})


def test_a_fixed_parameter_is_not_brought_too() -> None:
    require_pointers({"p": "/a"}, {"q": 1})
    with pytest.raises(Invalid, match="already"):
        require_pointers({"p": "/a"}, {"p": 1})
