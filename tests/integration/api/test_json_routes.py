"""The JSON routes: statuses, fields, and what is refused."""

import pytest

from support.spec import proves


async def new_chat(client, **wanted):
    answer = await client.post("/context", wanted)
    assert answer.status == 201, answer.body
    return answer.json()


async def test_a_new_chat_has_every_field(client, workspace):
    chat = await new_chat(client, title="Tidy", workspace=str(workspace), agent_role="plan")
    assert chat["title"] == "Tidy" and chat["workspace"] == str(workspace) and chat["state"] == "idle"
    assert chat["config"] == {
        "model_id": "scripted/scripted",
        "mode": "plan",
        "system_prompt_id": None,
        "agent_role": "planner",
        "autonomy": "ask",
    }
    assert set(chat) >= {"id", "last_seq", "created_at", "updated_at"}
    shown = (await client.get(f"/context/{chat['id']}")).json()
    nothing = {"waiting": None, "continuable": None, "queue": [], "steps_left": None}
    more = {"waiting_for": {"approvals": [], "question": None, "questions": []}, **nothing}
    assert shown == {**chat, **more}


@proves("ROL-3/1")
async def test_a_chat_opens_as_actor_in_the_default_workspace_unless_asked_otherwise(client, workspace):
    answer = await client.post("/context")
    assert (answer.status, answer.json()["workspace"]) == (201, str(workspace))
    assert answer.json()["config"]["agent_role"] == "actor"


async def test_a_workspace_is_taken_off_the_list_and_its_chats_stay(client, workspace, tmp_path):
    (other := tmp_path / "other").mkdir()
    added = (await client.post("/workspaces", {"root": str(other)})).json()
    listed = {one["root"]: one["id"] for one in (await client.get("/workspaces")).json()["workspaces"]}
    assert listed[str(other)] == added["id"] and len(set(listed.values())) == len(listed) == 2
    chat = await new_chat(client, workspace=str(other))
    assert (await client.ask("DELETE", f"/workspaces/{added['id']}")).status == 204
    assert [one["root"] for one in (await client.get("/workspaces")).json()["workspaces"]] == [str(workspace)]
    assert (await client.get(f"/context/{chat['id']}")).status == 200 and other.is_dir()
    assert (await client.post("/context", {"workspace": str(other)})).status == 422
    assert (await client.ask("DELETE", f"/workspaces/{added['id']}")).status == 404
    kept = await client.ask("DELETE", f"/workspaces/{listed[str(workspace)]}")
    assert kept.status == 409 and "--workspace" in kept.error["message"]


@proves("ROL-2")
async def test_a_chat_is_opened_in_a_mode_as_in_a_role_but_not_in_two(client):
    assert (await new_chat(client, mode="plan"))["config"]["agent_role"] == "planner"
    assert (await new_chat(client, mode="act", agent_role="actor"))["config"]["agent_role"] == "actor"
    torn = await client.post("/context", {"mode": "plan", "agent_role": "actor"})
    assert (torn.status, torn.error["param"]) == (422, "mode")


@proves("ROL-2/2")
@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("POST", "/context", "agent_role"),
        ("POST", "/context", "mode"),
        ("POST", "/context/{}/mode", "mode"),
        ("PUT", "/context/{}/role", "role"),
    ],
)
@pytest.mark.parametrize("word", ["wizard", "", "w" * 5000, 5, True, ["planner"], {"name": "planner"}])
async def test_an_unknown_role_is_a_422_that_names_the_valid_ones(client, method, path, field, word):
    chat = await new_chat(client)
    answer = await client.ask(method, path.format(chat["id"]), {field: word})
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "unknown_role", field)
    for name in ("planner", "actor", "commander", "designer", "reviewer", "tester"):
        assert name in answer.error["message"]


@pytest.mark.parametrize("wanted", [{"surprise": 1}, {"title": 5}, {"agent_role": 7}, [], "x", {"title": ""}])
async def test_what_does_not_fit_is_a_422(client, wanted):
    answer = await client.post("/context", wanted)
    assert (answer.status, answer.error["type"]) == (422, "invalid_request_error")


@pytest.mark.parametrize(
    ("path", "wanted", "sentence"),
    [
        ("/context", {"title": ""}, "'title' should have at least 1 character."),
        ("/context", {"title": 5}, "'title' should be a valid string."),
        ("/context/x/approvals", {"decisions": []}, "'decisions' should have at least 1 item."),
        ("/v1/system-prompts", {"name": " ", "content": "x"}, "'name' must not be empty."),
        ("/context/x/messages", {"content": " "}, "'content' must not be empty."),
        (
            "/context/x/plans",
            {"plan": {"goal": "g", "steps": [{"action": 5}]}},
            "This is not a valid plan: 'steps.0.action' should be a valid string; 'steps' should have at least 1 item.",
        ),
        (
            "/context/x/plans",
            {"plan": {"goal": "g", "steps": [{"action": "a", "dependencies": ["1"]}]}},
            "This is not a valid plan: these tasks wait for each other: 1.",
        ),
    ],
)
async def test_what_does_not_fit_is_told_in_a_sentence_about_the_field(client, path, wanted, sentence):
    assert (await client.post(path, wanted)).error["message"] == sentence


async def test_a_body_without_its_content_type_is_a_422_that_says_so(client):
    answer = await client.post("/context", raw=b'{"title": "x"}', headers={"content-type": "text/plain"})
    assert answer.status == 422 and "Content-Type: application/json" in answer.error["message"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/context/nope", None),
        ("PATCH", "/context/nope", {"title": "x"}),
        ("DELETE", "/context/nope", None),
        ("POST", "/context/nope/stop", None),
        ("POST", "/context/nope/messages", {"content": "x"}),
        ("GET", "/context/nope/messages", None),
        ("GET", "/context/nope/events", None),
        ("GET", "/context/nope/approvals", None),
        ("POST", "/context/nope/approvals", {"decisions": [{"id": "a", "decision": "deny"}]}),
        ("POST", "/context/nope/questions/m/answer", {"value": "x"}),
        ("POST", "/context/nope/plans/m/approve", None),
        ("POST", "/context/nope/plans", {"plan": {"goal": "g", "steps": [{"action": "a"}]}}),
        ("POST", "/context/nope/mode", {"mode": "act"}),
        ("PUT", "/context/nope/role", {"role": "planner"}),
    ],
)
async def test_an_unknown_chat_is_a_404(client, method, path, body):
    answer = await client.ask(method, path, body)
    assert (answer.status, answer.error["code"]) == (404, "chat_not_found")


async def test_unknown_paths_and_methods_are_told_in_the_same_shape(client):
    assert (await client.get("/nowhere")).error["code"] == "route_not_found"
    wrong = await client.put("/roles", {})
    assert (wrong.status, wrong.error["code"], wrong.headers["allow"]) == (405, "method_not_allowed", "GET, HEAD, POST")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/context", "GET, HEAD, POST"),
        ("PUT", "/context/some", "DELETE, GET, HEAD, PATCH"),
        ("GET", "/rules/some", "DELETE, PATCH"),
        ("POST", "/events", "GET"),
        ("HEAD", "/context/some/events", "GET"),
        ("GET", "/v1/embeddings", "POST"),
    ],
)
async def test_a_wrong_method_is_told_every_one_that_the_path_takes(client, method, path, allow):
    answer = await client.ask(method, path)
    assert (answer.status, answer.headers["allow"]) == (405, allow)


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/context", "/roles", "/openapi.json", "/context/nope"])
async def test_head_is_get_without_the_body(client, path):
    whole, head = await client.get(path), await client.ask("HEAD", path)
    assert (head.status, head.headers, head.body) == (whole.status, whole.headers, b"")


async def test_chats_are_listed_newest_first_in_pages(client):
    for title in ("one", "two", "three"):
        await new_chat(client, title=title)
    first = (await client.get("/context?limit=2")).json()
    assert [chat["title"] for chat in first["contexts"]] == ["three", "two"]
    rest = (await client.get(f"/context?limit=2&cursor={first['next']}")).json()
    assert ([chat["title"] for chat in rest["contexts"]], rest["next"]) == (["one"], None)
    assert [chat["title"] for chat in (await client.get("/context?q=TWO")).json()["contexts"]] == ["two"]


async def test_chats_are_listed_by_state(client):
    chat = await new_chat(client, title="resting")
    found = (await client.get("/context?state=idle&state=running")).json()
    assert [listed["id"] for listed in found["contexts"]] == [chat["id"]]
    assert (await client.get("/context?state=awaiting_approval&state=awaiting_answer")).json()["contexts"] == []
    wrong = await client.get("/context?state=asleep")
    assert (wrong.status, wrong.json()["error"]["param"]) == (422, "state.0")


async def test_a_chat_is_changed_and_removed(client):
    chat = await new_chat(client)
    changed = await client.patch(f"/context/{chat['id']}", {"title": "Renamed"})
    assert (changed.status, changed.json()["title"]) == (200, "Renamed")
    assert (await client.patch(f"/context/{chat['id']}", {"state": "idle"})).status == 422
    removed = await client.delete(f"/context/{chat['id']}")
    assert (removed.status, removed.body) == (204, b"")
    assert (await client.get(f"/context/{chat['id']}")).status == 404


async def test_stopping_an_idle_chat_is_no_error(client):
    chat = await new_chat(client)
    answer = await client.post(f"/context/{chat['id']}/stop")
    assert (answer.status, answer.json()) == (200, {"stopped": False})


@proves("SWI-1")
async def test_the_role_is_switched_by_its_old_and_its_full_form(client):
    chat = await new_chat(client)
    full = await client.put(f"/context/{chat['id']}/role", {"role": "planner"})
    assert full.json() == {"id": chat["id"], "old_role": "actor", "new_role": "planner"}
    old = await client.post(f"/context/{chat['id']}/mode", {"mode": "act"})
    assert old.json() == {"id": chat["id"], "old_role": "planner", "new_role": "actor"}


@pytest.mark.parametrize("content", ["", "  \n", None, 5, ["x"], {"type": "text"}])
async def test_a_message_must_say_something(client, content):
    chat = await new_chat(client)
    answer = await client.post(f"/context/{chat['id']}/messages", {"content": content})
    assert (answer.status, answer.error["param"]) == (422, "content")


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "after=garbage", "before=-1"])
async def test_a_page_of_messages_has_bounds(client, query):
    chat = await new_chat(client)
    assert (await client.get(f"/context/{chat['id']}/messages?{query}")).status == 422


@proves("ROL-5/1", "TOOL-1/2")
async def test_roles_are_listed_without_a_word_of_tools(client):
    answer = await client.get("/roles")
    roles = {role["name"]: role for role in answer.json()["roles"]}
    assert set(roles) == {"planner", "actor", "commander", "designer", "reviewer", "tester"}
    assert roles["planner"]["permissions"] == ["read_files"] and roles["commander"]["delegates"] == ["planner", "actor"]
    assert set(roles["planner"]) == {
        "name",
        "colour",
        "icon",
        "tooltip",
        "permissions",
        "delegates",
        "output",
        "built_in",
    }


@pytest.mark.parametrize(
    "decisions",
    [
        [],
        [{"id": "a"}],
        [{"id": "a", "decision": "yes"}],
        [{"id": "a", "decision": "deny"}] * 2,
        [{"id": "a", "decision": True}],
        "allow",
    ],
)
@proves("APR-8/2")
async def test_what_is_not_an_explicit_decision_is_none(client, decisions):
    chat = await new_chat(client)
    answer = await client.post(f"/context/{chat['id']}/approvals", {"decisions": decisions})
    assert answer.status == 422


async def test_plan_that_runs_as_a_job_is_answered_with_the_jobs_id(client):
    chat = await new_chat(client)
    plan = {"goal": "Greet", "steps": [{"action": "Write hello.txt", "paths": ["hello.txt"]}]}
    proposed = await client.post(f"/context/{chat['id']}/plans", {"plan": plan})
    assert proposed.status == 201
    path = f"/context/{chat['id']}/plans/{proposed.json()['message_id']}/approve"
    answer = await client.post(path, {"run": "job"})
    assert answer.status == 202 and list(answer.json()) == ["job_id"]
    job = (await client.get(f"/jobs/{answer.json()['job_id']}")).json()
    assert (job["context_id"], job["request"], len(job["tasks"])) == (chat["id"], "Greet", 1)


@proves("TOOL-3")
async def test_a_root_is_registered_by_either_name_and_bad_ones_are_refused(client, tmp_path):
    for field, folder in (("root", tmp_path / "one"), ("path", tmp_path / "two")):
        folder.mkdir()
        answer = await client.post("/workspaces", {field: str(folder)})
        assert (answer.status, answer.json()["root"]) == (201, str(folder))
    listed = [each["root"] for each in (await client.get("/workspaces")).json()["workspaces"]]
    assert {str(tmp_path / "one"), str(tmp_path / "two")} <= set(listed)
    for root in ("/", "relative", str(tmp_path / "missing"), ""):
        assert (await client.post("/workspaces", {"root": root})).status == 422


@proves("SEC-2")
async def test_settings_are_shown_without_secrets_and_changed_by_name(client, token):
    shown = await client.get("/settings")
    assert shown.status == 200 and token.encode() not in shown.body and shown.json()["token_set"] is True
    changed = await client.put("/settings", {"max_steps": 20})
    assert (changed.status, changed.json()["max_steps"]) == (200, 20)
    assert (await client.put("/settings", {"token": "x"})).status == 422
    assert (await client.put("/settings", {"max_steps": -1})).error["param"] == "max_steps"


async def test_sandbox_paths_hold_at_once_and_a_folder_that_holds_too_much_is_refused(client, tmp_path):
    kit = tmp_path / "kit"
    kit.mkdir()
    changed = await client.put("/settings", {"sandbox_paths": [str(kit)]})
    assert changed.status == 200 and str(kit) in changed.json()["sandbox"]["visible"]
    for wide in ("/", "~", "/proc", "relative", str(tmp_path / "missing")):
        refused = await client.put("/settings", {"sandbox_paths": [wide]})
        assert refused.status == 422 and refused.error["param"] == "sandbox_paths"
    assert (await client.get("/settings")).json()["sandbox_paths"] == [str(kit)]
    removed = await client.put("/settings", {"sandbox_paths": None})
    assert removed.status == 200 and str(kit) not in removed.json()["sandbox"]["visible"]


async def test_providers_are_listed(client):
    answer = await client.get("/providers")
    assert answer.status == 200 and answer.json()["providers"]


@proves("OPS-1/1", "OPS-1/2")
async def test_health_readiness_and_numbers(client, anonymous):
    assert (await anonymous.get("/healthz")).json() == {"status": "ok"}
    assert (await anonymous.get("/readyz")).json() == {"status": "ready"}
    await new_chat(client)
    text = (await client.get("/metrics")).body.decode()
    assert 'anycowork_http_requests_total{method="POST",route="/context",status="201"} 1' in text
    assert "anycowork_chats 1" in text
