"""Plugins and marketplaces as others write them, put where a person may name them."""

import json
from pathlib import Path
from typing import Any

from support.skills import skill_text

COMMAND = (
    "---\ndescription: Writes a commit.\nallowed-tools: Bash(git add:*), Bash(git commit:*)\n---\nCommit $ARGUMENTS.\n"
)


def put_plugin(folder: Path, name: str = "notes", files: dict[str, str] | None = None, **fields: Any) -> Path:
    """Writes a plugin with one skill and one command, and with these files."""
    usual = {"skills/sort/SKILL.md": skill_text("sort"), "commands/commit.md": COMMAND}
    manifest = {".claude-plugin/plugin.json": json.dumps({"name": name, **fields})}
    for path, text in {**manifest, **usual, **(files or {})}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def put_marketplace(folder: Path, *entries: Any, name: str = "shop", **fields: Any) -> Path:
    """Writes a marketplace that lists these."""
    (folder / ".claude-plugin").mkdir(parents=True, exist_ok=True)
    content = {"name": name, "owner": {"name": "Ada"}, "plugins": [*entries], **fields}
    (folder / ".claude-plugin/marketplace.json").write_text(json.dumps(content))
    return folder
