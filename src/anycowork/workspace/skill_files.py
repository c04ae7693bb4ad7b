"""Reads the skills of a folder: through the jail, through no link, bounded, and hashed with all their files."""

import hashlib
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from anycowork.domain.errors import StateChanged, ToolFault
from anycowork.domain.hooks import HOOKS_FILE
from anycowork.domain.path_class import is_key_file
from anycowork.domain.skills import (
    COMMAND_FILE,
    SKILL_FILE,
    Skill,
    SkillFile,
    SkillProblem,
    SkillSource,
    SkillText,
    read_command_text,
    read_skill_text,
)
from anycowork.domain.values import replace, value
from anycowork.domain.visible_text import os_reason
from anycowork.workspace.jail import Jail, kind_of
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.trusted_files import with_the_unseen_written_out

MOST_SKILLS = 100
MOST_FILES = 200
MOST_BYTES = 4_000_000
MOST_TOGETHER = 32_000_000  # bytes of all skills of a folder
LONGEST_TEXT = 64 * 1024
_MOST_REMEMBERED = 500  # skills in memory
_SETTLED = 2_000_000_000  # nanoseconds: a file changed so recently may change again within one tick of the file's clock
_State = tuple[object, ...]
_read_skills: dict[str, tuple[_State, Skill]] = {}
_reading = threading.Lock()


@value
class FolderKind:
    """How a folder is read: `main` is the file that makes it a skill, a command or the hooks of a plugin, and the one that models get."""

    main: str
    read_text: Callable[[str, str], SkillText]
    most_files: int = MOST_FILES
    most_bytes: int = MOST_BYTES
    deepest: int = 6


OF_SKILLS = FolderKind(SKILL_FILE, read_skill_text)
OF_COMMANDS = FolderKind(COMMAND_FILE, read_command_text)
OF_HOOKS = FolderKind(
    HOOKS_FILE, lambda name, text: SkillText(name), most_files=1_000, most_bytes=16_000_000, deepest=12
)


@value
class _Entry:
    path: str  # below the skill's folder
    location: WorkspacePath
    status: os.stat_result


def skills_below(
    root: str,
    folder: str,
    source: SkillSource,
    *,
    texts_of: str | None = None,
    kind: FolderKind = OF_SKILLS,
    single_names: bool = False,
) -> list[Skill]:
    """Returns the skills in this folder, sorted by name; none of them is trusted yet. The texts of all files come with one alone.

    `single_names`: a file that has another name elsewhere is refused. Blocking.
    """
    try:
        jail = Jail(root)
        location = WorkspacePath(tuple(folder.split("/")))
        names = jail.names(location)
    except (ToolFault, OSError):
        return []
    skills, room = [], MOST_TOGETHER
    for name in names[:MOST_SKILLS]:
        skill = _skill(
            jail, location.child(name), source, kind, room=room, with_texts=name == texts_of, single_names=single_names
        )
        if skill is not None:
            room -= sum(file.size for file in skill.files)
            skills.append(skill)
    return skills


def read_skill_folder(folder: Path, kind: FolderKind = OF_SKILLS, *, with_texts: bool = True) -> Skill | None:
    """Returns the skill in a folder that a person named; None if it holds none. Blocking."""
    try:
        real = folder.resolve()
        jail, location = Jail(str(real.parent)), WorkspacePath((real.name,))
        return _skill(jail, location, SkillSource.DATA, kind, with_texts=with_texts, single_names=True)
    except (ToolFault, OSError):
        return None


def skill_at(jail: Jail, path: str) -> Skill | None:
    """Returns the skill that lies there below a plugin. Blocking."""
    return _skill(jail, WorkspacePath(tuple(path.split("/"))), SkillSource.PLUGIN, OF_SKILLS, single_names=True)


def copy_skill(folder: Path, skill: Skill, target: Path) -> None:
    """Copies exactly the files that were read, all or none. Raises: ToolFault, OSError, StateChanged. Blocking."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as temporary:
        copy = Path(temporary, target.name)
        _copy_files(Jail(str(folder.resolve())), [file.path for file in skill.files], copy)
        copied = read_skill_folder(copy)
        if copied is None or copied.sha256 != skill.sha256:
            raise StateChanged("The skill was changed while it was copied. Try again.")
        copy.rename(target)


def copy_plain_files(folder: Path, target: Path) -> SkillProblem | None:
    """Copies what hooks of a plugin may use: no link, no file with another name, no key file, nothing of git. Returns what makes the
    folder unusable. Raises: ToolFault, OSError. Blocking."""
    jail, entries = Jail(str(folder), is_real=True), list[_Entry]()
    problem = _collect(jail, WorkspacePath(()), "", entries, OF_HOOKS, only_plain=True)
    if problem is None:
        _copy_files(jail, [entry.path for entry in entries], target)
    return problem


def _copy_files(jail: Jail, paths: Iterable[str], target: Path) -> None:
    for path in paths:
        with jail.regular_file(WorkspacePath(tuple(path.split("/")))) as (fd, status):
            data, is_program = _up_to(fd, OF_HOOKS.most_bytes + 1), bool(status.st_mode & stat.S_IXUSR)
        (target / path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (target / path).write_bytes(data)
        (target / path).chmod(0o700 if is_program else 0o600)


def _skill(
    jail: Jail,
    folder: WorkspacePath,
    source: SkillSource,
    kind: FolderKind,
    *,
    room: int = MOST_TOGETHER,
    with_texts: bool = False,
    single_names: bool = False,
) -> Skill | None:
    """Reads the skill, or returns what was read before if no entry of its folder has changed since and no texts are wanted."""
    try:
        status = jail.stat(folder)
        if status is None or not stat.S_ISDIR(status.st_mode):
            linked = status is not None and stat.S_ISLNK(status.st_mode)
            return _faulty(folder, source, "It is a symbolic link, which is not followed: copy it.") if linked else None
        entries: list[_Entry] = []
        problem = _collect(jail, folder, "", entries, kind, single_names=single_names)
        if not any(entry.path == kind.main for entry in entries) and problem is None:
            return None
    except (ToolFault, OSError) as error:
        return _faulty(folder, source, f"It cannot be read: {os_reason(error)}.")
    if problem is None and sum(entry.status.st_size for entry in entries) > room:
        problem = SkillProblem(
            f"The skills of this folder have more than {MOST_TOGETHER:,} bytes together: remove some."
        )
    if problem is not None:
        return replace(_faulty(folder, source, ""), problems=(problem,))
    key, state = f"{jail.root}\0{folder.path}", _state(entries)
    before = _read_skills.get(key)
    if before is not None and before[0] == state and not with_texts:
        return replace(before[1], source=source)
    try:
        skill = _read(jail, folder, source, entries, kind, with_texts=with_texts)
    except (ToolFault, OSError) as error:
        return _faulty(folder, source, f"It cannot be read: {os_reason(error)}.")
    if not with_texts and time.time_ns() - max(entry.status.st_ctime_ns for entry in entries) > _SETTLED:
        _remember(key, state, skill)
    return skill


def _collect(
    jail: Jail,
    folder: WorkspacePath,
    below: str,
    entries: list[_Entry],
    kind: FolderKind,
    *,
    single_names: bool = False,
    only_plain: bool = False,
) -> SkillProblem | None:
    """Collects the files, sorted; returns what makes the folder unusable. Raises: ToolFault, OSError."""
    for name in jail.names(folder):
        location, path = folder.child(name), f"{below}{name}"
        status = jail.stat(location)
        if status is None or (only_plain and _is_left_out(path, status)):
            continue
        if stat.S_ISDIR(status.st_mode):
            if path.count("/") + 1 >= kind.deepest:
                return SkillProblem(f"It has more than {kind.deepest} folders below each other.", shown(path))
            problem = _collect(
                jail, location, f"{path}/", entries, kind, single_names=single_names, only_plain=only_plain
            )
            if problem:
                return problem
            continue
        if not stat.S_ISREG(status.st_mode):
            return SkillProblem(
                f"It is a {kind_of(status.st_mode)}, which may lead out of the skill: put the file itself there.",
                shown(path),
            )
        if single_names and status.st_nlink > 1:
            return SkillProblem("The file has another name elsewhere (a hard link): put a copy there.", shown(path))
        entries.append(_Entry(path, location, status))
        if problem := _too_much(path, entries, kind):
            return problem
    return None


def _too_much(path: str, entries: list[_Entry], kind: FolderKind) -> SkillProblem | None:
    if len(entries) > kind.most_files:
        return SkillProblem(f"The skill has more than {kind.most_files} files.", shown(path))
    if sum(entry.status.st_size for entry in entries) > kind.most_bytes:
        return SkillProblem(f"The skill's files have more than {kind.most_bytes:,} bytes together.", shown(path))
    if path == kind.main and entries[-1].status.st_size > LONGEST_TEXT:
        return SkillProblem(f"It is larger than {LONGEST_TEXT:,} bytes: move parts of it into references/.", path)
    return None


def _is_left_out(path: str, status: os.stat_result) -> bool:
    if stat.S_ISDIR(status.st_mode):
        return path == ".git"
    return not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or path == ".git" or is_key_file(path)


def _read(
    jail: Jail,
    folder: WorkspacePath,
    source: SkillSource,
    entries: list[_Entry],
    kind: FolderKind,
    *,
    with_texts: bool,
) -> Skill:
    """Raises: ToolFault, OSError."""
    tree_hash, files, content = hashlib.sha256(), [], ""
    for entry in entries:
        with jail.regular_file(entry.location) as (fd, status):
            data = _up_to(fd, kind.most_bytes + 1)
        digest, name = hashlib.sha256(data), entry.path.encode(errors="surrogateescape")
        mode = b"x" if status.st_mode & stat.S_IXUSR else b"-"
        tree_hash.update(len(name).to_bytes(4, "big") + name + mode + digest.digest())
        is_main = entry.path == kind.main
        text = _text(data) if is_main or (with_texts and not is_key_file(entry.path)) else None
        files.append(SkillFile(shown(entry.path), len(data), digest.hexdigest(), text if with_texts else None))
        if is_main:
            content = text or ""
    read = kind.read_text(folder.name, content)
    problems = read.problems if content else (SkillProblem("It is not UTF-8 text, or it is empty.", kind.main, 1),)
    return Skill(
        name=folder.name,
        source=source,
        path=shown(folder.path),
        description=read.description,
        declared=read.declared,
        sha256=tree_hash.hexdigest(),
        content=content,
        files=tuple(files),
        problems=problems,
    )


def _faulty(folder: WorkspacePath, source: SkillSource, message: str) -> Skill:
    return Skill(shown(folder.name), source, shown(folder.path), problems=(SkillProblem(message),))


def _state(entries: list[_Entry]) -> _State:
    return tuple(
        (
            entry.path,
            status.st_dev,
            status.st_ino,
            status.st_mode,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
        for entry in entries
        for status in (entry.status,)
    )


def _remember(key: str, state: _State, skill: Skill) -> None:
    with _reading:
        while len(_read_skills) >= _MOST_REMEMBERED:
            del _read_skills[next(iter(_read_skills))]
        _read_skills[key] = (state, skill)


def _text(data: bytes) -> str | None:
    """Returns the text for people and models, with invisible characters written out; None if it is too long or not text."""
    if len(data) > LONGEST_TEXT:
        return None
    try:
        return with_the_unseen_written_out(data.decode().removeprefix("\ufeff"))
    except UnicodeDecodeError:
        return None


def _up_to(fd: int, most: int) -> bytes:
    content = b""
    while len(content) < most and (piece := os.read(fd, most - len(content))):
        content += piece
    return content
