"""A fork is a new chat from any message: edit and resend, regenerate with another model, with the files of that moment if wished."""

from pathlib import Path

import pytest

from anycowork.workspace.paths import DEEPEST
from support.live_server import LiveChat, live_server
from support.scripted_model import call
from support.spec import proves

ONE, TWO = [call("create_file", path=f"{name}.txt", content=f"{name}\n") for name in ("one", "two")]


async def texts(chat: LiveChat) -> list[str]:
    return [message["content"] for message in await chat.messages() if message["message_type"] == "text"]


@pytest.fixture
async def worked(tmp_path: Path):
    """A chat of two turns; each created a file."""
    async with live_server(tmp_path, replies=[ONE, "First.", TWO, "Second."]) as client:
        chat = await client.chat(title="Work")
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})
        await chat.send("make one")
        await chat.send("make two")
        yield client, chat


async def fork(chat: LiveChat, message: str, *, expect: int = 201, **requested):
    found = next(one for one in await chat.messages() if one["content"] == message)
    return await chat.client.ask("POST", f"{chat.path}/fork", {"message_id": found["id"], **requested}, expect=expect)


@proves("UI-7")
async def test_a_fork_from_an_answer_has_the_messages_up_to_it_and_goes_on_by_itself(worked) -> None:
    client, chat = worked
    new = LiveChat(client, await fork(chat, "First."))
    assert new.id != chat.id and new.opened["title"] == "Work" and new.opened["config"]["autonomy"] == "edits"
    assert (await texts(new))[-3:] == ["make one", "First.", "Forked from 'Work'."]
    assert (client.workspace / "two.txt").exists(), "the files stay as they are"
    before, copied = await chat.messages(), await new.messages()
    assert not {m["id"] for m in before} & {m["id"] for m in copied}
    assert [m["payload"] for m in copied[:3]] == [m["payload"] for m in before[:3]]
    client.model.replies += ["Third."]
    await new.send("and now?")
    assert (await texts(new))[-1] == "Third." and (await texts(chat))[-1] == "Second."
    sent = str(client.model.requests[-1]["messages"])
    assert "make one" in sent and "make two" not in sent
    assert await client.server.database.store.audit.verify_chat(new.id) is None


@proves("UI-7")
async def test_an_own_message_is_edited_and_sent_again_with_the_files_of_then(worked) -> None:
    client, chat = worked
    would = await fork(chat, "make two", files="restore", dry_run=True, expect=200)
    assert would["deleted"] == ["two.txt"] and (client.workspace / "two.txt").exists()
    client.model.replies += ["As you wish."]
    new = LiveChat(client, await fork(chat, "make two", files="restore", content="make three"))
    await new.rest()
    assert (await texts(new))[-3:] == ["Forked from 'Work'.", "make three", "As you wish."]
    assert not (client.workspace / "two.txt").exists() and (client.workspace / "one.txt").exists()
    assert "make two" not in await texts(new)


@proves("UI-7")
async def test_an_answer_is_made_again_by_another_model(worked) -> None:
    client, chat = worked
    client.model.replies += ["Otherwise."]
    other = "scripted/other"
    new = LiveChat(client, await fork(chat, "make two", content="make two", model=other))
    await new.rest()
    assert new.opened["config"]["model_id"] == other and client.model.requests[-1]["model"] == "other"
    assert (await texts(new))[-1] == "Otherwise."
    assert (await chat.show())["config"]["model_id"] != other


@proves("UI-7")
async def test_a_fork_from_inside_a_turn_has_no_call_without_its_result_and_the_files_between_the_two(worked) -> None:
    client, chat = worked
    called, result = [
        next(m for m in reversed(await chat.messages()) if m["message_type"] == kind)
        for kind in ("tool_call", "tool_result")
    ]
    for message, kinds, deleted in (
        (called, ["text"], ["two.txt"]),
        (result, ["text", "tool_call", "tool_result"], []),
    ):
        requested = {"message_id": message["id"], "files": "restore"}
        would = await client.ask("POST", f"{chat.path}/fork", {**requested, "dry_run": True}, expect=200)
        assert would["deleted"] == deleted
        new = LiveChat(
            client, await client.ask("POST", f"{chat.path}/fork", {**requested, "files": "none"}, expect=201)
        )
        copied = [m["message_type"] for m in await new.messages()]
        assert copied[-len(kinds) - 1 :] == [*kinds, "text"]


async def test_what_someone_else_changed_is_a_conflict_and_nothing_was_done(worked) -> None:
    client, chat = worked
    (client.workspace / "two.txt").write_text("mine\n")
    before = await client.ask("GET", "/context")
    refused = await fork(chat, "make two", files="restore", expect=409)
    assert refused["conflicts"] == ["two.txt"] and (client.workspace / "two.txt").read_text() == "mine\n"
    assert await client.ask("GET", "/context") == before
    await fork(chat, "make two", files="restore", overwrite=["two.txt"])
    assert not (client.workspace / "two.txt").exists()


async def test_a_fork_that_cannot_be_is_refused(worked) -> None:
    client, chat = worked
    await client.ask("POST", f"{chat.path}/fork", {"message_id": "nobody"}, expect=404)
    await client.ask("POST", "/context/nobody/fork", {"message_id": "x"}, expect=404)
    await fork(chat, "First.", files="elsewhere", expect=422)
    await fork(chat, "First.", content=" ", expect=422)
    assert len((await client.ask("GET", "/context"))["contexts"]) == 1


@proves("UI-7")
async def test_a_fork_works_in_a_copy_of_the_files_as_they_were_then_and_the_original_stays(worked) -> None:
    client, chat = worked
    origin = client.workspace
    for path, text in (
        ("two.txt", "mine\n"),
        ("notes/a.txt", "a\n"),
    ):  # changed by a person since: no conflict in a copy
        (origin / path).parent.mkdir(exist_ok=True)
        (origin / path).write_text(text)
    (origin / ".git").write_text("gitdir: /somewhere/else\n")
    (origin / "run.sh").symlink_to("one.txt")
    deny = {"tool": "read_file", "resource": "notes/**", "effect": "deny", "scope": "workspace"}
    allow = {"tool": "delete_file", "resource": "*", "effect": "allow", "scope": "workspace"}
    for rule in (deny, allow):
        await client.ask("POST", "/rules", {**rule, "workspace": str(origin)}, expect=201)
    before = {path: path.read_bytes() for path in origin.rglob("*") if path.is_file()}
    new = LiveChat(client, await fork(chat, "make two", files="copy"))
    copy = Path(new.opened["workspace"])
    assert copy == origin.parent / f"{origin.name}-copy" and copy.stat().st_mode == origin.stat().st_mode
    assert sorted(path.name for path in copy.iterdir()) == ["notes", "one.txt", "run.sh"]
    assert {path: path.read_bytes() for path in origin.rglob("*") if path.is_file()} == before
    assert str(copy) in [root["root"] for root in (await client.ask("GET", "/workspaces"))["workspaces"]]
    rules = [rule for rule in (await client.ask("GET", "/rules"))["rules"] if rule["workspace"] == str(copy)]
    assert [(rule["tool"], rule["effect"]) for rule in rules] == [("read_file", "deny")], "what limits goes with it"
    assert str(copy) in (await texts(new))[-1]
    client.model.replies += [call("create_file", path="three.txt", content="3\n"), "Third."]
    await new.send("make three")
    assert (copy / "three.txt").exists() and not (origin / "three.txt").exists()
    await client.ask("DELETE", new.path)
    assert (copy / "three.txt").exists(), "the folder is the person's"
    again = await fork(chat, "Second.", files="copy")
    assert again["workspace"] == f"{copy}-2" and Path(again["workspace"], "two.txt").read_text() == "mine\n"


async def test_a_copy_that_cannot_be_made_leaves_nothing(worked) -> None:
    client, chat = worked
    roots = await client.ask("GET", "/workspaces")
    key = (await client.ask("POST", "/keys", {"name": "program"}))["key"]
    body = {"message_id": (await chat.messages())[0]["id"], "files": "copy"}
    as_program = {"headers": {"Authorization": f"Bearer {key}"}}
    await client.ask("POST", f"{chat.path}/fork", body, expect=403, **as_program)
    client.workspace.joinpath(*["d"] * (DEEPEST + 2)).mkdir(parents=True)
    refused = await client.ask("POST", f"{chat.path}/fork", body, expect=409)
    assert f"more than {DEEPEST} deep" in refused["error"]["message"]
    assert not list(client.workspace.parent.glob("*-copy*"))
    assert await client.ask("GET", "/workspaces") == roots
    assert len((await client.ask("GET", "/context"))["contexts"]) == 1
