"""A pending call's authority is frozen: role at issue, role now and ceiling must all allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import Forbidden
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, ToolSpec
from anycowork.permissions.admission import authority, require_authority
from anycowork.permissions.roles import BUILT_IN, RoleRegistry
from support.spec import proves

ROLES = RoleRegistry()
UPDATE = ToolSpec("update_file", "files", "", frozenset({Permission.READ_FILES, Permission.WRITE_FILES}), {})


def call(**given: object) -> Call:
    return Call("c", "chat", "t", "b", 0, "update_file", {}, **given)  # type: ignore[arg-type]  # test data


@proves("PER-3")
@pytest.mark.parametrize(("at_issue", "now"), [("planner", "actor"), ("actor", "planner"), ("planner", "planner")])
def test_both_the_role_at_issue_and_the_role_now_must_allow(at_issue: str, now: str) -> None:
    with pytest.raises(Forbidden, match="Planner may not call 'update_file'") as refused:
        require_authority(UPDATE, call(), ROLES.stored(at_issue), ROLES.stored(now))
    assert not refused.value.retryable


def test_an_actor_may() -> None:
    assert UPDATE.permissions <= require_authority(UPDATE, call(), ROLES.stored("actor"), ROLES.stored("actor"))


@proves("PER-3")
@given(st.sampled_from(BUILT_IN), st.sampled_from(BUILT_IN), st.frozensets(st.sampled_from(list(Permission))))
def test_authority_never_exceeds_any_of_its_parts(
    at_issue: object, now: object, ceiling: frozenset[Permission]
) -> None:
    granted = authority(call(ceiling=ceiling), at_issue, now)  # type: ignore[arg-type]  # sampled from RoleDefinitions
    assert granted <= ceiling and granted <= at_issue.permissions and granted <= now.permissions  # type: ignore[attr-defined]
