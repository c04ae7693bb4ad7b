"""Receipts: a passed check bound to the files and the audit chain, repeated on another copy of the files."""

import asyncio
import json
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.cli.options import Invocation
from anycowork.cli.verify import verify
from anycowork.domain.evidence import receipt_id, receipt_of
from support.evidence import Json, evidence_of, working_chat
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
    (copy / "shop.py").write_text("def total():\n    return 3\n")
    (copy / "conftest.py").write_text("")
    file.write_text(json.dumps(receipt))
    assert await _verify(tmp_path, file, copy) == 1, "a file that decides what the check runs was not there"
    (copy / "conftest.py").unlink()
    file.write_text(json.dumps({**receipt, "id": None, "files": {}, "command": "no-such-program-here"}))
    assert await _verify(tmp_path, file, copy) == 3


NAMES = st.text("abcXYZ0189._- äß漢", min_size=1, max_size=12).map(lambda name: f"f{name}x")
PROJECTS = st.dictionaries(
    st.one_of(NAMES, st.tuples(NAMES, NAMES).map(lambda parts: f"d{parts[0]}/{parts[1]}")),
    st.binary(min_size=1, max_size=40),
    min_size=1,
    max_size=6,
)


def _receipt(files: dict[str, bytes], command: str) -> Json:
    digests = {path: sha256(content).hexdigest() for path, content in files.items()}
    made = receipt_of(
        chat_id="c",
        turn_id="t",
        snapshot_id=None,
        command=command,
        exit_code=0,
        files=digests,
        sandbox="x",
        checked_at="now",
    )
    return {"id": made.id, **made.body}


def _verified(receipt: Json, files: dict[str, bytes]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "an other place")
        root.mkdir()
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        Path(folder, "receipt.json").write_text(json.dumps(receipt))
        invocation = Invocation({"data_dir": f"{folder}/data"}, {}, Path(folder))
        return verify(invocation, "receipt.json", workspace=root)


@proves("EVD-4/2")
@settings(deadline=None, max_examples=25)
@given(PROJECTS, st.data())
def test_any_other_byte_of_any_file_is_different(files: dict[str, bytes], data: st.DataObject) -> None:
    receipt = _receipt(files, "true")
    path = data.draw(st.sampled_from(sorted(files)))
    content, at = files[path], data.draw(st.integers(0, len(files[path]) - 1))
    other = bytes([content[at] ^ data.draw(st.integers(1, 255))])
    changed = content[:at] + other + content[at + 1 :]
    assert _verified(receipt, {**files, path: changed}) == 1
    assert _verified(receipt, {name: content for name, content in files.items() if name != path}) == 1


@proves("EVD-4/2")
@settings(deadline=None, max_examples=4)
@given(PROJECTS)
def test_a_receipt_of_any_project_is_the_same_elsewhere(files: dict[str, bytes]) -> None:
    path = min(files)
    assert _verified(_receipt(files, f"test \"$(wc -c < '{path}')\" -eq {len(files[path])}"), files) == 0


async def _verify(tmp_path: Path, file: Path, workspace: Path) -> int:
    invocation = Invocation({"data_dir": str(tmp_path / "verifying")}, {}, tmp_path)
    return await asyncio.to_thread(verify, invocation, str(file), workspace=workspace)


@proves("EVD-4/1")
@pytest.mark.parametrize(
    "part", ["chat_id", "turn_id", "snapshot_id", "command", "exit_code", "files", "sandbox", "checked_at"]
)
def test_each_part_of_a_receipt_counts_for_its_id(part: str) -> None:
    texts = dict.fromkeys(("chat_id", "turn_id", "snapshot_id", "command", "sandbox", "checked_at"), "a")
    parts = {**texts, "exit_code": 0, "files": {"a.py": "0" * 64}}
    other = {"exit_code": 1, "files": {"a.py": "1" * 64}}.get(part, "b")
    assert receipt_of(**parts).id != receipt_of(**{**parts, part: other}).id  # type: ignore[arg-type]  # one part differs
