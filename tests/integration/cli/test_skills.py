"""`anycowork skills …` with plugins: what is added, shown, and said of what was not imported."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from anycowork.cli.skills import app
from support.plugins import put_marketplace, put_plugin
from support.spec import proves

HOOKS = {"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "exit 0"}]}]}


@proves("SKL-2/1")
def test_a_marketplace_is_checked_added_trusted_and_removed(
    tmp_path: Path, type_command: Callable[..., tuple[int, str]]
) -> None:
    far = {"name": "far", "source": {"source": "github", "repo": "ada/far"}}
    shop = put_marketplace(tmp_path / "shop", {"name": "notes", "source": "./notes"}, far)
    put_plugin(shop / "notes", files={"hooks/hooks.json": json.dumps({"hooks": HOOKS}), "agents/boss.md": "Rules."})
    code, said = type_command(app, "check", str(shop))
    assert code == 1 and "notes: notes:sort, notes:commit" in said and "github: ada/far" in said
    code, said = type_command(app, "add", str(shop), "notes")
    assert code == 0 and "hooks: not trusted" in said and "not imported: agents" in said and "far" not in said
    code, said = type_command(app, "trust", "notes")
    digits = re.findall(r"--hash (\w+)", said)
    assert code == 0 and "--- hooks.json" in said and len(digits) == 1
    assert "hooks: trusted" in type_command(app, "trust", "notes", "--hash", digits[0])[1]
    assert type_command(app, "remove", "notes")[0] == 0
    assert not [*(tmp_path / "data/agent-plugins").iterdir()]
