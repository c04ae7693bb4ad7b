"""What is this path? By its name alone, at any depth: a control file, from which programs read instructions automatically
(`control_files.toml` lists them); part of a git folder, and which part; so that a command may change it, only with a person's approval,
or never. Pure. `key_files` tells the names of files with keys."""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from enum import Enum, StrEnum, auto
from functools import cache, lru_cache
from pathlib import Path

from anycowork.domain.values import value

CHANGES_CONTROL_FILES = (
    "It changes what controls tools, editors or agents"  # the start of a reason to ask; the paths follow
)
LIST = Path(__file__).with_name("control_files.toml")
# HFS+ ignores these when it compares names, so that ".g<one of these>it" opens ".git" there.
_IGNORED = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
_SHORT_NAMES = range(1, 5)
# `prod.env`, `.env.local` and `app.env.production` hold values; `.env.example` and `sample.env` show which ones there are.
_ENVIRONMENT, _EXAMPLES = ".env", frozenset({"example", "sample", "template", "dist"})
_ENVIRONMENTS = frozenset(
    {
        "local",
        "dev",
        "development",
        "test",
        "stage",
        "staging",
        "prod",
        "production",
        "live",
        "bak",
        "backup",
        "old",
        "orig",
    }
)
# fmt: off
_FILES = frozenset({
    ".netrc", ".pgpass", ".git-credentials", ".pypirc", ".htpasswd",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
})
# fmt: on
_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx")
_FOLDERS = frozenset({".ssh", ".aws", ".gnupg"})
_WORDS = ("secret", "credential", "token", ".pem", ".key")
# The same names as patterns with `*`, to check whether a pattern could match one of them.
KEY_FILE_PATTERNS = (
    ".env*",
    "*.env",
    *(f"*.env.{name}" for name in sorted(_ENVIRONMENTS)),
    *sorted(_FILES),
    *(f"*{ending}" for ending in _ENDINGS),
)
KEY_FOLDERS = tuple(sorted(_FOLDERS))


class ControlClass(StrEnum):
    EDITOR = "editor"
    AGENT = "agent"
    CI = "ci"
    HOOK = "hook"
    VERSION_CONTROL = "version_control"
    ENVIRONMENT = "environment"
    PACKAGE_MANAGER = "package_manager"
    SCRIPT = "script"
    """Scripts of packages and builds are everyday work: an approval warns about them, but they need no separate approval."""


@value
class ControlName:
    """One name of the list. `parts` are folded; one of them may contain a `*`. A folder includes everything below it."""

    parts: tuple[str, ...]
    is_folder: bool
    control_class: ControlClass
    source: str


def control_class(parts: Sequence[str]) -> ControlClass | None:
    """Returns the class of this path, or None. If several classes match, a class that asks wins."""
    if not _may_match(tuple(parts)):
        return None
    matching_class = None
    for name in _matches(tuple(map(fold_name, parts))):
        if name.control_class is not ControlClass.SCRIPT:
            return name.control_class
        matching_class = name.control_class
    return matching_class


def is_control_name(parts: Sequence[str]) -> bool:
    """Whether changing this path changes what programs do automatically. A rule or a plan must name such a file, or a person is asked."""
    return control_class(parts) not in (None, ControlClass.SCRIPT)


def is_control_file(path: str) -> bool:
    return is_control_name(_parts_of(path))


def is_build_script(path: str) -> bool:
    """Whether package managers or build tools run this file's content: it gets a warning, but no separate approval."""
    return control_class(_parts_of(path)) is ControlClass.SCRIPT


def _parts_of(path: str) -> list[str]:
    return path.strip("/").split("/")


def leads_to_control_file(parts: Sequence[str]) -> bool:
    """Whether a control file could be below this folder: a link in place of the folder brings in content from elsewhere."""
    folded = tuple(map(fold_name, parts))
    starts = _index().starts
    return any(folded[start:] in starts for start in range(len(folded)))


@lru_cache(maxsize=4096)
def fold_name(name: str) -> str:
    """Returns the name as a file system may compare it: without case, invisible characters, and the suffixes that NTFS drops."""
    folded = name if name.isascii() else unicodedata.normalize("NFKC", name.translate(_IGNORED))
    return folded.casefold().split(":", 1)[0].rstrip(". ")


@cache
def control_names() -> tuple[ControlName, ...]:
    """Returns the whole list, read once."""
    listed = tomllib.loads(LIST.read_text("utf-8"))["tool"]
    return tuple(
        _control_name(name, ControlClass(tool["class"]), tool["source"]) for tool in listed for name in tool["names"]
    )


def _control_name(name: str, class_: ControlClass, source: str) -> ControlName:
    parts = tuple(map(fold_name, name.rstrip("/").split("/")))
    return ControlName(parts, name.endswith("/"), class_, source)


@value
class _Index:
    """An index of the list. `exact` maps a name's last part to its entries, and `last_parts` are its keys. `wild` are entries with a `*`, and
    `starts` are the folders that lead to longer names.

    A name with none of the `beginnings` and `endings` matches no entry with a `*`, so a delta of 100,000 paths is checked quickly.
    """

    exact: dict[str, tuple[ControlName, ...]]
    last_parts: frozenset[str]
    wild: tuple[ControlName, ...]
    beginnings: tuple[str, ...]
    endings: tuple[str, ...]
    starts: frozenset[tuple[str, ...]]


@cache
def _index() -> _Index:
    exact: dict[str, tuple[ControlName, ...]] = {}
    for name in control_names():
        for last in (name.parts[-1], *_short_names(name.parts[-1])):
            exact[last] = (*exact.get(last, ()), name)
    wild = tuple(name for name in control_names() if "*" in name.parts[-1])
    starts = (name.parts[:length] for name in control_names() for length in range(1, len(name.parts)))
    sides = [name.parts[-1].partition("*")[::2] for name in wild]
    beginnings = tuple(before for before, _ in sides if before)
    endings = tuple(after for before, after in sides if not before)
    return _Index(exact, frozenset(exact), wild, beginnings, endings, frozenset(starts))


def _may_match(parts: tuple[str, ...]) -> bool:
    """Whether the path can match an entry at all. Most cannot; a folder's own names are looked at once, not for each file in it."""
    if not parts:
        return False
    return name_may_be_control(parts[-1]) or folder_may_be_control(parts[:-1])


@lru_cache(maxsize=1 << 15)
def name_may_be_control(name: str) -> bool:
    """Whether a path that ends with this name can match an entry. Cached: several steps of a commit ask for thousands of names."""
    index, last = _index(), fold_name(name)
    return last in index.last_parts or last.startswith(index.beginnings) or last.endswith(index.endings)


@lru_cache(maxsize=1024)
def folder_may_be_control(folders: tuple[str, ...]) -> bool:
    """Whether a path in this folder can match an entry because of the folder."""
    return not _index().last_parts.isdisjoint(map(fold_name, folders))


def _matches(folded: tuple[str, ...]) -> Iterator[ControlName]:
    index = _index()
    if not index.last_parts.isdisjoint(folded):
        for end, part in enumerate(folded, 1):
            for name in index.exact.get(part, ()):
                if _ends_at(name, folded, end):
                    yield name
    last = folded[-1] if folded else ""
    if last.startswith(index.beginnings) or last.endswith(index.endings):
        yield from (name for name in index.wild if _fits(name.parts[-1], last))


def _ends_at(name: ControlName, folded: tuple[str, ...], end: int) -> bool:
    """Whether the name's folders come directly before its last part, and only a folder has anything after it."""
    above = name.parts[:-1]
    return (name.is_folder or end == len(folded)) and folded[max(0, end - 1 - len(above)) : end - 1] == above


def _fits(pattern: str, part: str) -> bool:
    before, _, after = pattern.partition("*")
    return len(part) >= len(before) + len(after) and part.startswith(before) and part.endswith(after)


def _short_names(name: str) -> Iterator[str]:
    """Yields the 8.3 short names that NTFS also accepts for a file: `git~1` for `.git`."""
    stem, dot, ending = name.lstrip(".").rpartition(".")
    stem, ending = (stem, ending) if dot else (ending, "")
    if not stem or "*" in name or (len(stem) <= 8 and len(ending) <= 3 and not name.startswith(".")):
        return
    for number in _SHORT_NAMES:
        yield stem.replace(".", "")[:6] + f"~{number}" + (f".{ending[:3]}" if ending else "")


def is_git_control(parts: tuple[str, ...]) -> bool:
    """Tells whether the path is a `.git` or inside one, in any spelling that some file system treats as `.git`."""
    return any(map(folds_to_git, parts))


def folds_to_git(name: str) -> bool:
    """Tells whether some file system treats this spelling as `.git`; NTFS also knows it as `git~1`."""
    if name.isascii() and not name.startswith((".", "g", "G")):
        return False  # only characters beyond ASCII can be ignored at the beginning of a name
    return fold_name(name) in (".git", "git~1")


class PathClass(Enum):
    PLAIN = auto()
    ASKED = auto()
    NEVER = auto()


# What git follows: programs to run, other places to read configuration or history from.
_GIT_NEVER = re.compile(r"config.*|hooks|info|modules|worktrees|commondir|gitdir|branches|remotes", re.DOTALL)
_OBJECTS_NEVER = frozenset({"alternates", "http-alternates"})
# What adding, committing, branching, merging, rebasing, stashing, tagging and fetching write.
_GIT_PLAIN_FOLDERS = frozenset({"objects", "refs", "logs"})
_GIT_PLAIN_FILES = frozenset(
    {
        "HEAD",
        "ORIG_HEAD",
        "FETCH_HEAD",
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "REBASE_HEAD",
        "AUTO_MERGE",
        "MERGE_MODE",
        "MERGE_MSG",
        "MERGE_RR",
        "SQUASH_MSG",
        "COMMIT_EDITMSG",
        "TAG_EDITMSG",
        "packed-refs",
        "index",  # its content decides: `git_index`
        "gc.pid",
        "gc.log",
        *("HEAD.lock", "index.lock", "packed-refs.lock", "gc.pid.lock"),
    }
)
_OF_THE_REPOSITORY = frozenset({"objects", "packed-refs", "packed-refs.lock"})
# State of operations in progress. It may be removed without asking: only existing files have an effect.
_GIT_UNDER_WAY = frozenset({"rebase-merge", "rebase-apply", "sequencer"})
# What git recomputes from the others.
_GIT_INDEX_ENDINGS = (".rev", ".bitmap", ".mtimes", ".keep", ".promisor", ".idx")


def class_of(parts: tuple[str, ...]) -> PathClass:
    """Decides by name alone; an entry's kind, content or removal is checked where it is known."""
    for index, part in enumerate(parts):
        if folds_to_git(part):
            return git_class(parts[index + 1 :])
    return PathClass.ASKED if is_control_name(parts) else PathClass.PLAIN


def git_class(inner: tuple[str, ...], *, linked: bool = False) -> PathClass:
    """Classifies a path inside a git folder: an allow-list, because new releases of git read new files.

    `linked`: the folder of a linked worktree, which uses the objects and packed refs of its repository.
    """
    folded = tuple(map(fold_name, inner))
    if not inner:
        return PathClass.PLAIN
    if _GIT_NEVER.fullmatch(folded[0]) or folded[:2] == ("refs", "replace"):
        return PathClass.NEVER
    if folded[:2] == ("objects", "info") and len(folded) > 2 and folded[2] in _OBJECTS_NEVER:
        return PathClass.NEVER
    plain = inner[0] in _GIT_PLAIN_FOLDERS or (len(inner) == 1 and inner[0] in _GIT_PLAIN_FILES)
    if linked and inner[0] in _OF_THE_REPOSITORY:
        return PathClass.ASKED
    return PathClass.PLAIN if plain else PathClass.ASKED


def may_vanish(inner: tuple[str, ...]) -> bool:
    """Tells whether a path inside a git folder may be removed without asking, although creating it asks."""
    return inner[0] in _GIT_UNDER_WAY


def is_stored_by_git(inner: tuple[str, ...]) -> bool:
    """Tells whether a path inside a git folder is part of stored commits, or a folder of them.

    Git never changes such a file, and removes one only in `gc`.
    """
    return bool(inner) and fold_name(inner[0]) == "objects" and not _is_git_index("/".join(inner[1:]))


def _is_git_index(path: str) -> bool:
    if path.startswith("pack/"):
        return path.startswith("pack/multi-pack-index") or path.endswith(_GIT_INDEX_ENDINGS)
    return path == "info" or path.startswith("info/")


def is_key_file(path: str) -> bool:
    """Whether the file's name means keys or passwords: narrower than `looks_secret`, because it makes reading ask."""
    *folders, name = path.casefold().rstrip("/").split("/")
    return not _FOLDERS.isdisjoint(folders) or name_is_key_file(name)


def name_is_key_file(name: str) -> bool:
    """The same for a file's own name, which holds no slash: a command's start asks for every name in the workspace."""
    name = name.casefold()
    if _ENVIRONMENT in name:
        return _is_environment(name)
    return name in _FILES or (name.endswith(_ENDINGS) and not name.startswith(_ENDINGS))


def _is_environment(name: str) -> bool:
    first, *others = name.split(".")
    if first in _EXAMPLES or others[-1] in _EXAMPLES:
        return False
    if name.startswith(_ENVIRONMENT) or others[-1] == "env":
        return True
    return others[-2:-1] == ["env"] and others[-1] in _ENVIRONMENTS


def looks_secret(path: str) -> bool:
    """Whether any part of the path looks like the name of a secret."""
    folder, _, name = path.rpartition("/")
    return name_looks_secret(name) or (folder != "" and folder_looks_secret(folder))


@lru_cache(maxsize=1 << 15)
def name_looks_secret(name: str) -> bool:
    """Cached: several steps of a commit ask for each of thousands of names."""
    return _part_looks_secret(name.casefold())


@lru_cache(maxsize=1024)
def folder_looks_secret(folder: str) -> bool:
    """Cached: a command that changes thousands of files changes many in each folder."""
    return any(map(_part_looks_secret, folder.casefold().split("/")))


def _part_looks_secret(part: str) -> bool:
    if part in _FILES or part in _FOLDERS or part.startswith(_ENVIRONMENT):
        return True
    if _ENVIRONMENT in part and _is_environment(part):
        return True
    if part.startswith("id_") and len(part) > 3 and part[3:].isalnum():
        return True
    return any(map(part.__contains__, _WORDS))
