"""Path patterns, git-style from the workspace's root. Used by rules and by the grants of an approved plan. Pure."""

import re
from functools import lru_cache

from anycowork.domain.errors import Invalid

_WILD = re.compile(r"[*?]")
_MOST_LOOSE = 2


def path_matches(pattern: str, path: str) -> bool:
    """`src/` and `src/**` are all below, `*` stays in its folder. `.` and the like name nothing, nor does what would take long to try."""
    regex = None if _is_slow(pattern) else path_regex(pattern)
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
    require_quick(pattern)
    if "" in parts[:-1] or "\n" in pattern or path_regex(pattern) is None:
        raise Invalid(f"'{pattern[:80]}' is no path pattern; write it like '/src/*' or '/src/**'.", param="resource")


def require_quick(pattern: str) -> None:
    """Raises: Invalid for one that takes long to compare with a path, whatever else it may mean."""
    if _is_slow(pattern):
        raise Invalid(
            f"'{pattern[:80]}' has '**' within a name and more than {_MOST_LOOSE} wildcards, which takes too long to compare. "
            "Let '**' stand for whole folders, as in '/src/**/*.py'.",
            param="resource",
        )


def _as_regex(pattern: str) -> str:
    """No stretch is tried in more ways than one, so that no name, however it was chosen, makes matching slow.

    Between two `**` stands a fixed number of whole names: the first place where they fit is as good as any later one. The same
    holds within a name for what stands between two `*`.
    """
    if _is_loose(pattern):
        return _as_loose_regex(pattern)
    *names, last = re.sub(r"(?:\*\*/)+", "**/", pattern).split("/")
    first, *others = _between_spans(names)
    if last == "**":
        return first + "".join(f"(?>(?:[^/]+/)*?{stretch})" for stretch in others) + ".*"
    if not others:
        return first + _name_regex(last)
    *middle, ending = others
    spans = "".join(f"(?>(?:[^/]+/)*?{stretch})" for stretch in middle)
    return f"{first}{spans}(?:[^/]+/)*{ending}{_name_regex(last)}"


def _between_spans(names: list[str]) -> list[str]:
    stretches = [""]
    for name in names:
        if name == "**":
            stretches.append("")
        else:
            stretches[-1] += _name_regex(name) + "/"
    return stretches


def _name_regex(name: str) -> str:
    first, *others = (re.escape(part).replace(r"\?", "[^/]") for part in name.split("*"))
    if not others:
        return first
    *middle, last = others
    return f"(?>{first}{''.join(f'(?>[^/]*?{part})' for part in middle)}[^/]*{last}(?![^/]))"


def _is_loose(pattern: str) -> bool:
    """Whether a `**` is not a name of its own, as in `src/**.py`: then it goes over names and parts of names alike."""
    return any("**" in name and name != "**" for name in pattern.split("/"))


@lru_cache(maxsize=4096)
def _is_slow(pattern: str) -> bool:
    """A loose one can be tried in as many ways as its wildcards have lengths."""
    return _is_loose(plain(pattern.strip())) and len(re.findall(r"\*+", pattern)) > _MOST_LOOSE


def _as_loose_regex(pattern: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meaning = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    return "".join(meaning.get(part, re.escape(part)) for part in parts)
