"""A command without a running server starts one: quickly, and with the garbage collector at work afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path

import anycowork

A_COMMAND = """
import asyncio, gc, json, sys
from pathlib import Path
from anycowork.client.connect import ServerAddress, with_server
from anycowork.config.settings import Settings
from anycowork.domain.errors import StorageFault

def full_collections() -> int:
    return gc.get_stats()[2]["collections"]

async def look(address: ServerAddress) -> None:
    found.update(collections=full_collections() - before, enabled_at_work=gc.isenabled())

found, before = {}, full_collections()
try:
    asyncio.run(with_server(Settings(data_dir=Path(sys.argv[1]), probe_local_servers=False), look))
except StorageFault as error:
    found["error"] = error.code
print(json.dumps({**found, "enabled_at_the_end": gc.isenabled()}))
"""


def commanded(data_dir: Path) -> object:
    done = subprocess.run(
        [sys.executable, "-c", A_COMMAND, str(data_dir)],
        env={**os.environ, "PYTHONPATH": str(Path(anycowork.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_nothing_is_collected_before_the_server_of_a_command_is_ready(tmp_path: Path) -> None:
    assert commanded(tmp_path) == {"collections": 0, "enabled_at_work": True, "enabled_at_the_end": True}


def test_the_collector_works_again_if_the_server_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "anycowork.db").write_text("shopping list: " + "milk " * 500)
    assert commanded(tmp_path) == {"error": "database_damaged", "enabled_at_the_end": True}
