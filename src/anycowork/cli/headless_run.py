"""Runs one request headless: opens a chat, sends the request (or approves a plan), and follows the events to an outcome and its cost."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import field, replace
from pathlib import Path

import msgspec
from pydantic import JsonValue

from anycowork.cli.instructions import ignored
from anycowork.cli.run_outcome import JobTracker, OutcomeTracker, RunEnding, RunOutcome, is_provider_fault
from anycowork.cli.run_progress import Reporter
from anycowork.client.chat_client import ChatClient
from anycowork.client.console import abandon_stdout
from anycowork.client.http import ServerClient, ServerRefused, ServerUnreachable
from anycowork.config.known_models import KnownModels, cost_of, entry_of, price_of
from anycowork.config.settings import PriceEntry, ProviderEntry
from anycowork.domain.chats import Autonomy
from anycowork.domain.messages import Json, json_object, json_objects
from anycowork.domain.values import mutable_value, value

# An upper bound, not a guess: no list price of a provider known when this was written is higher.
DEAREST = PriceEntry(input=150, output=600)
_USUAL_ADDRESSES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


@mutable_value
class RunCost:
    """`limit` in US dollars; None means no limit."""

    limit: float | None
    providers: tuple[ProviderEntry, ...]
    listed: Callable[[str], PriceEntry | None] = lambda model: None  # what the server knows of a model
    spent: float = 0.0

    def add(self, event: Json) -> str | None:
        """Counts one `usage` event; returns why the run must end, or None."""
        usage = event.get("usage")
        if self.limit is None or event.get("type") != "usage" or not isinstance(usage, dict):
            return None
        model = str(usage.get("model"))
        price = price_of(self.providers, model) or self.listed(model)
        self.spent += cost_of(
            price or DEAREST,
            prompt=_count(usage, "prompt"),
            completion=_count(usage, "completion"),
            cached=_count(usage, "cached"),
        )
        if self.spent <= self.limit:
            return None
        if price is not None:
            return f"The run has cost ${self.spent:.4f}, more than --max-cost {self.limit:g}."
        return (
            f"The run may have cost ${self.spent:.4f}, more than --max-cost {self.limit:g}: the price of {model} is not known and was "
            f"counted as the dearest, ${DEAREST.input:g} and ${DEAREST.output:g} per million tokens. "
            "Add it under its provider in config.toml: prices = { model = { input = …, output = … } }."
        )


def listed_prices(
    known_models: KnownModels, providers: Iterable[ProviderEntry], environment: Mapping[str, str]
) -> Callable[[str], PriceEntry | None]:
    """Returns the function that finds a model's price in the list of well-known models, by its provider's address."""
    entries = {entry.name: entry for entry in providers}

    def price(model: str) -> PriceEntry | None:
        provider, _, name = model.partition("/")
        entry = entries.get(provider)
        base_url = entry.base_url if entry else environment.get(f"{provider.upper()}_BASE_URL")
        address = base_url or _USUAL_ADDRESSES.get(entry.kind if entry else provider)
        return entry_of(known_models.facts(address, name).price)

    return price


def _count(usage: Json, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0


_NEWEST_CHATS, _NEWEST_MESSAGES = 50, 10


@value
class RunRequest:
    """The request as typed. `plan` is one that the person approved by naming its file, `request` its goal (or nothing then);
    None in `seconds` means the turn's own limit."""

    request: str
    workspace: Path
    role: str | None = None
    model: str | None = None
    plan: Json | None = field(default=None, hash=False)
    max_cost: float | None = None
    seconds: float | None = None
    autonomy: Autonomy = Autonomy.ASK
    as_job: bool = False
    job_options: Json = field(default_factory=dict, hash=False)


@mutable_value
class HeadlessRun:
    """`chat_id` is set as soon as there is a chat, so that an interrupted run can be stopped."""

    client: ServerClient
    order: RunRequest
    spending: RunCost
    reporter: Reporter
    chat_id: str | None = None
    job_id: str | None = None

    async def go(self) -> RunOutcome:
        """Never raises an error of ours: a failure is the outcome."""
        try:
            return await self._go()
        except ServerRefused as error:
            return RunOutcome(_ending_of(error), error=error.message)
        except ServerUnreachable as error:
            return RunOutcome(RunEnding.FAILED, error=error.message)
        except BrokenPipeError:
            abandon_stdout()
            await self.stop()
            return RunOutcome(RunEnding.STOPPED, error="Nobody reads the output any more, so the turn was stopped.")

    async def stop(self) -> None:
        """Ends the turn, if one was started; a server that is gone has stopped already."""
        if self.chat_id is None:
            return
        try:  # a job that is stopped is paused: `anycowork jobs resume` goes on with it
            await self.client.post(f"/context/{self.chat_id}/stop")
        except (ServerRefused, ServerUnreachable):
            return

    async def _go(self) -> RunOutcome:
        order = self.order
        await self.client.register(order.workspace)
        new_chat: Json = {"workspace": str(order.workspace), "agent_role": order.role, "model": order.model}
        chat = await self.client.post(
            "/context", {name: value for name, value in new_chat.items() if value is not None}
        )
        self.chat_id = str(chat["id"])
        if order.autonomy is not Autonomy.ASK:
            await self._choose_autonomy(self.chat_id, order.autonomy)
        await self._note_ignored(self.chat_id)
        watch = await self._start_watching(self.chat_id)
        if order.plan is not None:
            await self._set_original_aside(order.plan, str(chat["workspace"]))
        async with aclosing(self.client.events(self.chat_id)) as events:
            async for data in events:
                event = _read(data)
                self.reporter.show(data, event)
                if excess := self.spending.add(event):
                    await self.stop()
                    return RunOutcome(RunEnding.LIMIT, error=excess)
                if outcome := watch.see(event):
                    return await self._with_everything_open(outcome)
        raise ServerUnreachable("The event stream ended before the turn did.")

    async def _choose_autonomy(self, chat_id: str, autonomy: Autonomy) -> None:
        """The person who typed the flag chooses. A level that is not offered ends the run before anything was sent."""
        try:
            await self.client.patch(f"/context/{chat_id}", {"autonomy": autonomy.value})
        except ServerRefused:
            self.chat_id = None
            await self.client.delete(f"/context/{chat_id}")
            raise

    async def _note_ignored(self, chat_id: str) -> None:
        instructions = (await self.client.get(f"/instructions?context_id={chat_id}")).get("instructions")
        if note := ignored(instructions if isinstance(instructions, dict) else None):
            self.reporter.note(note)

    async def _start_watching(self, chat_id: str) -> OutcomeTracker | JobTracker:
        if not self.order.as_job:
            return OutcomeTracker(await self._start(chat_id))
        new_job: Json = {"request": self.order.request} if self.order.plan is None else {"plan": self.order.plan}
        job = await self.client.post(f"/context/{chat_id}/jobs", {**new_job, **self.order.job_options})
        self.job_id = str(job["id"])
        if self.order.plan is not None:  # naming its file is approving it
            await self.client.post(f"/jobs/{self.job_id}/approve")
        return JobTracker(self.job_id, approved=self.order.plan is not None)

    async def _start(self, chat_id: str) -> str:
        """Returns the turn's id. Naming a plan's file approves it, so approving starts the turn."""
        if self.order.plan is None:
            return await self._send(chat_id)
        new_plan: Json = {"plan": self.order.plan}
        if self.order.request.strip():
            new_plan["request"] = self.order.request
        proposed = await self.client.post(f"/context/{chat_id}/plans", new_plan)
        approved = await self.client.post(f"/context/{chat_id}/plans/{proposed['message_id']}/approve")
        return str(approved["turn_id"])

    async def _set_original_aside(self, plan: Json, workspace: str) -> None:
        """The chat that planned it waits no longer for its approval: the plan is carried out here."""
        try:
            listed = (await self.client.get(f"/context?limit={_NEWEST_CHATS}")).get("contexts")
            for chat in listed if isinstance(listed, list) else []:
                if not isinstance(chat, dict) or chat.get("waiting") != "plan" or chat.get("workspace") != workspace:
                    continue
                messages = (await self.client.get(f"/context/{chat['id']}/messages?limit={_NEWEST_MESSAGES}"))[
                    "messages"
                ]
                goals = [goal for message in messages if (goal := _goal(message))] if isinstance(messages, list) else []
                if goals[-1:] == [plan.get("goal")]:
                    await self.client.post(f"/context/{chat['id']}/dismiss")
        except (ServerRefused, ServerUnreachable):
            return  # it only tidies the list of chats

    async def _send(self, chat_id: str) -> str:
        try:
            sent = await self.client.post(f"/context/{chat_id}/messages", {"content": self.order.request})
        except ServerRefused:
            self.chat_id = None
            await self.client.delete(f"/context/{chat_id}")  # the chat is empty: nobody wants to find it
            raise
        return str(sent["turn_id"])

    async def _with_everything_open(self, outcome: RunOutcome) -> RunOutcome:
        """A batch asks for several approvals at once; the first event tells of one only."""
        if outcome.ending is not RunEnding.PARKED or not outcome.waiting or "question" in outcome.waiting[0]:
            return outcome
        approvals = json_objects((await self.client.get(f"/context/{self.chat_id}/approvals")).get("approvals"))
        chat = ChatClient(self.client, {"id": self.chat_id})
        complete_approvals = tuple(
            [{**approval, "disclosure": await chat.whole_disclosure(approval)} for approval in approvals]
        )
        return replace(outcome, waiting=complete_approvals or outcome.waiting)


def _ending_of(error: ServerRefused) -> RunEnding:
    if is_provider_fault(error.specific):
        return RunEnding.PROVIDER
    return RunEnding.USAGE if error.status in (400, 404, 422) else RunEnding.FAILED


def _goal(message: JsonValue) -> JsonValue:
    """Returns the goal of a plan; None for any other message."""
    match message:
        case {"message_type": "plan", "payload": {"goal": str(goal)}}:
            return goal
    return None


def _read(data: bytes) -> Json:
    return json_object(msgspec.json.decode(data))
