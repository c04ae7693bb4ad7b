"""Receipts: a passed check bound to the files and the audit chain, repeated on another copy of the files."""

import asyncio
import json
import shutil
from pathlib import Path

from anycowork.cli.options import Invocation
from anycowork.cli.verify import verify
from anycowork.domain.evidence import receipt_id
from support.evidence import evidence_of, working_chat
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

CHECK = "python3 check.py"
FILES = {
    "check.py": "import shop, sys\nsys.exit(0 if shop.total() == 3 else 1)\n",
    "shop.py": "def total():\n    return 2\n",
    "Über uns/a b.txt": "x\n",
}
RIGHT = call("execute_command", command="printf 'def total():\\n    return 3\\n' > shop.py")


@proves("EVD-4/1", "EVD-4/2")
async def test_a_receipt_is_repeated_in_another_folder_and_differences_are_named(tmp_path: Path) -> None:
    files = {**FILES, ".env": "PIN=1234\n"}  # a hash of it would tell it
    async with live_server(tmp_path, replies=[RIGHT, "Done."], files=files) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(f"Fix shop.py so that `{CHECK}` passes.")
        found = await evidence_of(client, chat)
        assert found["status"] == "checked"
        receipt = await client.ask("GET", f"/receipts/{found['receipt']}")
        assert receipt_id({**receipt}) == found["receipt"], "the event names the hash of the content"
        assert receipt["files"].keys() == FILES.keys() and receipt["snapshot_id"] == found["checks"][0]["snapshot_id"]
        await client.ask("GET", "/receipts/none", expect=404)
        copy = tmp_path / "another place" / "clone"
        shutil.copytree(client.workspace, copy)
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(receipt))
    assert await _verify(tmp_path, file, copy) == 0
    (copy / "shop.py").write_text("def total():\n    return 4\n")
    assert await _verify(tmp_path, file, copy) == 1
    file.write_text(json.dumps({**receipt, "files": {}}))
    assert await _verify(tmp_path, file, copy) == 2, "its content does not fit its id"
    file.write_text(json.dumps({**receipt, "id": None, "files": {}, "command": "no-such-program-here"}))
    assert await _verify(tmp_path, file, copy) == 3


async def _verify(tmp_path: Path, file: Path, workspace: Path) -> int:
    invocation = Invocation({"data_dir": str(tmp_path / "verifying")}, {}, tmp_path)
    return await asyncio.to_thread(verify, invocation, str(file), workspace=workspace)
