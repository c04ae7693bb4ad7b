"""Runs one program in the sandbox, from its start until all its processes are gone: bash with a command, or a third-party tool.

`command_changes.py` settles its changes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import TypeVar

from anycowork.domain.values import value
from anycowork.sandbox.bubblewrap import VisiblePaths
from anycowork.sandbox.egress import Egress, proxy_environment
from anycowork.sandbox.masks import Mask
from anycowork.sandbox.proxy import NetworkReach, NetworkReport
from anycowork.sandbox.sandbox import CommandNotStarted, Launch, Sandbox
from anycowork.sandbox.stage import Layer, Stage
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult, run_child

T = TypeVar("T")


@value
class SandboxedProgram:
    """What is to run, as a bash command, and its inputs. `reach` is where it may connect to.

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

    async def run(
        self,
        root: str,
        stage: Stage,
        *,
        source: tuple[str, ...] = (),
        cache_kept: bool = False,
        masks: tuple[Mask, ...] = (),
    ) -> tuple[ChildResult, NetworkReport | None]:
        """Runs until all processes are gone; also returns where it connected to. It sees the layers of `source` at `root`, and cannot
        read `masks`. Raises: SandboxFailed."""
        with self.sandbox.launch(
            self.command,
            root,
            stage,
            source=source,
            cache_kept=cache_kept,
            environment=proxy_environment(self.reach) if self.reach else None,
            held_back=self.reach is not None,
            stdin=self.stdin,
            sight=self.sight,
            masks=masks,
        ) as launch:
            launch.status.watch()
            if self.reach is None:
                return await self._watched(launch, stage), None
            async with self.egress.beside(launch, stage.runner, self.reach) as report:
                return await self._watched(launch, stage), report

    async def _watched(self, launch: Launch, stage: Stage) -> ChildResult:
        try:
            ended = await run_child(
                launch.argv,
                cwd="/",
                env={},  # bubblewrap's environment is readable from inside
                bounds=self.bounds,
                stdin=launch.stdin,
                errors_apart=self.sight is not None,
                on_output=self.on_output,
                pass_fds=launch.fds,
                must_stop=(lambda: self.sandbox.is_disk_nearly_full(stage)) if stage.layer else None,
            )
        finally:
            await asyncio.shield(launch.status.all_gone())
        _require_begun(launch, ended)
        return ended


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


def _require_begun(launch: Launch, ended: ChildResult) -> None:
    if ended.how is ChildEnding.ITSELF and not launch.has_begun():
        error_text = (ended.errors + ended.output).decode(errors="replace").strip()[-500:]
        raise CommandNotStarted(
            f"The sandbox could not be set up, so the program did not run: {error_text or f'bubblewrap ended with {ended.exit_code}'}. "
            "`anycowork doctor` says what is missing."
        )
