"""Path patterns, git-style from the workspace's root. Used by rules and by the grants of an approved plan. Pure."""

import re
from functools import lru_cache

from anycowork.domain.errors import Invalid

_WILD = re.compile(r"[*?]")


def path_matches(pattern: str, path: str) -> bool:
    """`src/` and `src/**` are all below, `*` stays in its folder. `.` and the like name nothing."""
    regex = path_regex(pattern)
    return regex is not None and re.fullmatch(regex, plain(path), re.DOTALL) is not None


@lru_cache(maxsize=4096)
def path_regex(pattern: str) -> str | None:
    """What the whole of a plain path must match, without capturing groups; None if the pattern names nothing."""
    wanted = plain(pattern.strip())
    if wanted in ("", ".", ".."):
        return None
    if wanted.endswith("/"):
        wanted += "**"
    return _as_regex(wanted)


def plain(path: str) -> str:
    return path.removeprefix("./").lstrip("/")


def is_literal(pattern: str) -> bool:
    return not pattern.endswith("/") and _WILD.search(pattern) is None


def may_lie_below(pattern: str, folder: str) -> bool:
    """Whether something inside this folder could match: true more often than not, never false wrongly."""
    fixed = _WILD.split(plain(pattern.strip()), maxsplit=1)[0]
    inside = plain(folder).rstrip("/")
    return not inside or fixed.startswith(f"{inside}/") or (f"{inside}/".startswith(fixed) and not is_literal(pattern))


def require_path_pattern(pattern: str) -> None:
    """Raises: Invalid."""
    parts = pattern.removeprefix("/").split("/")
    if pattern.startswith("!"):
        raise Invalid("A pattern cannot say 'not' with '!'; write a second rule with another effect.", param="resource")
    if ".." in parts or "." in parts:
        raise Invalid(
            f"'{pattern[:80]}' holds '.' or '..' as a folder; paths are compared from the workspace's root, as in '/src/*'.",
            param="resource",
        )
    if "" in parts[:-1] or "\n" in pattern or path_regex(pattern) is None:
        raise Invalid(f"'{pattern[:80]}' is no path pattern; write it like '/src/*' or '/src/**'.", param="resource")


def _as_regex(pattern: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meaning = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    return "".join(meaning.get(part, re.escape(part)) for part in parts)
