"""`anycowork run` and `anycowork serve` as scripts see them: real processes, a real server, a scripted model."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.cli_process import WHOLE_PROCESS, CommandLine, ServeProcess, ending
from support.scripted_model import Hang, HttpError, ScriptedModel, call
from support.spec import proves

STEP = {"action": "Write hello.txt", "tools_needed": ["create_file"], "paths": ["hello.txt"]}
PLAN = {"goal": "Greet", "steps": [STEP]}


@pytest.fixture
def model(models: ScriptedModel) -> ScriptedModel:
    models.replies.clear()
    return models


@pytest.fixture
def cli(tmp_path: Path, model: ScriptedModel) -> CommandLine:
    """A data folder of its own, without a server: each run brings one along."""
    return CommandLine(tmp_path, model.base_url)


@pytest.fixture
def attached(shared: tuple[CommandLine, ServeProcess]) -> CommandLine:
    """A data folder whose server runs: each run attaches to it."""
    return shared[0]


@pytest.fixture
def server(shared: tuple[CommandLine, ServeProcess]) -> ServeProcess:
    return shared[1]


@proves("CLI-1")
def test_the_answer_alone_goes_to_stdout_and_progress_to_stderr(attached: CommandLine, model: ScriptedModel) -> None:
    (attached.workspace / "a.txt").write_text("the content")
    model.replies += [call("read_file", path="a.txt"), "It holds three words."]
    done = attached.type("run", "What is in a.txt?")
    assert (done.returncode, done.stdout) == (0, "It holds three words.\n")
    assert "[actor]" in done.stderr
    assert "→ read_file path=a.txt" in done.stderr
    assert "✓" in done.stderr
    assert "\x1b[" not in done.stderr


@proves("CLI-1")
def test_a_request_can_come_on_standard_input(attached: CommandLine, model: ScriptedModel) -> None:
    model.replies += ["Read."]
    done = attached.type("run", "-", piped="Say\nhello.\n")
    assert (done.returncode, done.stdout) == (0, "Read.\n")
    assert str(model.requests[-1]["messages"][-1]["content"]).endswith("Say\nhello.")


@proves("CLI-1")
def test_json_gives_one_event_per_line_and_the_result_last(attached: CommandLine, model: ScriptedModel) -> None:
    model.replies += ["Hello."]
    done = attached.type("run", "Say hello", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    numbers = [event["seq"] for event in events[:-1]]
    assert numbers == sorted(set(numbers))
    assert {"turn-started", "message", "turn-ended"} <= {event["type"] for event in events}
    assert events[-1]["context_id"] == events[0]["chat_id"]
    expected = {"type": "result", "status": "done", "exit_code": 0, "text": "Hello."}
    assert expected.items() <= events[-1].items()


@proves("CLI-1", "APR-8/3")
def test_what_needs_a_person_is_left_parked_and_can_be_decided_later(cli: CommandLine, model: ScriptedModel) -> None:
    model.replies += [call("create_file", path="new.txt", content="hi"), "Made it."]
    done = cli.type("run", "Make new.txt", "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, result["status"]) == (3, "parked")
    assert not (cli.workspace / "new.txt").exists()
    assert any("anycowork serve --data-dir" in line for line in result["advice"])
    assert any("curl" in line and "allow_once" in line for line in result["advice"])

    chat, (waiting,) = result["context_id"], result["waiting_for"]
    with cli.serving() as server:
        assert server.get(f"/context/{chat}")["state"] == "awaiting_approval"
        decision = {"id": waiting["id"], "decision": "allow_once"}
        server.post(f"/context/{chat}/approvals", {"decisions": [decision]})
        again = cli.type(
            "run", "Read it", "--json"
        )  # attaches; by its end the other turn's model call was answered first
        assert again.returncode in (0, 5)
        assert (cli.workspace / "new.txt").read_text() == "hi"


@proves("CLI-1")
def test_the_text_form_says_how_to_decide(attached: CommandLine, server: ServeProcess, model: ScriptedModel) -> None:
    model.replies += [call("create_file", path="new.txt", content="hi")]
    done = attached.type("run", "Make new.txt")
    assert (done.returncode, done.stdout) == (3, "")
    assert "Needs approval: create_file" in done.stderr
    assert (
        f"Decide on the page: {server.url}/#/chat/" in done.stderr
        and "Or in a terminal: anycowork chat " in done.stderr
    )
    assert "curl" in done.stderr


@proves("CLI-1", "APR-8/3")
def test_a_question_parks_the_run(attached: CommandLine, model: ScriptedModel) -> None:
    options = [{"label": "Red", "value": "red"}, {"label": "Blue", "value": "blue"}]
    model.replies += [json.dumps({"type": "question", "question": "Which colour?", "options": options})]
    done = attached.type("run", "Paint it")
    assert done.returncode == 3
    assert "Asks: Which colour?" in done.stderr
    assert "/questions/" in done.stderr


@proves("CLI-1")
def test_a_planner_s_plan_on_stdout_is_what_approved_plan_takes(cli: CommandLine, model: ScriptedModel) -> None:
    model.replies += [json.dumps(PLAN)]
    planned = cli.type("run", "Plan a greeting", "--role", "planner")
    assert planned.returncode == 0
    (cli.workspace / "plan.json").write_text(planned.stdout)

    model.replies += [call("create_file", path="hello.txt", content="Hello."), "Greeted."]
    done = cli.type("run", "--approved-plan", "plan.json")
    assert (done.returncode, done.stdout) == (0, "Greeted.\n")
    assert (cli.workspace / "hello.txt").read_text() == "Hello."


@proves("UI-11")
def test_a_plan_that_was_carried_out_from_its_file_no_longer_waits(
    attached: CommandLine, model: ScriptedModel, server: ServeProcess
) -> None:
    model.replies += [json.dumps(PLAN), json.dumps({**PLAN, "goal": "Another"})]
    planned = attached.type("run", "Plan a greeting", "--role", "planner")
    attached.type("run", "Plan another", "--role", "planner")
    (attached.workspace / "plan.json").write_text(planned.stdout)
    assert [chat["waiting"] for chat in server.get("/context?limit=2")["contexts"]] == ["plan", "plan"]
    model.replies += [call("create_file", path="hello.txt", content="Hello."), "Greeted."]
    assert attached.type("run", "--approved-plan", "plan.json").returncode == 0
    waiting = {chat["title"]: chat["waiting"] for chat in server.get("/context?limit=3")["contexts"]}
    assert (waiting["Plan another"], waiting["Plan a greeting"]) == ("plan", None)


@proves("CLI-1")
def test_a_request_and_an_approved_plan_go_together(
    attached: CommandLine, model: ScriptedModel, server: ServeProcess
) -> None:
    """The request says what the plan is for; the plan says what is done and allowed."""
    (attached.workspace / "hello.txt").unlink(missing_ok=True)  # of an earlier test
    (attached.workspace / "plan.json").write_text(json.dumps(PLAN))
    model.replies += [call("create_file", path="hello.txt", content="Hello."), "Greeted."]
    done = attached.type("run", "Greet the world", "--approved-plan", "plan.json", "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, result["status"], result["text"]) == (0, "done", "Greeted.")
    said = server.get(f"/context/{result['context_id']}/messages")["messages"]
    assert [message["message_type"] for message in said[:3]] == ["text", "plan", "text"]
    assert said[0]["content"] == "Greet the world"
    assert any("Greet the world" in str(message["content"]) for message in model.requests[-1]["messages"])


@proves("CLI-1")
def test_a_provider_that_refuses_ends_with_code_five(attached: CommandLine, model: ScriptedModel) -> None:
    model.replies += [HttpError(401, {"error": {"message": "bad key"}})]
    done = attached.type("run", "Hello")
    assert (done.returncode, done.stdout) == (5, "")
    assert "provider: " in done.stderr


@proves("CLI-1")
def test_too_many_steps_end_with_code_four(cli: CommandLine, model: ScriptedModel) -> None:
    (cli.workspace / "a.txt").write_text("x")
    model.replies += [call("read_file", path="a.txt"), "never asked for"]
    done = cli.type("run", "Read", ANYCOWORK_MAX_STEPS="1")
    assert done.returncode == 4
    assert "limit: " in done.stderr


@proves("LOOP-11/3")
def test_a_run_whose_context_is_full_says_how_to_compact_and_continue(
    attached: CommandLine, model: ScriptedModel, server: ServeProcess
) -> None:
    (attached.workspace / "a.txt").write_text("x")
    model.replies += [call("read_file", path="a.txt"), HttpError(400, {"error": {"code": "context_length_exceeded"}})]
    done = attached.type("run", "Read it")
    assert done.returncode == 4 and "Compact and continue it on the page: " in done.stderr
    stopped = server.get("/context?limit=1")["contexts"][0]
    chat = f"/context/{stopped['id']}"
    assert f"{server.url}{chat}/compact" in done.stderr and f"{server.url}{chat}/continue" in done.stderr
    model.replies += ["Read."]
    server.post(f"{chat}/compact", {})
    server.post(f"{chat}/continue", {})
    server.wait_for(stopped["id"], "turn-ended", after=stopped["last_seq"])
    assert server.get(f"{chat}/messages")["messages"][-1]["content"] == "Read."


@proves("CLI-1")
def test_a_model_that_never_answers_does_not_make_the_run_hang(attached: CommandLine, model: ScriptedModel) -> None:
    """And that a turn has begun is seen before anything was answered."""
    model.replies += [Hang("Well")]
    done = attached.type("run", "Hello", "--timeout", "6")
    assert done.returncode == 4
    assert done.stderr.startswith("[actor]\n") and "--timeout" in done.stderr


@proves("CLI-1")
def test_a_cost_that_cannot_be_kept_ends_with_code_four(attached: CommandLine, model: ScriptedModel) -> None:
    model.replies += ["Expensive words."]
    done = attached.type("run", "Hello", "--max-cost", "0.01")
    assert done.returncode == 4
    assert "price of openai/scripted is not known" in done.stderr


@proves("CLI-1")
def test_an_unknown_role_is_a_usage_error(attached: CommandLine) -> None:
    done = attached.type("run", "Hello", "--role", "wizard")
    assert done.returncode == 2
    assert "wizard" in done.stderr


def test_a_request_that_is_refused_leaves_no_empty_chat(attached: CommandLine, server: ServeProcess) -> None:
    before = server.get("/context")["contexts"]
    done = attached.type("run", "/no_such_workflow", "--json")
    assert (done.returncode, json.loads(done.stdout)["context_id"]) == (2, None)
    assert "anycowork workflow list" in done.stdout
    assert server.get("/context")["contexts"] == before


@proves("CLI-1")
def test_ctrl_c_stops_the_turn_and_ends_with_code_130(
    attached: CommandLine, server: ServeProcess, model: ScriptedModel
) -> None:
    model.replies += [Hang("Well")]
    process = attached.start("run", "Hello", "--json")
    assert process.stdout is not None
    with ending(process):
        chat = next(event["chat_id"] for event in map(json.loads, process.stdout) if event["type"] == "turn-started")
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=WHOLE_PROCESS)[0]
    assert process.returncode == 130
    assert json.loads(rest.splitlines()[-1])["status"] == "stopped"
    assert server.get(f"/context/{chat}")["state"] == "idle"


def test_a_run_whose_output_nobody_reads_stops_its_turn_quietly(
    attached: CommandLine, server: ServeProcess, model: ScriptedModel
) -> None:
    model.replies += [Hang("Well")]
    reading, writing = os.pipe()
    os.close(reading)
    with ending(attached.start("run", "Hello", "--json", stdout=writing)) as process:
        os.close(writing)
        _, err = process.communicate(timeout=WHOLE_PROCESS)
    assert (process.returncode, err) == (130, "")
    newest = server.get("/context?limit=1")["contexts"][0]
    assert newest["state"] == "idle"


@proves("CLI-1")
def test_a_run_uses_the_server_that_is_already_there(
    attached: CommandLine, server: ServeProcess, model: ScriptedModel
) -> None:
    model.replies += ["Hello."]
    done = attached.type("run", "Hello", "--json")
    chat = json.loads(done.stdout.splitlines()[-1])["context_id"]
    assert done.returncode == 0
    assert server.get(f"/context/{chat}")["state"] == "idle"


def test_a_second_server_on_the_same_folder_is_refused_by_name(attached: CommandLine, server: ServeProcess) -> None:
    second = attached.type("serve", "--port", "0")
    assert second.returncode == 1
    assert server.url in second.stderr and f"pid {server.process.pid}" in second.stderr
    assert "Traceback" not in second.stderr


def test_a_port_that_is_taken_is_named_with_the_way_out(cli: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = cli.type("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert done.stderr.startswith("anycowork: Port ") and "is in use by another program" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("host", ["203.0.113.9", "no-such-host.invalid"])
def test_an_address_of_another_machine_is_named_with_the_way_out(cli: CommandLine, host: str) -> None:
    done = cli.type("serve", "--host", host, "--token", "t", "--port", "0")
    assert done.returncode == 1
    assert f"'{host}' is not an address of this machine" in done.stderr and "--host" in done.stderr


@pytest.mark.parametrize(("folder", "told"), [("missing", "Create it first"), ("/", "whole file system")])
def test_a_folder_that_cannot_be_a_workspace_is_a_usage_error(cli: CommandLine, folder: str, told: str) -> None:
    done = cli.type("serve", "--workspace", folder, "--port", "0")
    assert done.returncode == 2
    assert told in done.stderr


def test_a_slip_in_the_settings_is_told_when_the_server_starts(cli: CommandLine) -> None:
    cli.data.mkdir()
    (cli.data / "config.toml").write_text("max_stepz = 3\n")
    with cli.serving() as server:
        server.process.terminate()
        assert "Did you mean 'max_steps'?" in server.process.communicate(timeout=WHOLE_PROCESS)[1]


@proves("SEC-2", "OPS-2")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_server_s_log_never_holds_the_token_and_it_ends_cleanly(cli: CommandLine, number: signal.Signals) -> None:
    with _hearing_hang_ups(signal.SIG_DFL), cli.serving("--workspace", str(cli.workspace)) as server:
        server.process.send_signal(number)
        out, err = server.process.communicate(timeout=WHOLE_PROCESS)
    assert server.process.returncode == 0
    assert server.token not in server.banner + out + err
    assert str(cli.workspace) in server.banner and "Sandbox" in server.banner
    assert not (cli.data / "server.json").exists()


@proves("OPS-2")
def test_a_server_started_with_nohup_outlives_its_terminal(cli: CommandLine) -> None:
    with _hearing_hang_ups(signal.SIG_IGN), cli.serving() as server:
        server.process.send_signal(signal.SIGHUP)
        assert server.get("/healthz")["status"] == "ok"


@contextmanager
def _hearing_hang_ups(how: signal.Handlers) -> Iterator[None]:
    """What is started now inherits it, however the tests themselves were started."""
    before = signal.signal(signal.SIGHUP, how)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@proves("CLI-1", "NEW-1/3")
def test_without_any_model_the_guide_answers(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    for name in ("notes.txt", "README.md", "app.py"):
        (cli.workspace / name).write_text("x")
    done = cli.type("run", "list the files")
    assert done.returncode == 0
    assert "→ list_directory" in done.stderr
    assert "These are the files" in done.stdout and "notes.txt" in done.stdout and "app.py" in done.stdout
