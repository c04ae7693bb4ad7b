"""Files that editors, shells, CI machines and agents act on without being asked: known by name, at any depth. Pure."""

from collections.abc import Sequence
from itertools import pairwise

_STEERING_FOLDERS = frozenset(
    {
        ".anycowork",
        ".vscode",
        ".idea",
        ".husky",
        ".devcontainer",
        ".circleci",
        ".buildkite",
        ".claude",
        ".cursor",
        ".codex",
        ".gemini",
        ".windsurf",
        ".clinerules",
    }
)
_STEERING_FILES = frozenset(
    {
        ".mcp.json",
        ".envrc",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        ".gitlab-ci.yml",
        ".travis.yml",
        ".drone.yml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "jenkinsfile",
        "agents.md",
        "claude.md",
        "gemini.md",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
        "copilot-instructions.md",
    }
)
_STEERING_PAIRS = frozenset({(".github", "workflows"), (".github", "actions"), (".gitea", "workflows")})


def steers(parts: Sequence[str]) -> bool:
    """Whether changing this path changes what others do. Such a file is named by whoever allows it, or asked for."""
    folded = tuple(part.casefold() for part in parts)
    return (
        any(part in _STEERING_FOLDERS for part in folded)
        or (bool(folded) and folded[-1] in _STEERING_FILES)
        or any(pair in _STEERING_PAIRS for pair in pairwise(folded))
    )


def path_steers(path: str) -> bool:
    return steers(path.strip("/").split("/"))
