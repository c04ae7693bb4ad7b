"""Makes what a call changes durable: the state before it, its intent, and which paths were left alone."""

from collections.abc import Mapping, Sequence
from functools import partial

from anycowork.agent.call_recorder import CallRecorder
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_evidence import protection_of
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.rules import ChangesDecision
from anycowork.domain.snapshots import ReplacedFile, Snapshot
from anycowork.domain.tool_ports import CommitSession
from anycowork.domain.tools import Call, CallState, Intent, PathIntent
from anycowork.domain.values import replace
from anycowork.permissions.admission import Admitted
from anycowork.permissions.gate import Gate
from anycowork.permissions.grants import names_file


class CallCommit(CommitSession):
    """The commit session of one admitted call. `before` are the snapshots made so far, `waiting` the changes that need an approval."""

    can_hold = True

    def __init__(
        self,
        context: TurnContext,
        call: Call,
        admitted: Admitted,
        *,
        epoch: int | None,
        before: list[Snapshot],
        gate: Gate,
        recorder: CallRecorder,
        snapshots: Snapshots,
    ) -> None:
        self._context = context
        self._call = call
        self._admitted = admitted
        self._epoch = epoch
        self._gate = gate
        self._recorder = recorder
        self._snapshots = snapshots
        self.before = before
        self.waiting: Intent | None = None
        self.held = call.held
        self.asks_at_commit = admitted.asks_at_commit
        steps = context.plan.steps if context.plan else ()
        self._named_paths = [path for step in steps if step.id == admitted.plan_step for path in step.paths]
        self._committed: Snapshot | None = None
        self._paths: tuple[PathIntent, ...] = ()
        self._left_alone: tuple[str, ...] | None = None

    def is_named(self, path: str) -> bool:
        return any(names_file(pattern, path) for pattern in self._named_paths)

    async def check_changes(self, changes: Sequence[PathIntent]) -> ChangesDecision:
        return await self._gate.check_changes(
            self._call,
            changes,
            self._context.workspace.origin,
            autonomy=self._admitted.autonomy,
            protection=partial(protection_of, self._context),
            exposure=self._admitted.exposure,
        )

    async def keep(self, intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        if intent.paths:
            self._committed = await self._snapshots.before_commit(
                self._intended(intent), self._context.workspace, intent.paths, replaced
            )
            self._paths = intent.paths

    async def intend(self, intent: Intent) -> None:
        snapshots = [] if self._committed is None else [self._committed]
        await self._recorder.make_durable(self._context, self._intended(intent), self._epoch, snapshots)
        self.before.extend(snapshots)

    def finish(self, left_alone: Sequence[str]) -> None:
        self._left_alone = tuple(left_alone)

    def hold(self, intent: Intent) -> None:
        self.waiting = intent

    async def snapshots_after(self) -> list[Snapshot]:
        """Returns the states after the call, for each state before it that changed."""
        states = [await self._state_after(snapshot) for snapshot in self.before]
        return [snapshot for snapshot in states if snapshot]

    async def _state_after(self, before: Snapshot) -> Snapshot | None:
        workspace = self._context.workspace
        if self._committed is not before or self._left_alone is None:
            return await self._snapshots.after(before, workspace)
        return await self._snapshots.after_commit(before, workspace, self._paths, self._left_alone)

    def _intended(self, intent: Intent) -> Call:
        return replace(self._context.calls.by_id(self._call.id), state=CallState.INTENT, intent=intent)
