"""Runs one program in the sandbox, from its start until all its processes are gone: bash with a command, or a third-party tool.

`command_changes.py` settles its changes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import TypeVar

from anycowork.domain.values import value
from anycowork.sandbox.bubblewrap import VisiblePaths
from anycowork.sandbox.layers.stage import Layer, Stage
from anycowork.sandbox.network.dialer import NetworkReach, NetworkReport
from anycowork.sandbox.network.egress import Egress, proxy_environment
from anycowork.sandbox.sandbox import CommandNotStarted, Launch, Sandbox
from anycowork.sandbox.secrets.masks import MaskedPaths
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult, run_child

T = TypeVar("T")
_NOTHING_COVERED = MaskedPaths()


@value
class SandboxedProgram:
    """What is to run, as a bash command, and its inputs. `reach` is where it may connect to; `environment` adds variables.

    One with a `sight` is foreign code: its errors are kept apart from its answer, and it shares no cache with the workspace's commands.
    """

    sandbox: Sandbox
    command: str
    bounds: ChildLimits
    on_output: Callable[[bytes], None] | None = None
    stdin: bytes = b""
    sight: VisiblePaths | None = None
    reach: NetworkReach | None = None
    egress: Egress = field(default_factory=Egress)
    environment: Mapping[str, str] = field(default_factory=dict)

    async def run(
        self,
        root: str,
        stage: Stage,
        *,
        source: tuple[str, ...] = (),
        cache_kept: bool = False,
        covered: MaskedPaths = _NOTHING_COVERED,
    ) -> tuple[ChildResult, NetworkReport | None]:
        """Runs until all processes are gone; also returns where it connected to. It sees the layers of `source` at `root`, and cannot
        read what is `covered`. Raises: SandboxFailed, ConcealedPathAppeared."""
        with self.sandbox.launch(
            self.command,
            root,
            stage,
            source=source,
            cache_kept=cache_kept,
            environment={**self.environment, **(proxy_environment(self.reach) if self.reach else {})},
            held_back=self.reach is not None,
            stdin=self.stdin,
            sight=self.sight,
            masks=covered.masks,
        ) as launch:
            launch.status.watch()
            if self.reach is None:
                return await self._watched(launch, stage, covered), None
            async with self.egress.beside(launch, stage.runner, self.reach, covered.is_intact) as report:
                return await self._watched(launch, stage, covered), report

    async def _watched(self, launch: Launch, stage: Stage, covered: MaskedPaths) -> ChildResult:
        on_output = self.on_output

        def pass_on(piece: bytes) -> None:
            if on_output is not None and covered.is_intact():
                on_output(piece)

        def must_stop() -> bool:
            disk_full = stage.layer is not None and self.sandbox.is_disk_nearly_full(stage)
            return disk_full or not covered.is_intact()

        try:
            child = await run_child(
                launch.argv,
                cwd="/",
                env={},  # bubblewrap's environment is readable from inside
                bounds=self.bounds,
                stdin=launch.stdin,
                errors_apart=self.sight is not None,
                on_output=pass_on if on_output is not None else None,
                pass_fds=launch.fds,
                must_stop=must_stop if stage.layer or covered.watch else None,
            )
        finally:
            await asyncio.shield(launch.status.all_gone())
        await asyncio.to_thread(covered.require_intact)
        _require_begun(launch, child)
        return child


async def run_on_best_layer(sandbox: Sandbox, root: str, attempt: Callable[[Layer], Awaitable[T]]) -> T:
    """Uses a private copy if no overlay can be mounted over this workspace: then nothing has run yet. Raises: what `attempt` raises."""
    layer = sandbox.layer_for(root)
    try:
        return await attempt(layer)
    except CommandNotStarted:
        if layer is Layer.COPY:
            raise
    result = await attempt(Layer.COPY)
    sandbox.use_copies(root)
    return result


def _require_begun(launch: Launch, child: ChildResult) -> None:
    if child.how is ChildEnding.ITSELF and not launch.has_begun():
        error_text = (child.errors + child.output).decode(errors="replace").strip()[-500:]
        raise CommandNotStarted(
            f"The sandbox could not be set up, so the program did not run: {error_text or f'bubblewrap ended with {child.exit_code}'}. "
            "`anycowork doctor` says what is missing."
        )
