"""A real sandbox for tests, with its stages in a folder of the test's own."""

import asyncio
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from anycowork.sandbox.layers.stage import Layer, Staging
from anycowork.sandbox.limits import CommandLimits
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.toolchains import Toolchains
from anycowork.server.machine import find_bubblewrap

# Small enough that a flood is over in a moment.
SMALL = CommandLimits(processes=64, memory=1 << 30, file_size=16 << 20, scratch=16 << 20)


MOST_CACHED = 4 << 20


def sandbox_in(folder: Path, limits: CommandLimits = SMALL, layer: Layer = Layer.OVERLAY) -> Sandbox:
    own = [] if Path("/usr/bin/python3").exists() else [sys.base_prefix]
    toolchains = Toolchains(tuple(own), tuple(f"{folder}/bin" for folder in own))
    staging = Staging(folder / "staging", folder / "shared", most_cached=MOST_CACHED)
    return Sandbox(bubblewrap(), staging, limits=limits, toolchains=toolchains, layer=layer)


def running(marker: str) -> list[int]:
    """The processes of this machine that have the marker in their words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


async def until(true: Callable[[], object]) -> None:
    """A process in a sandbox tells nobody when it comes and goes, so it is looked for, for a minute."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


@cache
def bubblewrap() -> str:
    found = find_bubblewrap()
    assert found is not None and found.overlay and found.works, "these tests need bubblewrap with --overlay"
    return found.path
