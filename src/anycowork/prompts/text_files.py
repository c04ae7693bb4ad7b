"""Reads the prompt texts in `texts/` by name, on first use."""

from functools import cache
from importlib.resources import files

from anycowork.domain.roles import RoleDefinition


def role_text(role: RoleDefinition) -> str:
    """Returns the role's prompt. A built-in role names a file in `texts/`; a custom role contains the text itself."""
    return prose(role.prompt) if role.built_in else role.prompt.strip()


@cache
def prose(name: str) -> str:
    """The text of `texts/<name>.md`, without the blank lines around it. Raises: FileNotFoundError."""
    return (
        files("anycowork.prompts")
        .joinpath("texts", *f"{name.removesuffix('.md')}.md".split("/"))
        .read_text("utf-8")
        .strip()
    )
