"""Names of people, and what a principal that is built again from a record may do."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid
from anycowork.domain.people import AccessLevel, Person, PersonName, name_key, read_person_name
from anycowork.domain.principals import (
    OWNER,
    SCOPES,
    Principal,
    PrincipalKind,
    Scope,
    acp_client,
    mcp_host,
    person_principal,
    read_label,
)
from support.spec import proves


@pytest.mark.parametrize("name", ["Ada", "Ada L.", "Jürgen", "Олег", "O'Neill", "山田 太郎", "Jean-Luc", "R2", "محمد"])
def test_ordinary_names_are_kept(name: str) -> None:
    assert read_person_name(f" {name} ") == name


@proves("OPS-3/1")
@pytest.mark.parametrize(
    ("one", "other"), [("Alan", "AIan"), ("Сосо", "Coco"), ("Bob", "B0b"), ("José", "JOSE"), ("Ben1", "Benl")]
)
def test_names_that_look_alike_have_one_key(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@given(st.text(max_size=80))
def test_a_name_has_no_hidden_sign_and_no_colon(text: str) -> None:
    try:
        name = read_person_name(text)
    except Invalid:
        return
    assert name.isprintable() and ":" not in name and read_person_name(name) == name and name_key(name)


@proves("OPS-3/2")
@pytest.mark.parametrize("kind", list(PrincipalKind))
def test_a_principal_without_a_known_access_may_at_most_read(kind: PrincipalKind) -> None:
    bare = msgspec.json.decode(msgspec.json.encode({"id": "owner", "kind": kind, "name": "x"}), type=Principal)
    assert not bare.scopes & {Scope.SEND, Scope.DECIDE, Scope.MANAGE}


@proves("OPS-3/2")
@given(access=st.sampled_from(AccessLevel), program=st.sampled_from([acp_client, mcp_host]))
def test_a_program_has_no_scope_that_its_person_lacks(access: AccessLevel, program) -> None:  # type: ignore[no-untyped-def]  # one of two functions
    ada = person_principal(Person("p1", "Ada", access, ""))
    made = program("zed", ada)
    assert made.scopes <= ada.scopes and made.scopes <= SCOPES[made.kind]


@proves("OPS-3/3")
def test_a_label_names_the_person_and_is_read_back() -> None:
    ada = person_principal(Person("p1", "Ada L.", AccessLevel.MEMBER, ""))
    assert (OWNER.label(), ada.label()) == ("person:owner", "person:p1:Ada L.")
    assert acp_client("Zed", ada).label() == "acp_client:zed:p1:Ada L."
    for principal in (OWNER, ada, acp_client("Zed", ada), mcp_host("host", OWNER)):
        read = read_label(principal.label())
        assert (read.kind, read.id, read.person) == (principal.kind, principal.id, principal.person)
    assert ada.person == PersonName("p1", "Ada L.") and ada.identity() == "person:p1"
