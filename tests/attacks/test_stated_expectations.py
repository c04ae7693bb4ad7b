"""What a message states with `expect` and `/expect`: nobody widens their rights with it, and no detour changes what is to stay as it is."""

import os
from pathlib import Path

import aiohttp
import pytest

from anycowork.domain.principals import MCP_HOST_HEADER
from support.attempts import Attempts
from support.live_server import Caller, LiveChat, live_server
from support.people import person
from support.scripted_model import call

PROTECTED = "conf/prod.yml"
FILES = {PROTECTED: "port: 80\n", **{f"conf/{number:03}.txt": "x\n" for number in range(80)}, "a.txt": "a\n"}
CHANGES = {
    "edit": call("update_file", path=PROTECTED, edits=[{"find": "80", "replace": "81"}]),
    "edit by a detour": call("update_file", path="./conf/../conf//prod.yml", edits=[{"find": "80", "replace": "81"}]),
    "edit by an absolute path": call("update_file", path="{root}/conf/prod.yml", edits=[{"find": "80", "replace": "81"}]),
    "edit through a link": call("update_file", path="way/prod.yml", edits=[{"find": "80", "replace": "81"}]),
    "delete": call("delete_file", path=PROTECTED),
    "move": call("move_file", path=PROTECTED, to="b.yml"),
    "move the folder above": call("move_file", path="conf", to="other"),
    "command": call("execute_command", command=f"echo 81 > {PROTECTED}"),
    "command on the folder": call("execute_command", command="mv conf other"),
    "command by another name": call("execute_command", command="cd way && echo 81 > prod.yml"),
}  # fmt: skip


@pytest.mark.parametrize(
    "stated",
    [
        f"/expect protected {PROTECTED}",
        "/expect protected conf/*.yml",
        f"/expect protected ./{PROTECTED}",
        "/expect no_change",
    ],
)
async def test_no_way_changes_what_is_to_stay_as_it_is(tmp_path: Path, attempts: Attempts, stated: str) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        (client.workspace / "way").symlink_to("conf")
        for tool in ("update_file", "delete_file", "move_file", "execute_command"):
            for resource in ("**", "*"):
                body = {"tool": tool, "resource": resource, "effect": "allow", "scope": "global"}
                async with client.session.post(client.url + "/rules", json=body):
                    pass

        async def changed(name: str) -> None:
            chat = await client.chat()
            client.model.replies[:] = [CHANGES[name].replace("{root}", str(client.workspace)), *["Done."] * 4]
            state = await chat.send(f"Tidy up.\n{stated}")
            assert state["state"] == "awaiting_approval", (state, await chat.last())
            await chat.decide("deny")
            assert (client.workspace / PROTECTED).read_text() == "port: 80\n"

        await attempts.each(CHANGES, changed)


async def test_a_folder_that_is_moved_names_every_secret_in_it(tmp_path: Path) -> None:
    """Also one behind more files than are hashed: at no level of autonomy a secret moves unasked."""
    files = {**{f"conf/{number:03}.txt": "x\n" for number in range(80)}, "conf/zone/id_rsa": "KEY\n"}
    async with live_server(
        tmp_path, replies=[call("move_file", path="conf", to="other"), "Done."], files=files
    ) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
        assert (await chat.send("Tidy up."))["state"] == "awaiting_approval"


async def test_a_rule_about_a_file_holds_for_the_folder_above_it_however_large_the_file_is(tmp_path: Path) -> None:
    move = call("move_file", path="conf", to="other")
    async with live_server(tmp_path, replies=[move, "Done.", "Done."], files={"conf/large.bin": ""}) as client:
        os.truncate(client.workspace / "conf/large.bin", 1 << 26)  # too large to be one of the files that are hashed
        for resource, effect in (("**", "allow"), ("/conf/large.bin", "deny")):
            rule = {"tool": "move_file", "resource": resource, "effect": effect, "scope": "global"}
            await client.ask("POST", "/rules", rule, expect=201)
        await (await client.chat()).send("Tidy up.")
        assert (client.workspace / "conf/large.bin").exists()


@pytest.mark.parametrize("lines", [f"/expect check {'true; ' * 200}x", "/expect protected a\n" * 101])
async def test_what_is_stated_is_taken_whole_or_not_at_all(tmp_path: Path, lines: str) -> None:
    """A command that is cut off is another command, and each expectation costs at every change."""
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        for content in (f"{lines}\nGo.", f"Go.\n{lines}"):
            await client.ask("POST", f"{chat.path}/messages", {"content": content}, expect=422)


CHECK = "touch ran"
EDIT = call("update_file", path="a.txt", edits=[{"find": "a", "replace": "b"}])


async def test_only_who_may_approve_states_a_check_that_runs_unasked(tmp_path: Path) -> None:
    """A host sends for a person who sees nothing of it: its check asks like any command, so it is not run, in whatever way it is stated."""
    stated = {"expect": [{"kind": "check", "subject": CHECK}], "content": "Change a.txt."}
    lines = {"content": f"Change a.txt.\n/expect check {CHECK}"}
    async with live_server(tmp_path, files=FILES) as client, person(client, "Mia", "member") as member:
        headers = {"Authorization": f"Bearer {member.token}", MCP_HOST_HEADER: "host"}
        async with aiohttp.ClientSession(headers=headers) as session:
            ran = {}
            for sender in (Caller(client.url, session), member):
                for body in (stated, lines):
                    chat = LiveChat(sender, {"id": (await client.chat()).id})
                    await client.ask("PATCH", chat.path, {"autonomy": "edits"})
                    (client.workspace / "a.txt").write_text("a\n")
                    client.model.replies[:] = [EDIT, *["Done."] * 4]
                    await sender.ask("POST", f"{chat.path}/messages", body, expect=202)
                    await chat.rest()
                    commands = [one for one in await chat.of_type("tool_call") if CHECK in str(one["payload"])]
                    ran.setdefault(sender is member, []).append(bool(commands))
            assert ran == {False: [False, False], True: [True, True]}
            assert not (client.workspace / "ran").exists(), "what a check writes is dropped"
