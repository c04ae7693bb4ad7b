"""Commands of a person who may not register folders, as they type them."""

from pathlib import Path

from support.cli_process import CommandLine, ServeProcess
from support.scripted_model import ScriptedModel
from support.spec import proves

Shared = tuple[CommandLine, ServeProcess]


@proves("OPS-3/2")
def test_a_member_runs_a_request_in_a_registered_folder_and_in_no_other(
    shared: Shared, models: ScriptedModel, tmp_path: Path
) -> None:
    cli, server = shared
    models.replies[:] = ["Hello."]
    fay = server.post("/people", {"name": "Fay", "access": "member"})["token"]
    assert "Hello." in cli.type("run", "Hello?", ANYCOWORK_TOKEN=fay).stdout
    elsewhere = cli.type("run", "Hello?", "--workspace", str(tmp_path), ANYCOWORK_TOKEN=fay)
    assert elsewhere.returncode == 2 and "not inside a registered folder" in elsewhere.stderr
