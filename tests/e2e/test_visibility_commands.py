"""`anycowork chats visibility` and `anycowork workspaces visibility` and `check`, as people with tokens of their own type them."""

import json
from pathlib import Path

from support.cli_process import CommandLine, ServeProcess
from support.scripted_model import ScriptedModel
from support.spec import proves

Shared = tuple[CommandLine, ServeProcess]


def added(server: ServeProcess, name: str, groups: list[str]) -> str:
    """Adds an admin and returns their token."""
    token: str = server.post("/people", {"name": name, "access": "admin", "groups": groups})["token"]
    return token


@proves("OPS-6/1", "OPS-6/2")
def test_who_sees_a_chat_and_a_workspace_is_said_and_changed_and_what_is_hidden_is_not_there(
    shared: Shared, models: ScriptedModel
) -> None:
    cli, server = shared
    models.replies[:] = ["Hello."]
    ada, ben = added(server, "Ada", ["design"]), added(server, "Ben", ["sales"])
    assert cli.type("run", "Hello?", ANYCOWORK_TOKEN=ada).returncode == 0
    [chat] = json.loads(cli.type("chats", "--json", ANYCOWORK_TOKEN=ada).stdout)["contexts"]
    assert "[Only its owner]" in cli.type("chats", ANYCOWORK_TOKEN=ada).stdout
    words = ("chats", "visibility", chat["id"])
    assert cli.type(*words, ANYCOWORK_TOKEN=ada).stdout == "Who can see it: Only its owner\n"

    hidden = cli.type(*words, "everyone", ANYCOWORK_TOKEN=ben)
    missing = cli.type("chats", "visibility", "0" * len(chat["id"]), "everyone", ANYCOWORK_TOKEN=ben)
    assert hidden.returncode == missing.returncode == 2
    assert hidden.stderr.replace(chat["id"], "ID") == missing.stderr.replace("0" * len(chat["id"]), "ID")
    assert chat["id"] not in cli.type("chats", ANYCOWORK_TOKEN=ben).stdout

    assert "no visibility" in cli.type(*words, "design", ANYCOWORK_TOKEN=ada).stderr
    assert cli.type(*words, "group:design", ANYCOWORK_TOKEN=ada).stdout == "Who can see it: The group design\n"
    changed = json.loads(cli.type(*words, "everyone", "--json", ANYCOWORK_TOKEN=ada).stdout)
    assert changed == {"id": chat["id"], "visibility": "everyone", "owner": chat["owner"]}
    refused = cli.type(*words, "private", ANYCOWORK_TOKEN=ben)
    assert refused.returncode == 1 and "Only the owner of this chat" in refused.stderr


@proves("OPS-6/1", "OPS-6/2")
def test_a_hidden_workspace_is_to_the_command_line_as_one_that_nobody_registered(
    shared: Shared, tmp_path: Path
) -> None:
    cli, server = shared
    eve, dan = added(server, "Eve", ["design"]), added(server, "Dan", [])
    team, nowhere = tmp_path / "team", tmp_path / "nowhere"
    team.mkdir()
    server.post("/workspaces", {"root": str(team)})
    words = ("workspaces", "visibility", str(team))
    assert cli.type(*words, "group:design").stdout == "Who can see it: The group design\n"
    assert f"{team}  [The group design]" in cli.type("workspaces", ANYCOWORK_TOKEN=eve).stdout
    assert str(team) not in cli.type("workspaces", ANYCOWORK_TOKEN=dan).stdout
    hidden = cli.type(*words, "everyone", ANYCOWORK_TOKEN=dan)
    missing = cli.type("workspaces", "visibility", str(nowhere), "everyone", ANYCOWORK_TOKEN=dan)
    assert hidden.returncode == missing.returncode == 2
    assert hidden.stderr.replace(str(team), "DIR") == missing.stderr.replace(str(nowhere), "DIR")
    refused = cli.type(*words, "everyone", ANYCOWORK_TOKEN=eve)
    assert refused.returncode == 1 and "Only the owner of this workspace" in refused.stderr
    assert json.loads(cli.type(*words, "--json").stdout)["visibility"] == "group:design"


def test_the_check_of_a_workspace_is_said_set_and_taken_back(shared: Shared, tmp_path: Path) -> None:
    cli, server = shared
    viewer: str = server.post("/people", {"name": "Ida", "access": "viewer", "groups": []})["token"]
    (folder := tmp_path / "checked").mkdir()
    server.post("/workspaces", {"root": str(folder)})
    words = ("workspaces", "check", str(folder))
    assert cli.type(*words).stdout == "Check: None is set: the tests that are found in the folder are run.\n"
    assert cli.type(*words, "pytest -q tests/unit").stdout == "Check: pytest -q tests/unit\n"
    assert json.loads(cli.type(*words, "--json").stdout)["check"] == "pytest -q tests/unit"
    refused = cli.type(*words, "true", ANYCOWORK_TOKEN=viewer)
    assert refused.returncode == 1 and refused.stdout == ""
    assert cli.type(*words).stdout == "Check: pytest -q tests/unit\n"
    assert "None is set" in cli.type(*words, "").stdout
    assert cli.type("workspaces", "check", str(tmp_path / "nowhere"), "true").returncode == 2
