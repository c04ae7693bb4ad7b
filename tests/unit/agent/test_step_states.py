"""The state of a plan's step is one function of the recorded calls: events while the turn runs and the audit later say the same."""

from collections.abc import Sequence
from itertools import count

from acp.schema import AgentPlanUpdate
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.acp.updates import UpdateBuilder
from anycowork.agent.plan_progress import PlanProgress, not_ready
from anycowork.agent.step_states import StepRecord, outdates, state_at_end, state_in_turn
from anycowork.chats.export.export_html import HtmlReport
from anycowork.chats.export.export_markdown import MarkdownExport
from anycowork.chats.export.exported_chat import ExportedChat
from anycowork.chats.plan_audit import compare
from anycowork.domain.chats import Chat, ChatConfig, EndReason, Turn, TurnState
from anycowork.domain.event_factory import plan_progress, plan_update
from anycowork.domain.messages import json_objects
from anycowork.domain.plan import Plan, PlanStatus, PlanStep, StepStatus, plan_status
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, CallState, CallStatus, Intent, PathIntent, Provenance, ToolResult, ToolSpec
from anycowork.domain.values import replace
from anycowork.tui.chat_state import ChatStatus
from anycowork.tui.plan_text import plan_standing
from support.spec import proves

FILES = ["a.txt", "b.txt", "dist/out.txt", "c.txt"]
COMMANDS = ["make", "pytest", "python3 build.py"]


def spec(name: str, *permissions: Permission, looks_below: bool = False) -> ToolSpec:
    return ToolSpec(name, "files", "", frozenset(permissions), {}, looks_below=looks_below)


SPECS = (
    spec("read_file", Permission.READ_FILES),
    spec("grep", Permission.READ_FILES, looks_below=True),
    spec("search_code", Permission.READ_FILES, looks_below=True),
    spec("create_file", Permission.CREATE_FILES),
    spec("update_file", Permission.READ_FILES, Permission.WRITE_FILES),
    spec("delete_file", Permission.READ_FILES, Permission.DELETE_FILES),
    spec("execute_command", Permission.EXECUTE_COMMANDS),
)
NUMBERS = count()


def step(step_id: str, **parts: object) -> PlanStep:
    written = {name: tuple(part) if isinstance(part, list) else part for name, part in parts.items()}
    return PlanStep.model_validate({"id": step_id, "step_number": 1, "action": f"do {step_id}", **written})


def made(
    tool: str,
    *,
    changes: Sequence[str] = (),
    status: CallStatus | None = CallStatus.OK,
    ignored: Sequence[str] = (),
    **parameters: str,
) -> Call:
    intent = Intent(tuple(PathIntent(path, None, "x") for path in changes)) if changes else None
    facts = {"ignored": list(ignored)} if ignored else {}
    result = None if status is None else ToolResult(status, "", facts=facts)
    state = CallState.ISSUED if status is None else CallState.SETTLED
    return Call(
        id=str(next(NUMBERS)), chat_id="c", turn_id="t", batch_id="b", ordinal=0, tool=tool, parameters=parameters,
        role_at_issue="actor", provenance=Provenance(), intent=intent, result=result, state=state,
    )  # fmt: skip


class Walk:
    """A turn as the server runs it: calls are bound when they are made, and bound by their changes when they are settled."""

    def __init__(self, *steps: PlanStep) -> None:
        self.plan = Plan(goal="g", steps=steps)
        self.progress = PlanProgress(self.plan, SPECS, "/w")
        self.calls: list[Call] = []

    def make(self, *batch: Call) -> None:
        issued = []
        for call in batch:
            call = replace(call, ordinal=len(self.calls))
            bound = self.progress.bound(replace(call, result=None, intent=None, state=CallState.ISSUED))
            self.progress.record(bound)
            self.calls.append(bound)
            issued.append((len(self.calls) - 1, call))
            self.compare()
        for at, call in issued:
            self._settle(at, call)

    def _settle(self, at: int, call: Call) -> None:
        bound = self.calls[at]
        if before := self.progress.unfinished_dependencies(bound):
            settled = replace(bound, state=CallState.SETTLED, result=ToolResult.failed(not_ready(bound, before)))
        elif call.result is None:
            return
        else:
            settled = replace(bound, state=CallState.SETTLED, result=call.result, intent=call.intent)
            settled = self.progress.bound_by_changes(settled)
        self.calls[at] = settled
        self.progress.record(settled)
        self.compare()

    def check(self, step_id: str, *, passes: bool = True, writes: Sequence[str] = ()) -> None:
        """The server runs the step's check."""
        wanted = self.plan.step(step_id)
        assert wanted is not None and wanted.check is not None
        status = CallStatus.OK if passes else CallStatus.ERROR
        ran = made("execute_command", command=wanted.check, status=status, changes=writes)
        ran = replace(ran, ordinal=len(self.calls), provenance=Provenance(check=True), plan_step=step_id)
        self.calls.append(ran)
        self.progress.record(ran)
        self.compare()

    def compare(self) -> None:
        """Whoever reads the journal afterwards sees what readers of events were told."""
        stored = PlanProgress(self.plan, SPECS, "/w", self.calls)
        assert stored.statuses() == self.progress.statuses()
        for reason in EndReason:
            assert stored.statuses(is_ended=True, reason=reason) == self.progress.statuses(is_ended=True, reason=reason)

    def now(self) -> list[str]:
        return [status.value for status in self.progress.statuses().values()]

    def ended(self, reason: EndReason = EndReason.ANSWERED) -> list[str]:
        return [status.value for status in self.progress.statuses(is_ended=True, reason=reason).values()]


statuses = st.sampled_from(
    [CallStatus.OK, CallStatus.OK, CallStatus.ERROR, CallStatus.DENIED, CallStatus.REFUSED, None]
)
calls = st.one_of(
    st.builds(lambda path, status: made("read_file", path=path, status=status), st.sampled_from(FILES), statuses),
    st.builds(lambda status: made("grep", pattern="x", status=status), statuses),
    st.builds(
        lambda tool, path, status: made(tool, path=path, changes=[path], status=status),
        st.sampled_from(["create_file", "update_file", "delete_file"]), st.sampled_from(FILES), statuses,
    ),
    st.builds(
        lambda command, paths, status: made("execute_command", command=command, changes=paths, status=status, ignored=["dist"]),
        st.sampled_from(COMMANDS), st.lists(st.sampled_from(FILES), unique=True, max_size=2), statuses,
    ),
)  # fmt: skip


@st.composite
def plans(draw: st.DrawFn) -> list[PlanStep]:
    steps: list[PlanStep] = []
    tools = st.lists(st.sampled_from(["read_file", "grep", "create_file", "write", "execute", "edit_file"]), max_size=2)
    for number in range(draw(st.integers(1, 4))):
        earlier = [one.id for one in steps]
        parts = {
            "tools_needed": draw(tools),
            "paths": draw(st.lists(st.sampled_from(FILES), unique=True, max_size=2)),
            "commands": draw(st.lists(st.sampled_from(COMMANDS), max_size=1)),
            "check": draw(st.sampled_from([None, None, *COMMANDS])),
            "dependencies": draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else [],
        }
        steps.append(step(str(number), **parts))
    return steps


# Calls of one reply, or how the next check that is due ends.
histories = st.lists(st.one_of(st.lists(calls, min_size=1, max_size=3), st.booleans()), max_size=8)


def walked(steps: list[PlanStep], history: list[list[Call] | bool]) -> Walk:
    walk = Walk(*steps)
    for event in history:
        if isinstance(event, bool):
            for due in walk.progress.checks_to_run()[:1]:
                walk.check(due.id, passes=event, writes=["dist/out.txt"])
        else:
            walk.make(*(replace(call, id=str(next(NUMBERS))) for call in event))
    return walk


@proves("PLN-5/6")
@settings(max_examples=150, deadline=None)
@given(plans(), histories)
def test_events_and_audit_tell_the_same_state_of_every_step_at_every_moment(
    steps: list[PlanStep], history: list[list[Call] | bool]
) -> None:
    walk = walked(steps, history)
    for one in steps:
        if walk.progress.statuses()[one.id] is StepStatus.DONE:
            own = [
                call for call in walk.progress.calls_of(one.id) if call.result and call.result.status is CallStatus.OK
            ]
            assert own, "a step is done only by a call that belongs to it, or by its check"


IN_WORDS = {
    "open": "not done",
    "done": "done",
    "claimed": "claimed (only the agent says so)",
    "failed": "failed",
    "skipped": "skipped",
}


@proves("PLN-5/6")
@settings(max_examples=100, deadline=None)
@given(plans(), histories, st.sampled_from(EndReason))
def test_terminal_editor_audit_and_exports_tell_the_same_state_of_every_step(
    steps: list[PlanStep], history: list[list[Call] | bool], reason: EndReason
) -> None:
    walk = walked(steps, history)
    told = walk.progress.statuses(is_ended=True, reason=reason)
    status = plan_status(told, finished=True)
    terminal, editor = ChatStatus(role="actor"), UpdateBuilder("/w", "actor")
    for event in (
        plan_update("m", "t", walk.plan, PlanStatus.APPROVED),
        plan_progress("m", "t", status, told),
    ):
        body = {"type": event.type.value, **event.body}
        terminal.see(body)
        (plan,) = editor.from_event(body)
    turn = Turn("t", "c", "actor", "person", "m", state=TurnState.ENDED, reason=reason)
    stored = PlanProgress(walk.plan, SPECS, "/w", walk.calls)
    audit = compare(stored, turn, walk.calls, {}, reads=lambda call: False)
    assert [step["status"] for step in json_objects(audit.get("steps"))] == walk.ended(reason)
    assert audit["status"] == status.value and terminal.carried_out is not None
    lines = [f"  {step_id} {IN_WORDS[state]}: do {step_id}" for step_id, state in told.items()]
    assert plan_standing(terminal.carried_out) == "\n".join([f"Plan {status.value}", *lines])
    assert isinstance(plan, AgentPlanUpdate)
    assert [entry.status == "completed" for entry in plan.entries] == [
        state in ("done", "claimed") for state in told.values()
    ]
    assert ["not verified" in entry.content for entry in plan.entries] == [
        state == "claimed" for state in told.values()
    ]
    exported = ExportedChat(
        Chat("c", "", "w", ChatConfig("actor")), ({"goal": "g", **audit},), {"end": "", "last_seq": 0}, ""
    )
    markdown, page = (
        "\n".join([*export.beginning(), *export.end()]) for export in (MarkdownExport(exported), HtmlReport(exported))
    )
    for step_id, state in told.items():
        assert f"| {step_id} | do {step_id} | {state} |" in markdown
        assert f"<td>{step_id}</td><td>do {step_id}</td><td>{state}</td>" in page


@proves("LOOP-12/1")
def test_check_that_writes_a_file_holds_and_the_next_step_begins() -> None:
    walk = Walk(
        step("1", tools_needed=["create_file"], paths=["a.txt"], check="python3 build.py"),
        step("2", tools_needed=["create_file"], paths=["b.txt"], dependencies=["1"]),
    )
    walk.make(made("create_file", path="a.txt", changes=["a.txt"]))
    walk.check("1", writes=["report.txt"])
    assert walk.now() == ["done", "open"] and walk.progress.checks_to_run() == []
    walk.make(made("create_file", path="b.txt", changes=["b.txt"]))
    assert walk.now() == ["done", "done"], "a change of another step's file outdates nothing"


@proves("JOB-9/1")
def test_only_changes_of_a_checks_own_files_outdate_it() -> None:
    walk = Walk(step("1", paths=["a.txt"], check="make"), step("2", paths=["b.txt"]))
    walk.make(made("update_file", path="a.txt", changes=["a.txt"]))
    walk.check("1")
    walk.make(made("execute_command", command="true", changes=["dist/x", "b.txt"], ignored=["dist"]))
    assert walk.now() == ["done", "done"], "the command that wrote b.txt belongs to step 2"
    walk.make(made("execute_command", command="sed", changes=["a.txt"]))
    assert walk.now() == ["running", "done"] and [one.id for one in walk.progress.checks_to_run()] == ["1"]
    walk.check("1", passes=False)
    assert walk.now() == ["failed", "done"] and walk.ended() == ["failed", "done"]


def test_ignored_files_of_a_step_do_not_outdate_its_check() -> None:
    walk = Walk(step("1", tools_needed=["execute"], check="make"))
    walk.make(made("execute_command", command="python3 x.py", changes=["a.txt"]))
    walk.check("1")
    walk.make(made("execute_command", command="python3 y.py", changes=["dist/y"], ignored=["dist"]))
    assert walk.now() == ["done"]


def test_check_that_passes_without_any_work_does_not_make_its_step_done() -> None:
    walk = Walk(step("1", paths=["a.txt"], check="true"), step("2", paths=["b.txt"]), step("3"))
    walk.check("1")
    assert walk.now() == ["open", "open", "open"]
    assert walk.ended(EndReason.BLOCKED) == ["open", "open", "open"]
    assert [one.id for one in walk.progress.left_open()] == ["1", "2", "3"], (
        "whoever is told of the block is told of all"
    )


def test_check_that_failed_before_and_passes_now_makes_its_step_done() -> None:
    walk = Walk(step("1", paths=["a.txt"], check="make"))
    walk.check("1", passes=False)
    walk.make(made("execute_command", command="elsewhere"))
    walk.check("1")
    assert walk.now() == ["done"]


def test_call_of_the_same_effect_belongs_to_the_step() -> None:
    for tools, call in (
        (["grep"], made("search_code", query="x")),
        (["grep"], made("search_code", query="x", path=".")),
        (["write_files"], made("create_file", path="n.txt", changes=["n.txt"])),
        (["create_file"], made("update_file", path="n.txt", changes=["n.txt"])),
    ):
        walk = Walk(step("1", tools_needed=tools))
        walk.make(call)
        assert walk.now() == ["done"], (tools, call.tool)
    walk = Walk(step("1", tools_needed=["grep"], paths=["a.txt"]))
    walk.make(made("search_code", query="x"))
    assert walk.now() == ["done"], "a search through the folder looks at the file"
    walk = Walk(step("1", tools_needed=["create_file"], paths=["log.txt"]))
    walk.make(made("execute_command", command="echo a >> log.txt", changes=["log.txt"]))
    assert walk.now() == ["done"], "what a command wrote belongs to the step that names the file"
    walk = Walk(step("1", tools_needed=["create_file"]))
    walk.make(made("delete_file", path="n.txt", changes=["n.txt"]))
    assert walk.now() == ["open"], "deleting is another effect"


def test_failed_call_leaves_a_step_claimed_and_a_denied_one_failed() -> None:
    walk = Walk(step("1", paths=["a.txt"]))
    walk.make(made("create_file", path="a.txt", status=CallStatus.ERROR))
    assert walk.now() == ["failed"] and walk.ended() == ["claimed"] and walk.ended(EndReason.BLOCKED) == ["failed"]
    walk.make(made("update_file", path="a.txt", changes=["a.txt"]))
    walk.make(made("update_file", path="a.txt", status=CallStatus.ERROR))
    assert walk.now() == ["done"], "one successful call is enough"
    walk = Walk(step("1", paths=["a.txt"]))
    walk.make(made("create_file", path="a.txt", status=CallStatus.DENIED))
    assert walk.ended() == ["failed"]


@proves("LOOP-12/1")
def test_step_waits_for_each_of_its_dependencies_and_for_what_they_wait_for() -> None:
    first, second = (step(name, tools_needed=["create_file"], paths=[f"{name}.txt"]) for name in "ab")
    said = step("said", dependencies=["a"])  # nothing can show it, so what it waits for counts
    last = step("last", tools_needed=["create_file"], paths=["c.txt"], dependencies=["said", "b"])
    walk = Walk(first, second, said, last)
    wanted = walk.progress.bound(made("create_file", path="c.txt", status=None))
    assert {one.id for one in walk.progress.unfinished_dependencies(wanted)} == {"a", "b"}
    walk.make(made("create_file", path="b.txt", changes=["b.txt"]))
    assert [one.id for one in walk.progress.unfinished_dependencies(wanted)] == ["a"]
    walk.make(made("create_file", path="a.txt", changes=["a.txt"]))
    assert walk.progress.unfinished_dependencies(wanted) == []


@proves("PLN-6/2", "LOOP-12/2")
def test_step_that_names_a_permission_needs_a_change_and_is_not_done_by_reading() -> None:
    walk = Walk(step("a", tools_needed=["write"], paths=["a.txt"]), step("b", tools_needed=["create"]))
    assert [one.id for one in walk.progress.unfinished()] == ["a", "b"]
    walk.make(made("read_file", path="a.txt"))
    assert walk.now() == ["running", "open"]


@proves("PLN-6/5")
def test_read_that_failed_is_made_again_for_the_same_step() -> None:
    walk = Walk(*(step(name, tools_needed=["read_file"], paths=["a.txt"]) for name in "ab"))
    walk.make(made("read_file", path="a.txt", status=CallStatus.ERROR))
    walk.make(made("read_file", path="a.txt"))
    assert walk.now() == ["done", "open"]


@proves("JOB-9/1")
def test_check_counts_for_work_that_it_saw_and_only_until_the_step_changes_something_again() -> None:
    passed, failed, work = (
        made("execute_command"),
        made("execute_command", status=CallStatus.ERROR),
        made("create_file"),
    )
    before = StepRecord(checks=[passed], proof=passed, has_check=True)
    assert state_in_turn(before) is StepStatus.OPEN, "it passed before any work"
    for record in (
        replace(before, work=[work]),
        replace(before, follows_work=True),
        replace(before, checks=[failed, passed]),
    ):
        assert state_in_turn(record) is StepStatus.DONE
    not_run = StepRecord(work=[work], has_check=True)
    assert state_at_end(not_run, StepStatus.RUNNING, ended_well=True, is_blocked=False) is StepStatus.CLAIMED
    later = replace(made("create_file", changes=["other.txt"]), plan_step="a")
    assert outdates(later, step("a"), ["a.txt"], ["a.txt"]), "the step itself worked on"
    assert not outdates(replace(later, plan_step="b"), step("a"), ["a.txt"], ["a.txt"])
