"""`anycowork chats`, `search` and `export`, as people type them; what is exported is imported again elsewhere."""

import json
from pathlib import Path

from support.cli_process import CommandLine, ServeProcess
from support.scripted_model import ScriptedModel
from support.spec import proves


@proves("UI-9", "OPS-2", "OPS-1/7")
def test_a_chat_is_found_exported_and_imported_from_the_command_line(
    shared: tuple[CommandLine, ServeProcess], models: ScriptedModel, tmp_path: Path
) -> None:
    cli = shared[0]
    models.replies[:] = ["The otter swims."]
    assert cli.type("run", "What does the animal do?").returncode == 0
    found = cli.type("search", "otter", "--json")
    assert found.returncode == 0, found.stderr
    [result] = json.loads(found.stdout)["results"]
    assert "The otter swims." in cli.type("search", "otter").stdout
    assert cli.type("search", "no-such-word").returncode == 1
    used = json.loads(cli.type("usage", "--by", "chat", "--json").stdout)["rows"]
    assert result["context_id"] in {row["key"] for row in used}
    assert "actor" in cli.type("usage", "--by", "role").stdout
    assert cli.type("usage", "--since", "yesterday").returncode == 2
    listed = [line for line in cli.type("chats").stdout.splitlines() if line.startswith(result["context_id"])]
    assert len(listed) == 1 and "What does the animal do?" in listed[0] and "  idle " in listed[0]
    assert "No archived chats." in cli.type("chats", "--archived").stderr
    file = tmp_path / "chat.json"
    done = cli.type("export", result["context_id"], "--format", "json", "--output", str(file))
    assert done.returncode == 0, done.stderr
    assert "The otter swims." in cli.type("export", result["context_id"]).stdout
    missing = cli.type("export", "nobody")
    assert missing.returncode == 2 and "`anycowork chats` lists them." in missing.stderr
    (tmp_path / "other").mkdir()
    elsewhere = CommandLine(tmp_path / "other")
    imported = elsewhere.type("import", str(file))
    assert imported.returncode == 0 and "1 chat with 2 messages" in imported.stdout, imported.stderr
