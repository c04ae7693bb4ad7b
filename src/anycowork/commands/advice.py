"""How to go on when a run waits for a person: what is asked, and where to answer. Words only."""

import json

from anycowork.commands.console import harmless, shortened
from anycowork.commands.house import Address
from anycowork.commands.outcome import Ending, Outcome
from anycowork.domain.messages import Json
from anycowork.settings import Settings


def advice_for(outcome: Outcome, chat_id: str | None, address: Address, settings: Settings) -> list[str]:
    """Empty unless a person is needed."""
    if outcome.ending is not Ending.PARKED or chat_id is None:
        return []
    url = address.url if address.lasting else f"http://{settings.host}:{settings.port}"
    return [
        *(_asked(one) for one in outcome.waiting),
        *(
            []
            if address.lasting
            else [f"The chat is kept. Start the server: anycowork serve --data-dir '{settings.data_dir}'"]
        ),
        f"Decide at {url}/ (chat {chat_id}), or:",
        *(_curl(one, f"{url}/context/{chat_id}", settings) for one in outcome.waiting),
    ]


def _asked(waiting: Json) -> str:
    if "question" in waiting:
        choices = ", ".join(_options(waiting))
        return shortened(harmless(f"Asks: {waiting['question']}" + (f" ({choices})" if choices else "")), 200)
    return "Needs approval: " + shortened(
        harmless(f"{waiting.get('tool')} {waiting.get('resource')} (risk: {waiting.get('risk')})"), 200
    )


def _options(waiting: Json) -> list[str]:
    """The values that this question takes, what it proposes first."""
    options = waiting.get("options")
    values = (
        [str(one["value"]) for one in options if isinstance(one, dict) and "value" in one]
        if isinstance(options, list)
        else []
    )
    return sorted(values, key=lambda value: value != waiting.get("default"))


def _curl(waiting: Json, chat: str, settings: Settings) -> str:
    token = f"-H \"Authorization: Bearer $(cat '{settings.data_dir / 'token'}')\""
    if "question" in waiting:
        answer = {"value": _options(waiting)[0]} if _options(waiting) else {"custom": "your own words"}
        path, body = f"questions/{waiting.get('message_id')}/answer", json.dumps(answer)
    else:
        path, body = "approvals", f'{{"decisions": [{{"id": "{waiting.get("id")}", "decision": "allow_once"}}]}}'
    return f"  curl {token} -H 'Content-Type: application/json' -d '{body}' {chat}/{path}"
