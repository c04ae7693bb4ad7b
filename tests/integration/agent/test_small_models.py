"""How a model is asked whose decoder is held to a schema, and how any model is asked that goes round in a circle."""

import json
from pathlib import Path
from typing import Any  # requests are JSON that tests look into freely

import pytest

from anycowork.config.settings import ProviderEntry
from model.run import arguments, measured
from support.live_server import live_server
from support.scripted_model import ScriptedModel, call
from support.spec import proves

ANSWER = json.dumps({"answer": "It is 1."})


def small(url: str) -> dict[str, Any]:
    entry = ProviderEntry(name="small", base_url=url, models=("m",), calling="schema", brief=True, context_tokens=8_192)
    return {"providers": (entry,), "model": "small/m"}


def tools_allowed(request: dict[str, Any]) -> set[str]:
    branches = request["response_format"]["json_schema"]["schema"]["anyOf"]
    return {branch["properties"]["tool"]["const"] for branch in branches if "tool" in branch["properties"]}


async def test_a_small_model_gets_a_short_prompt_and_a_schema_and_its_answer_is_plain_words(tmp_path: Path) -> None:
    replies = [call("read_file", path="a.txt"), ANSWER]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files={"a.txt": "1\n"}, **small(model.base_url)) as client,
    ):
        chat = await client.chat()
        await chat.send("what is in a.txt?")
        assert (await chat.last())["content"] == "It is 1."
    first, second = model.requests
    system = first["messages"][0]["content"]
    assert len(system) < 4_000 and "ACTOR" in system
    assert tools_allowed(first) >= {"read_file", "execute_command"}
    # The cache of a small model holds as long as each request begins with the bytes of the last one.
    assert second["messages"][: len(first["messages"])] == first["messages"]


async def test_a_planner_cannot_even_say_a_call_that_its_role_does_not_grant(tmp_path: Path) -> None:
    async with ScriptedModel([ANSWER]) as model, live_server(tmp_path, **small(model.base_url)) as client:
        await (await client.chat(role="planner")).send("hello")
    assert not tools_allowed(model.requests[0]) & {"execute_command", "create_file", "update_file", "delete_file"}


@proves("LOOP-10/3")
async def test_the_same_call_twice_changes_the_next_request_once(tmp_path: Path) -> None:
    replies = [call("read_file", path="gone.txt")] * 2 + [call("list_directory", path="."), ANSWER]
    async with ScriptedModel(replies) as model, live_server(tmp_path, **small(model.base_url)) as client:
        await (await client.chat()).send("read gone.txt")
    assert ["read_file" in tools_allowed(request) for request in model.requests] == [True, True, False, True]
    assert [request["temperature"] > 0 for request in model.requests] == [False, False, True, False]


async def test_a_model_that_is_told_in_words_is_asked_warmer_once_and_without_a_schema(tmp_path: Path) -> None:
    replies = [call("read_file", path="gone.txt")] * 2 + ["There is no such file."]
    async with live_server(tmp_path, replies=replies) as client:
        await (await client.chat()).send("read gone.txt")
        assert ["temperature" in request for request in client.model.requests] == [False, False, True]
        assert not any("response_format" in request for request in client.model.requests)


async def test_a_small_model_is_shown_short_results_and_what_is_stored_is_whole(tmp_path: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(2_000))
    replies = [call("read_file", path="long.txt"), ANSWER]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files={"long.txt": long}, **small(model.base_url)) as client,
    ):
        chat = await client.chat()
        await chat.send("read long.txt")
        assert len((await chat.of_type("tool_result"))[0]["content"]) >= len(long)
    assert len(model.requests[1]["messages"][-1]["content"]) < 5_000


@proves("LOOP-10")
async def test_a_small_model_that_answers_before_doing_what_was_asked_can_only_do_it(tmp_path: Path) -> None:
    done = json.dumps({"answer": "Created and ran it."})
    replies = [call("read_file", path="a.py"), done, call("execute_command", command="cat a.py"), done]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files={"a.py": "print(1)\n"}, **small(model.base_url)) as client,
    ):
        chat = await client.chat()
        assert (await chat.send("Run a.py."))["state"] == "awaiting_approval"
        await chat.decide()
        assert (await chat.last())["content"] == "Created and ran it."
    assert [len(tools_allowed(request)) for request in model.requests][2] == 1
    assert model.requests[2]["messages"][-1]["content"].endswith("The request was: Run a.py.")


async def test_a_small_model_looks_before_its_first_answer_but_may_return_a_greeting(tmp_path: Path) -> None:
    async with (
        ScriptedModel([call("list_directory", path="."), ANSWER, ANSWER]) as model,
        live_server(tmp_path, **small(model.base_url)) as client,
    ):
        chat = await client.chat()
        await chat.send("What is in this folder?")
        await chat.send("Thank you!")
    may_answer = [
        any("answer" in branch["properties"] for branch in request["response_format"]["json_schema"]["schema"]["anyOf"])
        for request in model.requests
    ]
    assert may_answer == [False, True, True]


@proves("LOOP-10/2")
async def test_a_small_model_does_not_rest_on_a_failed_step(tmp_path: Path) -> None:
    gave_up = json.dumps({"answer": "I do not see it."})
    replies = [call("read_file", path="b.txt"), gave_up, call("read_file", path="old/b.txt"), ANSWER]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files={"old/b.txt": "1\n"}, **small(model.base_url)) as client,
    ):
        chat = await client.chat()
        await chat.send("What does b.txt say?")
        assert (await chat.last())["content"] == "It is 1."
    assert "Did you mean 'old/b.txt'?" in model.requests[1]["messages"][-1]["content"]
    assert "failed (read_file)" in model.requests[2]["messages"][-1]["content"]


async def test_a_small_model_that_is_asked_a_question_cannot_even_say_a_call_that_changes_a_file(
    tmp_path: Path,
) -> None:
    async with (
        ScriptedModel([call("read_file", path="a.txt"), ANSWER]) as model,
        live_server(tmp_path, files={"a.txt": "1\n"}, **small(model.base_url)) as client,
    ):
        await (await client.chat()).send("what is in that file?")
    changers = {"create_file", "update_file", "move_file", "delete_file"}
    assert not any(tools_allowed(request) & changers for request in model.requests)
    assert all("read_file" in tools_allowed(request) for request in model.requests)


@proves("EVD-2/4")
@pytest.mark.parametrize("question", ["¿Cuántas líneas hay en a.txt?", "Steht in a.txt eine Zahl?"])
async def test_a_command_of_a_small_model_that_changes_something_on_a_mere_question_asks(
    tmp_path: Path, question: str
) -> None:
    run = call("execute_command", command="wc -l a.txt > count.txt")
    async with (
        ScriptedModel([run, ANSWER, ANSWER]) as model,
        live_server(tmp_path, files={"a.txt": "1\n"}, **small(model.base_url)) as client,
    ):
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
        await chat.send(question)
        (approval,) = await chat.approvals()
        assert "'count.txt' is to stay as it is in this turn. The request is a question." in approval["reasons"]
        await chat.decide("deny")
        assert not (client.workspace / "count.txt").exists()


async def test_a_small_model_is_shown_the_files_that_a_request_names(tmp_path: Path) -> None:
    files = {"a.txt": "1\n", "b.txt": "2\n"}
    async with ScriptedModel([ANSWER]) as model, live_server(tmp_path, files=files, **small(model.base_url)) as client:
        chat = await client.chat()
        await chat.send("Is a.txt like gone.txt, and which is newer?")
        assert [one["payload"]["parameters"] for one in await chat.of_type("tool_call")] == [{"path": "a.txt"}]
    assert "1\n" in model.requests[0]["messages"][-1]["content"]


async def test_a_small_model_is_shown_the_tests_that_its_work_must_pass(tmp_path: Path) -> None:
    files = {"shop.py": "def total():\n    pass\n", "test_shop.py": "from shop import total\n"}
    request = "Implement shop.py. `python3 -m pytest test_shop.py::test_total gone_test.py` must pass."
    async with ScriptedModel([ANSWER]) as model, live_server(tmp_path, files=files, **small(model.base_url)) as client:
        chat = await client.chat()
        await chat.send(request)
        brought = [m["payload"]["parameters"] for m in await chat.of_type("tool_call")]
        assert brought[:2] == [{"path": "shop.py"}, {"path": "test_shop.py"}]
    assert "from shop import total" in model.requests[0]["messages"][-1]["content"]


@proves("LOOP-10")
async def test_a_small_model_writes_first_where_the_server_runs_the_check(tmp_path: Path) -> None:
    files = {"shop.py": "def total():\n    pass\n", "test_shop.py": "from shop import total\n"}
    request = "Implement shop.py. `python3 -m pytest test_shop.py` must pass."
    tries = [call("delete_file", path=f"gone{number}.py") for number in range(3)]
    async with (
        ScriptedModel([*tries, ANSWER]) as model,
        live_server(tmp_path, files=files, **small(model.base_url)) as client,
    ):
        await (await client.chat()).send(request)
    changers = {"create_file", "update_file", "move_file", "delete_file"}
    assert [tools_allowed(sent) <= changers for sent in model.requests[:4]] == [True, True, True, False]
    assert "execute_command" in tools_allowed(model.requests[3]), "after three tries of its own it may do anything"


async def test_a_large_model_asks_for_the_files_that_it_wants(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Yes."], files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        await chat.send("Is a.txt like gone.txt?")
        assert await chat.of_type("tool_call") == []


async def test_a_small_planner_that_is_asked_a_question_cannot_plan(tmp_path: Path) -> None:
    async with ScriptedModel([ANSWER, ANSWER]) as model, live_server(tmp_path, **small(model.base_url)) as client:
        await (await client.chat(role="planner")).send("what sets it?")
        await (await client.chat(role="planner")).send("look into it")
    asked, planned = (str(request["response_format"]) for request in model.requests)
    assert "'const': 'plan'" not in asked and "'const': 'plan'" in planned


async def test_a_small_planner_that_is_asked_to_plan_is_held_to_a_plan(tmp_path: Path) -> None:
    plan = json.dumps({"type": "plan", "goal": "g", "steps": [{"step_number": 1, "action": "Rename it"}]})
    async with ScriptedModel([ANSWER, plan]) as model, live_server(tmp_path, **small(model.base_url)) as client:
        chat = await client.chat(role="planner")
        await chat.send("Plan it.")
        assert [one["payload"]["goal"] for one in await chat.of_type("plan")] == ["g"]
    _, pushed = (json.dumps(request["response_format"]) for request in model.requests)
    assert '"const": "plan"' in pushed and "read_file" not in pushed


def forms_of_update(request: dict[str, Any]) -> list[set[str]]:
    branches = request["response_format"]["json_schema"]["schema"]["anyOf"]
    updates = [b for b in branches if b["properties"].get("tool") == {"const": "update_file"}]
    return [set(branch["properties"]["parameters"]["properties"]) for branch in updates]


def may_answer(request: dict[str, Any]) -> bool:
    branches = request["response_format"]["json_schema"]["schema"]["anyOf"]
    return any("answer" in branch["properties"] for branch in branches)


@proves("LOOP-10")
@pytest.mark.parametrize(("lines", "form"), [(5, "content"), (500, "edits")])
async def test_a_small_model_rewrites_a_short_file_and_changes_pieces_of_a_long_one(
    tmp_path: Path, lines: int, form: str
) -> None:
    files = {"a.txt": "".join(f"line {number}\n" for number in range(lines))}
    async with (
        ScriptedModel([ANSWER] * 3) as model,
        live_server(tmp_path, files=files, **small(model.base_url)) as client,
    ):
        await (await client.chat()).send("Change line 3 of a.txt to three.")
    assert forms_of_update(model.requests[0]) == [{"path", form}]


def paths_of_update(request: dict[str, Any]) -> dict[str, object]:
    branches = request["response_format"]["json_schema"]["schema"]["anyOf"]
    updates = [b["properties"] for b in branches if b["properties"].get("tool") == {"const": "update_file"}]
    forms = [update["parameters"]["properties"] for update in updates]
    return {name: form["path"].get("enum") for form in forms for name in form if name != "path"}


@proves("LOOP-10")
async def test_a_small_model_rewrites_the_short_one_of_two_files_and_changes_pieces_of_the_long_one(
    tmp_path: Path,
) -> None:
    files = {"a.txt": "one\n", "long.txt": "".join(f"line {number}\n" for number in range(500))}
    async with (
        ScriptedModel([ANSWER] * 3) as model,
        live_server(tmp_path, files=files, **small(model.base_url)) as client,
    ):
        await (await client.chat()).send("Change the line in a.txt to the third one of long.txt.")
    assert forms_of_update(model.requests[0]) == [{"path", "edits"}, {"path", "content"}]
    updates = paths_of_update(model.requests[0])
    assert updates == {"edits": ["long.txt"], "content": None}, "a file that it does not know yet stays in reach"
    assert "read_file" not in tools_allowed(model.requests[0]), "both were shown to it"


@proves("LOOP-10")
async def test_the_files_that_a_small_model_was_brought_are_no_tries_of_its_own(tmp_path: Path) -> None:
    files = dict.fromkeys(("a.txt", "b.txt", "c.txt"), "1\n")
    replies = [call("update_file", path="a.txt", content="1\n"), ANSWER, ANSWER, ANSWER]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files=files, **small(model.base_url)) as client,
    ):
        await (await client.chat()).send("Change a.txt, b.txt and c.txt.")
    assert [may_answer(request) for request in model.requests[:2]] == [False, False]


@proves("LOOP-10")
async def test_a_small_model_may_answer_once_the_action_is_done_or_was_tried_often_enough(tmp_path: Path) -> None:
    tries = [call("update_file", path="a.txt", content="1\n"), call("read_file", path="a.txt")]
    tries += [call("grep", pattern="x"), ANSWER]
    async with (
        ScriptedModel(tries) as model,
        live_server(tmp_path, files={"a.txt": "1\n"}, **small(model.base_url)) as client,
    ):
        await (await client.chat()).send("Change a.txt.")
    assert [may_answer(request) for request in model.requests[:4]] == [False, False, False, True]


async def test_what_a_small_model_would_lose_of_a_file_is_kept(tmp_path: Path) -> None:
    css = "body {\n  color: red;\n  margin: 0;\n}\n\n.card {\n  color: red;\n  padding: 4px;\n}\n"
    blue = css.replace(".card {\n  color: red", ".card {\n  color: blue")
    replies = [
        call("update_file", path="a.css", content=".card { color: blue; }"),
        call("update_file", path="a.css", content=blue.removesuffix("\n")),
        ANSWER,
    ]
    async with (
        ScriptedModel(replies) as model,
        live_server(tmp_path, files={"a.css": css}, **small(model.base_url)) as client,
    ):
        chat = await client.chat()
        await chat.send("In a.css make the color of .card blue.")
        assert "lacks much" in (await chat.of_type("tool_result"))[1]["content"]
        await chat.decide()
        assert (client.workspace / "a.css").read_text() == blue


@proves("LOOP-10")
async def test_a_file_is_not_replaced_by_a_text_that_leaves_lines_out(tmp_path: Path) -> None:
    replies = [call("read_file", path="a.py"), call("update_file", path="a.py", content="[...]\n\nx = 2\n"), "I see."]
    async with live_server(tmp_path, replies=replies, files={"a.py": "y = 1\n"}) as client:
        chat = await client.chat()
        await chat.send("add x")
        assert (
            "line 1 of 'content' stands for lines that are left out"
            in (await chat.of_type("tool_result"))[1]["content"]
        )
        assert (client.workspace / "a.py").read_text() == "y = 1\n"


async def test_a_measurement_with_a_mechanism_switched_off_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    answer = json.dumps({"answer": "In lib/dates.py."})
    chosen = ["--half", "tune", "--only", "where-is-it-defined", "--models", str(tmp_path)]
    async with ScriptedModel([answer, call("search_symbol", name="parse_date"), answer]) as model:
        chosen += ["--url", model.base_url, "--model", "m", "--results", str(tmp_path / "results.jsonl")]
        first = await measured(arguments([*chosen, "--ways", "bare"]))
        both = await measured(arguments([*chosen, "--ways", "bare,without-objections"]))
        assert len(model.requests) == 3
    assert [(result.way, result.verdict) for result in both] == [("bare", "passed"), ("without-objections", "passed")]
    assert both[0].seconds == first[0].seconds
