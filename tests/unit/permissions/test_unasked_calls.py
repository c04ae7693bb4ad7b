"""Which calls pass without a question: by a rule or a plan, or by the chat's autonomy. One condition is changed at a time."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from anycowork.domain.chats import Autonomy
from anycowork.permissions.gate import Gate
from anycowork.permissions.policy import Effect
from support.spec import proves
from support.toolspecs import SPECS

SUSPICIOUS = SimpleNamespace(suspicious=True, check=False)
TRUSTED = SimpleNamespace(suspicious=False, check=False)


def asked(tool: str, effect: Effect) -> SimpleNamespace:
    """A call of this tool that nothing holds back."""
    policy = SimpleNamespace(
        effect=effect, rule=None, not_allowed=(), touched=SimpleNamespace(paths=("a.txt",)), workspace="/w"
    )
    prepared = SimpleNamespace(resource="/a.txt", network=(), key_files=())
    return SimpleNamespace(
        tool=SimpleNamespace(spec=SPECS[tool]), policy=policy, prepared=prepared, endorsement=None, protected=(),
        held_back=False, overdrawn=None, granted_by_plan=False, plan_step=None,
    )  # fmt: skip


def called(tool: str, provenance: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(tool=tool, provenance=provenance, parameters={"path": "a.txt"})


def context(*, only_advises: bool = False) -> SimpleNamespace:
    now = SimpleNamespace(only_advises=only_advises)
    return SimpleNamespace(denied=frozenset(), plan=None, autonomy=Autonomy.EDITS, now=now, stated_checks=frozenset())


@proves("APR-3/8")
@pytest.mark.parametrize(
    ("tool", "provenance", "passes"),
    [
        ("read_file", SUSPICIOUS, True),
        ("fetch_page", TRUSTED, True),
        ("fetch_page", SUSPICIOUS, False),
        ("create_file", SUSPICIOUS, False),
    ],
)
def test_suspicious_call_that_may_send_or_change_something_asks_although_a_rule_allows_it(
    tool: str, provenance: SimpleNamespace, passes: bool
) -> None:
    call, evaluated = called(tool, provenance), asked(tool, Effect.ALLOW)
    gate = Gate.__new__(Gate)
    assert gate._passes_unasked(cast(Any, call), cast(Any, evaluated), cast(Any, context())) is passes


@proves("APR-9")
@pytest.mark.parametrize(
    ("provenance", "only_advises", "passes"),
    [(TRUSTED, False, True), (SUSPICIOUS, False, False), (TRUSTED, True, False)],
)
def test_autonomy_lets_no_suspicious_call_pass_and_none_of_a_role_that_only_advises(
    provenance: SimpleNamespace, only_advises: bool, passes: bool
) -> None:
    call, evaluated = called("create_file", provenance), asked("create_file", Effect.ASK)
    asking = context(only_advises=only_advises)
    gate = Gate.__new__(Gate)
    assert gate._passes_by_autonomy(cast(Any, call), cast(Any, evaluated), cast(Any, asking)) is passes
