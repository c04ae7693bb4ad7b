"""The state of a chat for the person: the sum of its events. Pure, takes JSON; knows no screen and no server."""

from collections.abc import Iterable
from dataclasses import field

from pydantic import JsonValue

from anycowork.domain.chats import CONTINUABLE
from anycowork.domain.disclosure import disclose_plan
from anycowork.domain.messages import Json, json_object, json_objects
from anycowork.domain.person_commands import PERSON_COMMAND
from anycowork.domain.plan import read_plan
from anycowork.domain.values import mutable_value


@mutable_value
class ChatStatus:
    """`approvals` and `questions` are the open ones by id, in the order they were asked; `plan` is the open one, with its `message_id`."""

    role: str
    state: str = "idle"
    approvals: dict[str, Json] = field(default_factory=dict)
    questions: dict[str, Json] = field(default_factory=dict)
    plan: Json | None = None
    carried_out: Json | None = None  # the plan whose run is over, with the status of each step
    approved: list[Json] = field(default_factory=list)  # the plans approved before this screen opened
    model: str = ""
    tokens: int = 0
    stopped: str | None = None  # why the last turn can be continued
    autonomy: str = "ask"
    steps_left: int | None = None  # until the running turn pauses
    actions: dict[str, JsonValue] = field(default_factory=dict)  # what each step of the newest plan does, by id
    own_command: str | None = None  # the id of the person's own command that runs
    queued: dict[str, str] = field(default_factory=dict)  # messages that wait until the turn has ended, by id

    def see(self, event: Json) -> None:
        state = event.get("state")
        if isinstance(state, str):
            self.state = state
        match event.get("type"):
            case "turn-started" | "turn-ended":
                self._turn(event)
            case "message":
                self._read_payload(json_object(json_object(event.get("message")).get("payload")))
            case "role-changed":
                self.role = str(json_object(event.get("role")).get("new_role") or self.role)
                self.stopped = None
            case "permission-request":
                self.ask(json_object(event.get("approval")))
            case "permission-decided":
                self._decided(str(json_object(event.get("approval")).get("id")))
            case "question":
                self.add_question({**json_object(event.get("question")), "task_id": event.get("task_id")})
            case "question-answered":
                self.questions.pop(str(json_object(event.get("question")).get("message_id")), None)
                self.state = "awaiting_answer" if self.questions else "running"
            case "plan-update":
                plan = json_object(event.get("plan"))
                self.plan = plan if plan.get("state") == "open" else None
                self.actions.update(
                    {str(step["id"]): step["action"] for step in json_objects(plan.get("steps")) if "action" in step}
                )
                self.carried_out = self._with_actions(plan) if plan.get("status") in ("done", "blocked") else None
            case "usage" | "queue-updated":
                self._count(json_object(event.get("usage")), of_task=event.get("task_id") is not None)
                self.queue(json_object(event.get("queued")))

    def _turn(self, event: Json) -> None:
        """A turn begins or is over. What tasks of a job asked is forgotten with their own turns: others still wait."""
        if task_id := event.get("task_id"):
            for requests in (self.approvals, self.questions):
                for name in [name for name, body in requests.items() if body.get("task_id") == task_id]:
                    del requests[name]
            return
        self.approvals.clear()
        self.questions.clear()
        if event["type"] == "turn-started":
            self.role = str(json_object(event.get("turn")).get("role") or self.role)
            self.stopped = self.carried_out = None
            return
        self.steps_left = None
        error = json_object(json_object(event.get("turn")).get("error")).get("message")
        self.stopped = str(error or event["reason"]) if event.get("reason") in CONTINUABLE else None

    def _with_actions(self, plan: Json) -> Json:
        steps: list[JsonValue] = [
            {**step, "action": self.actions.get(str(step.get("id")))} for step in json_objects(plan.get("steps"))
        ]
        return {**plan, "steps": steps}

    def queue(self, message: Json) -> None:
        """Takes note of a message that waits, or no longer does."""
        if message.get("status") in ("sent", "removed"):
            self.queued.pop(str(message.get("id")), None)
        elif message:
            self.queued[str(message.get("id"))] = str(message.get("content"))

    def ask(self, approval: Json) -> None:
        self.approvals[str(approval.get("id"))] = approval

    def add_question(self, question: Json) -> None:
        self.questions[str(question["message_id"])] = question

    @property
    def question(self) -> Json | None:
        """The question that is shown: the oldest one."""
        return next(iter(self.questions.values()), None)

    @property
    def busy(self) -> bool:
        return self.state == "running"

    def disclosure_hashes(self, approval_ids: Iterable[str]) -> dict[str, str]:
        """Returns the hashes of what was shown, by approval id."""
        hashes = {
            approval_id: json_object(self.approvals.get(approval_id, {}).get("disclosure")).get("hash")
            for approval_id in approval_ids
        }
        return {approval_id: hash_ for approval_id, hash_ in hashes.items() if isinstance(hash_, str)}

    @property
    def waits(self) -> bool:
        """True while the turn waits for a decision or an answer."""
        return bool(self.approvals or self.questions)

    def _read_payload(self, payload: Json) -> None:
        self.autonomy = str(payload.get("new_autonomy") or self.autonomy)
        command = json_object(payload.get(PERSON_COMMAND))
        if "dismissed" in payload:
            self.plan = None
        if command:
            self.own_command = None if "ended" in command else str(command.get("id"))

    def _decided(self, approval_id: str) -> None:
        self.approvals.pop(approval_id, None)
        if not self.approvals and self.state == "awaiting_approval":
            # The turn continues when all are decided, and reports it only at its end. Another task may have a question.
            self.state = "awaiting_answer" if self.questions else "running"

    def _count(self, usage: Json, *, of_task: bool) -> None:
        self.model = str(usage.get("model") or self.model)
        steps_left = usage.get("steps_left")
        self.steps_left = steps_left if isinstance(steps_left, int) and not of_task else self.steps_left
        self.tokens += sum(n for name in ("prompt", "completion") if isinstance(n := usage.get(name), int))


def disclosed_plan(plan: Json) -> Json:
    """Returns the plan with what approving it grants; the server compares the hash with its own."""
    read = read_plan(plan) if "disclosure" not in plan else None
    if read is None:
        return plan
    disclosure = disclose_plan(read)
    return {**plan, "disclosure": {"hash": disclosure.hash, "items": [item.to_json() for item in disclosure.items]}}
