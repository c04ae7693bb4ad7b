"""Runs the checks of a turn before it ends, and decides whether it may end. A check runs through the gate like any call, in a layer that
is dropped, and only where nobody needs to be asked."""

import asyncio
from collections.abc import Sequence
from functools import cache

from anycowork.agent.check_files import MOST_SOURCES, CheckScope, is_source, is_test_file
from anycowork.agent.check_runs import (
    COMMAND_TOOL,
    check_run,
    is_telling,
    outcome_of,
    runs_of,
    server_runs_since_change,
)
from anycowork.agent.reply_parser import FoundCall
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_calls import path_changes
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_evidence import expected_of, settle_expectation, unparsable
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.agents import AGENT_PROVIDER
from anycowork.domain.errors import AnyCoworkError, NotVerified
from anycowork.domain.evidence import (
    CheckNotRun,
    CheckRun,
    Evidence,
    EvidenceStatus,
    Expectation,
    ExpectationKind,
    ExpectationState,
    receipt_of,
    weigh,
)
from anycowork.domain.ports import ContentReader, HiddenPathRules, Telling
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, Parameters, Provenance
from anycowork.domain.values import replace
from anycowork.permissions.admission import Admitted, MustAsk
from anycowork.permissions.command_risk import only_reads
from anycowork.permissions.shell.parser import parse
from anycowork.store.sql.store import Store

MOST_OBJECTIONS = 2
CHECK_SECONDS = 60.0
WORKSPACE_CHECK_SECONDS = 300.0  # a person chose it for the workspace
BASELINE_SECONDS = 10.0
_MOST_SHOWN = 800  # characters of a failed check's output
_MOST_NAMED = 10
_MOST_NOT_RUN = 3
_MOST_TESTS = 200  # test files that are read for what they compare with
MOST_FILES = 5_000  # of a workspace whose checks get a receipt
_MOST_SLOW = 1_000  # checks that are remembered as too slow to run before the work
_PROVED = (EvidenceStatus.CHECKED, EvidenceStatus.SELF_CHECKED)
_CODE = frozenset({
    "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "rs", "c", "cc", "cpp", "h", "hpp", "java", "kt", "rb", "php", "cs", "swift",
    "scala", "sh", "sql", "toml", "json", "vue", "svelte",
})  # fmt: skip


class EvidenceChecker:
    def __init__(self, *, recorder: TurnRecorder, toolrunner: ToolRunner, store: Store, contents: Snapshots) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner
        self._store = store
        self._contents = contents
        self._slow: dict[tuple[str, str], None] = {}  # checks of workspaces that did not end in time before the work

    async def before_change(self, context: TurnContext, calls: Sequence[FoundCall]) -> CallsParked | None:
        """Runs each check once before the turn's first change: one that passes already proves nothing about the work."""
        carries_out_plan = (
            context.plan is not None and context.turn.task_id is None
        )  # its steps tell what passed before
        if carries_out_plan or context.calls.has_changed or not self._may_change(context, calls):
            return None
        first = calls[0].parameters  # a run of the check by the model, before anything else, tells as much
        commands = [command for command in self._named(context) if first != {"command": command}]
        for command in commands:
            if isinstance(await self._run_baseline(context, command), CallsParked):
                return CallsParked()
        if not self._named(context) and context.plan is None:
            return await self._run_detected_baseline(context, calls)
        return None

    async def _run_detected_baseline(self, context: TurnContext, calls: Sequence[FoundCall]) -> CallsParked | None:
        if check := await self._workspace_check(context):
            return await self._run_baseline(context, check)
        commands = context.workspace.quick_checks if self._may_change_code(context, calls) else tuple[str, ...]
        for command in await asyncio.to_thread(commands):
            if isinstance(await self._run_baseline(context, command), CallsParked):
                return CallsParked()
            runs = runs_of(context.calls, command)
            if runs and not outcome_of(runs[-1][1]).is_missing_program:
                return None
        return None

    async def _run_baseline(self, context: TurnContext, command: str) -> CallsParked | None:
        key = (context.workspace.origin, command)
        ran_before = (
            call.provenance.check or is_telling(outcome_of(call)) for _, call in runs_of(context.calls, command)
        )
        if any(ran_before) or key in self._slow:
            return None
        parked = await self._run(context, command, BASELINE_SECONDS, Provenance(check=True, baseline=True))
        if any(outcome_of(call).is_out_of_time for _, call in runs_of(context.calls, command)):
            self._slow[key] = None
            if len(self._slow) > _MOST_SLOW:
                self._slow.pop(next(iter(self._slow)))
        return parked

    async def objection(self, context: TurnContext, *, vouched: bool) -> NotVerified | CallsParked | None:
        """Runs the checks that have not run since the last change, and sets the turn's evidence. Returns what is missing, for the model to
        read; None if the turn may end: nothing is missing, or the model was told twice."""
        expected = expected_of(context)
        if not (expected.expectations or expected.asks_change or context.calls.has_changed):
            return None
        if (expected.asks_change or context.calls.has_changed) and isinstance(
            await self._run_checks(context), CallsParked
        ):
            return CallsParked()
        evidence = await self.collect(context, vouched=vouched)
        if evidence is not None and evidence.status is EvidenceStatus.CLAIMED:
            evidence = replace(evidence, not_run=tuple(context.proof.checks_not_run.values())[:_MOST_NOT_RUN])
        context.proof.evidence = await self._with_receipt(context, evidence)
        times_told = context.times_told(NotVerified.code) + context.proof.rejected_answers + context.drafts_begun()
        is_delegate = (context.chat.config.model_id or "").startswith(
            f"{AGENT_PROVIDER}/"
        )  # its own loop has ended; to ask again is a new task
        if context.proof.evidence is None or times_told >= MOST_OBJECTIONS or context.plan is not None or is_delegate:
            return None  # of an approved plan, the model was told by then which steps are open
        missing = _missing(context, context.proof.evidence)
        return NotVerified(f"Not done yet. {' '.join(missing)}") if missing else None

    async def _with_receipt(self, context: TurnContext, evidence: Evidence | None) -> Evidence | None:
        """Bind the check that proves the work to the files as they are."""
        proof = next((check for check in evidence.checks if check.proves), None) if evidence else None
        if evidence is None or proof is None or evidence.status not in _PROVED:
            return evidence
        try:
            files = await asyncio.to_thread(context.workspace.file_hashes, MOST_FILES)
        except AnyCoworkError:
            files = None
        if files is None:
            return evidence
        hidden = await self._toolrunner.hidden(context.chat.id, context.workspace.origin)
        # What the check could not read: a hash tells a short content to who guesses it.
        files = {path: digest for path, digest in files.items() if _is_told_to_all(path, hidden)}
        run = runs_of(context.calls, proof.command)[-1][1]
        context.proof.receipt = receipt_of(
            chat_id=context.chat.id,
            turn_id=context.turn.id,
            snapshot_id=proof.snapshot_id,
            command=proof.command,
            exit_code=proof.exit_code or 0,
            files=files,
            sandbox=str(run.result.facts.get("sandbox")) if run.result else "none",
            checked_at=context.turn.created_at,
        )
        return replace(evidence, receipt=context.proof.receipt.id)

    async def collect(self, context: TurnContext, *, vouched: bool = False) -> Evidence | None:
        """Returns the turn's evidence as it stands, without running anything."""
        expected = expected_of(context)
        changed = any(change.is_net for change in path_changes(context.calls))
        if not (expected.expectations or expected.asks_change or changed):
            return None
        commands = self._named(context) or context.proof.checks_tried
        snapshot_id = await self._newest_snapshot(context) if changed and commands else None
        runs = await asyncio.to_thread(self._check_runs, context, commands, snapshot_id) if commands else []
        settled = [
            settle_expectation(context, expectation, runs, vouched=vouched) for expectation in expected.expectations
        ]
        settled += unparsable(context.calls) if changed else []
        return weigh(settled, runs, concerned=changed or expected.asks_change)

    def _check_runs(self, context: TurnContext, commands: Sequence[str], snapshot_id: str | None) -> list[CheckRun]:
        @cache
        def scope() -> CheckScope:
            steps = context.plan.steps if context.plan is not None else ()
            scope_texts = [context.conversation.user_text, *(path for step in steps for path in step.paths)]
            return CheckScope(
                "\n".join(scope_texts),
                tuple(context.workspace.find_files(is_test_file, _MOST_TESTS)),
                sources=sources,
                text_before=self._contents.small_text,
            )

        @cache
        def sources() -> list[str]:
            return [path for path, _ in context.workspace.find_files(is_source, MOST_SOURCES)]

        text_of = context.workspace.small_text
        runs = [
            check_run(context.calls, command, snapshot_id=snapshot_id, text_of=text_of, scope=scope)
            for command in commands
        ]
        return [run for run in runs if run is not None]

    async def _run_checks(self, context: TurnContext) -> CallsParked | None:
        # The plan's own checks have run by now.
        in_plan = context.plan is not None
        named_commands = context.conversation.hook_checks if in_plan else self._named(context)
        for command in named_commands or (() if in_plan else await self._detected(context)):
            if not named_commands:
                context.proof.checks_tried.append(command)
            if await self._is_parked_by(context, command):
                return CallsParked()
            runs = server_runs_since_change(context.calls, command)
            if not named_commands and runs and outcome_of(runs[-1]).state is not ExpectationState.UNKNOWN:
                break  # the first environment that can run it decides
        return None

    async def _is_parked_by(self, context: TurnContext, command: str) -> bool:
        """Runs the check, unless it ran since the last change. It runs again with other programs if one was missing, and once more if it
        failed: a flaky check may pass now."""
        while self._needs_run(context, command):
            count = len(server_runs_since_change(context.calls, command))
            seconds = WORKSPACE_CHECK_SECONDS if command == context.proof.workspace_check else CHECK_SECONDS
            if isinstance(await self._run(context, command, seconds, Provenance(check=True)), CallsParked):
                return True
            if len(server_runs_since_change(context.calls, command)) == count:
                return False  # nothing allows it without asking
        return False

    def _needs_run(self, context: TurnContext, command: str) -> bool:
        runs = server_runs_since_change(context.calls, command)
        if not runs:
            return True
        last = outcome_of(runs[-1])
        if last.is_missing_program:
            return len(runs) == 1
        failures = sum(outcome_of(run).state is ExpectationState.UNMET for run in runs)
        return last.state is ExpectationState.UNMET and failures == 1

    async def _detected(self, context: TurnContext) -> Sequence[str]:
        """Returns the workspace's check if the turn changed something, or the tests that are found there if it changed code."""
        context.proof.checks_tried.clear()
        changed = [change.path for change in path_changes(context.calls) if change.is_net]
        if Permission.EXECUTE_COMMANDS not in context.role.permissions or not changed:
            return ()
        if check := await self._workspace_check(context):
            return (check,)
        return await asyncio.to_thread(context.workspace.quick_checks) if any(map(_is_code, changed)) else ()

    async def _workspace_check(self, context: TurnContext) -> str:
        """Returns the check that a person set for the workspace; empty if none is set."""
        if context.proof.workspace_check is None:
            context.proof.workspace_check = await self._store.folders.check_of(context.workspace.origin)
        return context.proof.workspace_check

    async def _run(
        self, context: TurnContext, command: str, seconds: float, provenance: Provenance
    ) -> CallsParked | None:
        """Runs the command in a layer that is dropped, unless somebody would have to be asked."""
        tool = context.toolbox.find(COMMAND_TOOL)
        if Permission.EXECUTE_COMMANDS not in context.role.permissions or tool is None or not tool.spec.contained:
            return None
        parameters: Parameters = {"command": command, "timeout": seconds}
        step = next((step.id for step in context.plan.steps if step.check == command), None) if context.plan else None
        call = self._recorder.own_call(context, COMMAND_TOOL, parameters, provenance, step=step)
        authorization = await self._toolrunner.authorization(context, call)
        context.proof.checks_not_run.pop(command, None)
        if isinstance(authorization, MustAsk):
            context.proof.checks_not_run[command] = CheckNotRun(command, authorization.approval.proposed_rule)
        if not isinstance(authorization, Admitted):
            return None
        marks = {"baseline": True} if provenance.baseline else {}
        await self._recorder.record_own_call(context, call, check=command, **marks)
        outcome = await self._toolrunner.run(context)
        return outcome if isinstance(outcome, CallsParked) else None

    async def _newest_snapshot(self, context: TurnContext) -> str | None:
        changes = await self._store.snapshots.changes_of_turns([context.turn.id], context.workspace.root)
        newest = changes[-1] if changes else None
        return None if newest is None else (newest.after or newest.before).id

    def _may_change(self, context: TurnContext, calls: Sequence[FoundCall]) -> bool:
        for call in calls:
            tool = context.toolbox.find(call.tool)
            if tool is not None and not tool.spec.read_only:
                return True
        return False

    def _may_change_code(self, context: TurnContext, calls: Sequence[FoundCall]) -> bool:
        for call in calls:
            command, path = call.parameters.get("command"), call.parameters.get("path")
            tool = context.toolbox.find(call.tool)
            if tool is None or tool.spec.read_only:
                continue
            if isinstance(command, str) and not only_reads(parse(command)):
                return True
            if isinstance(path, str) and _is_code(path):
                return True
        return False

    def _named(self, context: TurnContext) -> list[str]:
        return [
            expectation.subject
            for expectation in expected_of(context).expectations
            if expectation.kind is ExpectationKind.CHECK
        ]


def _is_told_to_all(path: str, hidden: HiddenPathRules) -> bool:
    return hidden.may_be_told(path, ContentReader.VIEWER) is Telling.TOLD


def _is_code(path: str) -> bool:
    return path.rpartition(".")[2] in _CODE


def _missing(context: TurnContext, evidence: Evidence) -> list[str]:
    """Returns what was found, as facts for the model. A change on a mere question is shown to the person; undoing it may lose work."""
    unmet = [expectation for expectation in evidence.unmet if expectation.kind is not ExpectationKind.NO_CHANGE]
    facts = [_fact(expectation) for expectation in unmet if expectation.kind is not ExpectationKind.CHECK][:_MOST_NAMED]
    failed = [check for check in evidence.checks if check.state is ExpectationState.UNMET]
    return facts + [_failed_check(context.calls, check) for check in failed]


def _fact(expectation: Expectation) -> str:
    match expectation.kind:
        case ExpectationKind.OUTPUT:
            return f"'{expectation.subject}' was expected. {expectation.why}"
        case ExpectationKind.READ:
            return f"The request asks about '{expectation.subject}'. {expectation.why} Read it, then answer."
        case ExpectationKind.PROTECTED:
            return f"'{expectation.subject}' was to stay as it is. {expectation.why} Bring it back to what it was."
        case _:
            return f"'{expectation.subject}': {expectation.why}"


def _failed_check(calls: Sequence[Call], check: CheckRun) -> str:
    last = runs_of(calls, check.command)[-1][1]
    output = last.result.content.strip()[-_MOST_SHOWN:] if last.result else ""
    return f"The check `{check.command}` was run and ended with exit code {check.exit_code}:\n{output}\n"
