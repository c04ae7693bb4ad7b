"""A backup that is made while a large commit runs: its copy opens, loses nothing that was there before, and takes nothing of its original."""

from pathlib import Path

import pytest

from anycowork.config.settings import Settings
from anycowork.sandbox.commit import entries, transaction
from anycowork.server.backup import back_up
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import tree

FILES = 400  # more than a change whose difference is recorded
COMMAND = "for f in src/*; do echo new >> $f; done; rm -r gone; mkdir made; for i in 1 2 3; do echo 1 > made/$i; done"


@proves("OPS-4/6", "SNAP-4")
@pytest.mark.parametrize("when", ["before the first file", "in the middle"])
async def test_copy_made_during_a_commit_opens_and_restores_the_files_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    files = {**{f"src/{number}.txt": "old\n" for number in range(FILES)}, "gone/inner.txt": "old\n"}
    data, copy = tmp_path / "data", tmp_path / "copy/data"
    copied: list[bool] = []
    apply, put_aside = transaction.apply, entries.put_aside

    def copy_once() -> None:
        if not copied:
            copied.append(True)
            back_up(Settings(data_dir=data), copy)

    def apply_later(*given: object, **more: object) -> object:
        copy_once()
        return apply(*given, **more)  # type: ignore[arg-type]

    def remove_later(name: str, parent: int, temporary: str) -> str:
        aside = put_aside(name, parent, temporary)
        copy_once()  # a part of the commit is made
        return aside

    with monkeypatch.context() as patched:
        if when == "in the middle":
            patched.setattr(entries, "put_aside", remove_later)
        else:
            patched.setattr(transaction, "apply", apply_later)
        replies = [call("execute_command", command=COMMAND), "Done."]
        async with live_server(tmp_path, replies=replies, files=files) as client:
            was = {**tree(client.workspace)}
            chat = await client.chat()
            rule = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
            await client.ask("POST", "/rules", body=rule, expect=201)
            await chat.send("change it")
            [result] = await chat.results()
            assert result["status"] == "ok" and copied, result
            changed = {**tree(client.workspace)}
            workspace = client.workspace
    async with live_server(tmp_path / "copy", replies=["Here."], workspace=workspace) as client:
        assert tree(workspace) == changed, "opening it changes no file"
        assert not (await client.ask("POST", "/audit/verify"))["broken"]
        page = await client.ask("GET", f"{chat.path}/snapshots")
        [first] = [each["id"] for each in page["snapshots"] if each["moment"] == "before"]
        answer = await client.ask("POST", f"{chat.path}/snapshots/{first}/restore", {"overwrite": []})
        assert not answer["conflicts"] and tree(workspace) == was
