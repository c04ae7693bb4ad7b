"""The SDK's own client drives `anycowork acp` as a child process, over a real server and a scripted model.

One editor on one running server serves most tests, each with its own session in its own folder. Those about a restart start their own.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from acp import RequestError, text_block
from acp.helpers import resource_link_block
from acp.schema import ClientCapabilities, FileSystemCapabilities, HttpMcpServer, McpServerStdio

from support.cli_process import CommandLine, ServeProcess
from support.editors import TIMEOUT, Answer, ScriptedEditor, editor_on, new_session
from support.raw_mcp_server import raw_server
from support.scripted_model import Hang, Reply, Script, ScriptedModel, call
from support.spec import proves

pytestmark = pytest.mark.asyncio(loop_scope="module")
PLAN = json.dumps(
    {
        "type": "plan",
        "goal": "Greet",
        "steps": [
            {"action": "Write hello.txt", "tools_needed": ["create_file"], "paths": ["hello.txt"]},
            {"action": "List the folder", "tools_needed": ["list_directory"]},
        ],
    }
)
QUESTION = json.dumps(
    {
        "type": "question",
        "question": "Which greeting?",
        "options": [{"label": "Hello", "value": "hello"}, {"label": "Ahoy", "value": "ahoy"}],
        "allow_custom": True,
    }
)


@dataclass
class EditorScene:
    """An editor on a running server; `folder` is the project of the test."""

    editor: ScriptedEditor
    model: ScriptedModel
    server: ServeProcess
    line: CommandLine
    folder: Path

    async def session(self, replies: Sequence[Script] = (), answers: Sequence[Answer] = ()) -> str:
        """A new session in the test's folder. The model gives these replies, the person these answers, from now on."""
        self.model.replies += replies
        self.editor.answers += answers
        async with asyncio.timeout(TIMEOUT):
            return (await self.editor.connection.new_session(cwd=str(self.folder), mcp_servers=[])).session_id


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EditorScene]:
    async with ScriptedModel() as model:
        line = CommandLine(tmp_path_factory.mktemp("editor"), model.base_url)
        with line.serving("--workspace", str(line.workspace)) as server:
            async with editor_on(line) as editor:
                yield EditorScene(editor, model, server, line, line.workspace)


@pytest.fixture
def scene(shared: EditorScene, request: pytest.FixtureRequest) -> EditorScene:
    """The shared editor without anything of earlier tests."""
    editor, model = shared.editor, shared.model
    for leftover in (editor.answers, editor.updates, editor.dialogs, model.replies, model.requests):
        leftover.clear()
    model.mind = None
    folder = shared.line.workspace / request.node.name
    folder.mkdir()
    return EditorScene(editor, model, shared.server, shared.line, folder)


def create(path: str, content: str = "hi\n") -> str:
    return call("create_file", path=path, content=content)


@proves("ACP-1/1", "ACP-1/3", "ACP-1/6", "ACP-1/7", "ACP-1/8", "EVD-1/2", "PER-3")
async def test_a_plan_is_shown_approved_and_carried_out_with_its_diff(scene: EditorScene) -> None:
    editor, hello = scene.editor, scene.folder / "hello.txt"
    replies = [Reply(PLAN, reasoning="A greeting."), create("hello.txt"), call("list_directory", path="."), "All done."]
    session = await scene.session(replies, ["approve"])
    await editor.connection.set_session_mode(session_id=session, mode_id="planner")
    ended = await editor.say(session, "greet")
    assert ended.stop_reason == "end_turn" and ended.usage is not None and ended.usage.input_tokens > 0
    ((asked, options),) = editor.dialogs
    shown = asked.content[0].content.text
    assert "Write hello.txt" in shown and "create_file" in shown and "file hello.txt" in shown
    assert [option.kind for option in options] == ["allow_once", "reject_once"]
    assert hello.read_text() == "hi\n"
    assert editor.text(session, "agent_thought_chunk") == "A greeting."
    assert editor.text(session).endswith("All done.") and ended.field_meta["evidence"]["status"] == "claimed"
    modes = [update.current_mode_id for update in editor.of_kind(session, "current_mode_update")]
    assert modes[-1] == "actor"
    plans = editor.of_kind(session, "plan")
    assert [entry.status for entry in plans[0].entries] == ["pending", "pending"]
    assert [entry.status for entry in plans[-1].entries] == ["completed", "completed"]
    (start, _) = editor.of_kind(session, "tool_call")
    assert start.kind == "edit" and start.locations[0].path == str(hello)
    results = [one for one in editor.of_kind(session, "tool_call_update") if one.status == "completed"]
    (diff,) = [piece for piece in results[0].content if piece.type == "diff"]
    assert (diff.path, diff.old_text, diff.new_text) == (str(hello), None, "hi\n")


@proves("EVD-1/2")
async def test_a_prompt_that_ends_before_its_turn_tells_no_evidence_of_an_earlier_one(scene: EditorScene) -> None:
    session = await scene.session([create("hello.txt"), "Done.", QUESTION, "Ahoy it is."], ["allow_once", "own_words"])
    first = await scene.editor.say(session, "Write a greeting into hello.txt.")
    assert first.field_meta["evidence"]["status"] == "claimed"
    second = await scene.editor.say(session, "greet me")
    assert second.stop_reason == "end_turn" and not second.field_meta
    await scene.editor.say(session, "ahoy")


@proves("ACP-1/2", "ACP-1/6", "ROL-3/5")
async def test_a_new_session_offers_roles_models_and_workflows(scene: EditorScene) -> None:
    editor = scene.editor
    opened = await editor.connection.new_session(cwd=str(scene.folder), mcp_servers=[])
    assert opened.modes.current_mode_id == "actor"
    assert {"planner", "actor", "reviewer"} <= {mode.id for mode in opened.modes.available_modes}
    (choice,) = opened.config_options
    assert (choice.id, choice.current_value) == ("model", "openai/scripted")
    chosen = await editor.connection.set_config_option("model", opened.session_id, "openai/scripted")
    assert chosen.config_options[0].current_value == "openai/scripted"
    await editor.wait_until(lambda: "available_commands_update" in editor.kinds(opened.session_id))
    (commands,) = editor.of_kind(opened.session_id, "available_commands_update")
    assert "explain_code" in {command.name for command in commands.available_commands}


@proves("ACP-1/8", "APR-1")
@pytest.mark.parametrize(
    ("choice", "written", "rules"),
    [
        ("allow_once", True, []),
        ("allow_session", True, [("allow", "session")]),
        ("allow_always", True, [("allow", "workspace")]),
        ("deny", False, []),
        ("deny_always", False, [("deny", "workspace")]),
    ],
)
async def test_each_choice_in_the_dialog_is_the_decision_it_names(
    scene: EditorScene, choice: str, written: bool, rules: list[tuple[str, str]]
) -> None:
    editor, server = scene.editor, scene.server
    before = await asyncio.to_thread(server.get, "/rules")
    session = await scene.session([create("a.txt"), "Then so."], [choice])
    assert (await editor.say(session, "write it")).stop_reason == "end_turn"
    ((asked, options),) = editor.dialogs
    kinds = {option.option_id: option.kind for option in options}
    assert kinds["deny_always"] == "reject_always" and kinds["allow_always"] == "allow_always"
    assert any(piece.type == "diff" and piece.new_text == "hi\n" for piece in asked.content)
    assert (scene.folder / "a.txt").exists() is written
    made = await asyncio.to_thread(server.get, "/rules")
    new = [rule for rule in made["rules"] if rule not in before["rules"]]
    assert [(rule["effect"], rule["scope"]) for rule in new] == rules
    seen = await asyncio.to_thread(server.wait_for, session, "permission-decided")
    assert seen["principal"] == "acp_client:test-editor"


@proves("ACP-1/8")
async def test_a_rejected_plan_changes_nothing_and_the_session_goes_on(scene: EditorScene) -> None:
    editor = scene.editor
    session = await scene.session([PLAN, "As you wish."], ["keep_planning"])
    await editor.connection.set_session_mode(session_id=session, mode_id="planner")
    assert (await editor.say(session, "greet")).stop_reason == "end_turn"
    assert (await editor.say(session, "never mind")).stop_reason == "end_turn"
    assert editor.text(session).endswith("As you wish.") and not (scene.folder / "hello.txt").exists()


@proves("ACP-1/3", "ACP-1/8")
async def test_a_question_is_answered_by_option_or_by_the_next_prompt(scene: EditorScene) -> None:
    editor = scene.editor
    session = await scene.session([QUESTION, "Ahoy it is.", QUESTION, "Your words."], ["option-1", "own_words"])
    assert (await editor.say(session, "greet")).stop_reason == "end_turn"
    assert editor.text(session).endswith("Ahoy it is.")
    assert (await editor.say(session, "again")).stop_reason == "end_turn"
    assert (await editor.say(session, "Good day")).stop_reason == "end_turn"
    assert editor.text(session).endswith("Your words.")
    assert scene.model.requests[-1]["messages"][-1]["content"].strip().endswith("Good day")


@proves("ACP-1/3", "ACP-1/5")
async def test_cancel_ends_the_prompt_and_a_second_prompt_meanwhile_is_refused(scene: EditorScene) -> None:
    editor = scene.editor
    session = await scene.session([Hang("Thinking"), "Back again."])
    async with asyncio.TaskGroup() as tasks:
        going = tasks.create_task(editor.say(session, "think"))
        await editor.wait_until(lambda: "Thinking" in editor.text(session))
        with pytest.raises(RequestError) as refused:
            await editor.say(session, "and this")
        assert refused.value.code == -32600
        await editor.connection.cancel(session_id=session)
        assert (await going).stop_reason == "cancelled"
    assert (await editor.say(session, "go on")).stop_reason == "end_turn"
    assert editor.text(session).endswith("Back again.")


@proves("ACP-1/5")
async def test_cancel_while_a_dialog_is_open_withdraws_the_approval(scene: EditorScene) -> None:
    editor, never = scene.editor, asyncio.Event()
    session = await scene.session([create("a.txt"), "Later."], [never.wait])
    async with asyncio.TaskGroup() as tasks:
        going = tasks.create_task(editor.say(session, "write"))
        await editor.wait_until(lambda: len(editor.dialogs) == 1)
        await editor.connection.cancel(session_id=session)
        assert (await going).stop_reason == "cancelled"
    assert not (scene.folder / "a.txt").exists()
    assert (await editor.say(session, "go on")).stop_reason == "end_turn"


@proves("ACP-1/2", "ACP-1/3")
async def test_two_sessions_work_at_once_and_keep_apart(scene: EditorScene) -> None:
    def mind(body: dict[str, object]) -> str:
        return "one here" if "first" in str(body["messages"][-1]) else "two here"  # type: ignore[index]

    editor, scene.model.mind = scene.editor, mind
    one, two = await scene.session(), await scene.session()
    ended = await asyncio.gather(editor.say(one, "the first"), editor.say(two, "the other"))
    assert [each.stop_reason for each in ended] == ["end_turn", "end_turn"]
    assert (editor.text(one), editor.text(two)) == ("one here", "two here")
    await editor.connection.close_session(session_id=one)
    with pytest.raises(RequestError) as refused:
        await editor.say(one, "the first")
    assert refused.value.code == -32002
    assert (await editor.say(two, "still the other")).stop_reason == "end_turn"


@proves("ACP-1/4", "APR-4")
async def test_after_a_restart_sessions_are_listed_and_loaded_and_what_waited_is_asked_again(tmp_path: Path) -> None:
    """Here the server ends with the editor, and starts with the next one."""
    replies = [create("a.txt"), "Written.", create("b.txt"), "And more.", "Written too.", "And that."]
    async with ScriptedModel(replies) as model:
        line = CommandLine(tmp_path, model.base_url)
        never = asyncio.Event()
        async with editor_on(line, ["allow_once", never.wait]) as editor:
            done, waiting = await new_session(editor, line), await new_session(editor, line)
            await editor.say(done, "write it")
            going = asyncio.ensure_future(editor.say(waiting, "write that"))
            await editor.wait_until(lambda: len(editor.dialogs) == 2)
            going.cancel()
        assert not (line.workspace / "b.txt").exists()
        async with editor_on(line, ["allow_once"]) as editor:
            listed = await editor.connection.list_sessions(cwd=str(line.workspace))
            assert {one.session_id for one in listed.sessions} == {done, waiting}
            loaded = await editor.connection.load_session(cwd=str(line.workspace), session_id=done, mcp_servers=[])
            assert loaded.modes.current_mode_id == "actor"
            assert editor.text(done, "user_message_chunk") == "write it" and editor.text(done) == "Written."
            (again,) = editor.of_kind(done, "tool_call")
            assert again.kind == "edit"
            assert any(piece.type == "diff" for piece in editor.of_kind(done, "tool_call_update")[-1].content)
            assert (await editor.say(done, "go on")).stop_reason == "end_turn"
            assert editor.text(done) == "Written.And more."
            await editor.connection.resume_session(session_id=waiting, cwd=str(line.workspace), mcp_servers=[])
            assert (await editor.say(waiting, "go on")).stop_reason == "end_turn"
            assert (line.workspace / "b.txt").exists() and editor.text(waiting).endswith("And that.")


@proves("ACP-1/3", "ACP-1/7")
async def test_the_editors_buffers_are_read_kept_in_step_and_never_overwritten(scene: EditorScene) -> None:
    def update(path: str) -> str:
        return call("update_file", path=path, edits=[{"find": "one\n", "replace": "two\n"}])

    replies = [update("clean.txt"), update("dirty.txt"), update("reloaded.txt"), "Changed.", "Read.", "Read again."]
    offers = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True))
    scene.model.replies += replies
    place = {name: str(scene.folder / f"{name}.txt") for name in ("clean", "dirty", "reloaded", "saved")}
    for path in place.values():
        Path(path).write_text("one\nlast\n")
    (scene.folder / ".env").write_text("KEY=1\n")
    async with editor_on(scene.line, ["allow_once"] * 3, offers=offers) as editor:
        session = (await editor.connection.new_session(cwd=str(scene.folder), mcp_servers=[])).session_id
        editor.buffers = {place["clean"]: "one\nlast\n", place["dirty"]: "one\nlast\nmine\n"}
        editor.buffers |= {place["reloaded"]: "two\nlast\n", place["saved"]: "one\nlast\n"}
        assert (await editor.say(session, "change them")).stop_reason == "end_turn"
        assert editor.written == [(place["clean"], "two\nlast\n")]
        assert Path(place["dirty"]).read_text() == "two\nlast\n"
        assert editor.buffers[place["dirty"]] == "one\nlast\nmine\n"
        assert "unsaved changes of dirty.txt" in editor.text(session)
        editor.buffers[str(scene.folder / ".env")] = "KEY=unsaved\n"
        links = [resource_link_block(path, f"file://{path}") for path in (place["dirty"], place["saved"])]
        secret = resource_link_block(".env", f"file://{scene.folder}/.env")
        blocks = [text_block("look at "), *links, secret]
        assert (await editor.connection.prompt(session_id=session, prompt=blocks)).stop_reason == "end_turn"
        asked = str(scene.model.requests[-1]["messages"])
        assert "mine" in asked and "KEY=unsaved" not in asked
        assert asked.count("not saved yet") == 1
        editor.buffers[place["clean"]] = "two\nlast\nedited\n"
        assert (await editor.say(session, "and now")).stop_reason == "end_turn"
        assert "clean.txt is open in the editor" in str(scene.model.requests[-1]["messages"]), (
            "the agent used it before"
        )


@proves("ACP-1/2", "MCP-2")
async def test_mcp_servers_of_the_editor_serve_their_session_alone(scene: EditorScene, tmp_path: Path) -> None:
    editor, model = scene.editor, scene.model
    program = raw_server(tmp_path / "server")
    server = McpServerStdio(name="My Fixture", command=program["command"], args=program["args"], env=[])
    remote = HttpMcpServer(type="http", name="far", url="http://far.example/mcp", headers=[])
    servers = [server, remote, McpServerStdio(name="gone", command="/no/such/program", args=[], env=[])]
    await asyncio.to_thread(scene.server.post, "/mcp/servers", {**program, "enabled": False})
    refused = await editor.connection.new_session(cwd=str(scene.folder), mcp_servers=servers)
    model.replies += ["Hello."]
    await editor.say(refused.session_id, "hello")
    assert "my-fixture" in str(model.requests.pop()["messages"]), "one that is not configured keeps no other away"
    named = editor.of_kind(refused.session_id, "agent_message_chunk")[0].content.text
    assert "'gone' is not started: no admin has configured" in named and "far: not a program" in named
    history = await asyncio.to_thread(scene.server.get, f"/context/{refused.session_id}/messages")
    assert "Not started, because no admin configured them: gone" in history["messages"][0]["content"]
    await editor.connection.close_session(session_id=refused.session_id)
    servers.pop()
    opened = await editor.connection.new_session(cwd=str(scene.folder), mcp_servers=servers)
    one, two = opened.session_id, await scene.session(answers=["allow_once"])
    tool = f"my-fixture-{one.replace('-', '')[-8:]}__add"
    model.replies += [call(tool, a=20, b=22), "Added."]
    assert (await editor.say(one, "add")).stop_reason == "end_turn"
    assert len(editor.dialogs) == 1 and tool in str(model.requests[0]["messages"])
    assert "42" in str(editor.of_kind(one, "tool_call_update")[-1].content)
    for session, words in ((two, "another session"), (one, "after it was closed")):
        if session == one:
            await editor.connection.close_session(session_id=one)
            await editor.connection.resume_session(session_id=one, cwd=str(scene.folder), mcp_servers=[])
        model.replies += [call(tool, a=20, b=22), "There is none."]
        assert (await editor.say(session, words)).stop_reason == "end_turn"
        assert len(editor.dialogs) == 1 and tool not in str(model.requests[-2]["messages"][0])
        assert "There is no tool" in str(editor.of_kind(session, "tool_call_update")[-1].content)


@proves("ACP-1/1", "ACP-1/2", "ACP-1/4")
async def test_wrong_parameters_get_their_error_codes(scene: EditorScene, tmp_path: Path) -> None:
    conn = scene.editor.connection
    session = "01a1e264-95a6-7000-803f-52c48b5d1d5d"

    async def code(asked: object) -> int:
        async with asyncio.timeout(TIMEOUT):
            with pytest.raises(RequestError) as refused:
                await asked  # type: ignore[misc]
        return refused.value.code

    assert await code(conn.new_session(cwd="relative", mcp_servers=[])) == -32602
    assert await code(conn.new_session(cwd=str(tmp_path), mcp_servers=[])) == -32602, "not registered"
    assert await code(conn.load_session(cwd="/", session_id=session, mcp_servers=[])) == -32002
    assert await code(conn.prompt(session_id=session, prompt=[text_block("hi")])) == -32002
    assert await code(conn.set_session_mode(session_id=session, mode_id="actor")) == -32002
    assert await code(conn.fork_session(session_id=session, cwd="/", mcp_servers=[])) == -32601
    assert await code(conn._conn.send_request("session/prompt", {"sessionId": 3})) == -32602
    assert await code(conn._conn.send_request("session/nonsense", {})) == -32601


@proves("ACP-1/3", "ACP-1/6")
async def test_an_unknown_role_or_option_is_refused_by_name(scene: EditorScene) -> None:
    connection, session = scene.editor.connection, await scene.session()
    for asked in (
        connection.set_session_mode(session_id=session, mode_id="emperor"),
        connection.set_config_option("colour", session, "red"),
        connection.prompt(session_id=session, prompt=[]),
    ):
        with pytest.raises(RequestError) as refused:
            await asked
        assert refused.value.code == -32602
