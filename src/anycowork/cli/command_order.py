"""The order in which `--help` lists the commands: what a newcomer needs first stands first."""

from typing import Any

from typer.core import TyperGroup

COMMAND_ORDER = (
    *("serve", "open", "chat", "run"),
    *("chats", "search", "export", "import"),
    *("jobs", "agents", "workflow", "role", "instructions"),
    *("model", "mcp", "acp"),
    *("doctor", "usage", "people", "audit", "database", "worker"),
    *("version", "help"),
)


class OrderedCommands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # Any: typer does not export what it passes on
        """Return the commands in our order; a new one that has no place yet comes last."""
        return sorted(
            super().list_commands(ctx),
            key=lambda name: COMMAND_ORDER.index(name) if name in COMMAND_ORDER else len(COMMAND_ORDER),
        )
