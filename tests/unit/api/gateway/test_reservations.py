"""How much is set aside for a request of a client key, and when it is charged although no answer came."""

from typing import Any, cast

import pytest

from anycowork.api.gateway.app import _forward, _Sent
from anycowork.api.gateway.metering import GUESSED_COMPLETION, MeteredRequest, ReservedUse, expected_usage
from anycowork.domain.metering import ExpectedUse, TokenUsage
from anycowork.domain.provider_errors import NoAnswerInTime, ProviderFault
from support.spec import proves

CHAT = "/v1/chat/completions"


@proves("GW-1")
@pytest.mark.parametrize(
    ("path", "request_", "expected"),
    [
        (CHAT, MeteredRequest(max_tokens=10, max_completion_tokens=20, n=3), ExpectedUse(3, 60, bounded=True)),
        (CHAT, MeteredRequest(n=2), ExpectedUse(3, 2 * GUESSED_COMPLETION, bounded=False)),
        (CHAT, MeteredRequest(max_tokens=-1), ExpectedUse(3, GUESSED_COMPLETION, bounded=False)),
        ("/v1/embeddings", MeteredRequest(max_tokens=10), ExpectedUse(3, 0, bounded=True)),
    ],
)
def test_most_that_a_request_may_take_is_set_aside(path: str, request_: MeteredRequest, expected: ExpectedUse) -> None:
    assert expected_usage(path, request_, 9) == expected


class BrokenLine:
    def __init__(self, fault: ProviderFault) -> None:
        self.fault = fault

    async def post(self, *_: object) -> None:
        raise self.fault


@proves("GW-1")
@pytest.mark.parametrize("fault", [NoAnswerInTime("It did not answer."), ProviderFault("It is down.")])
async def test_provider_that_may_have_been_at_work_is_charged_and_one_that_was_not_reached_is_not(
    fault: ProviderFault,
) -> None:
    reserved = object.__new__(ReservedUse)
    reserved.expected = reserved.used = TokenUsage(5, 7)
    with pytest.raises(ProviderFault):
        await _forward(cast(Any, BrokenLine(fault)), _Sent("chat/completions", b"{}", []), cast(Any, None), reserved)
    assert reserved.used == (TokenUsage(5, 7) if isinstance(fault, NoAnswerInTime) else TokenUsage())
