"""Attempts to make a folder that git takes for a repository, or to change what git takes orders from.

Each shape is first proved to be dangerous: laid down by hand, the real `git status` runs a program in it. Then file tools and commands
try to make it, at the workspace's root and in a folder, whole and piece by piece; and git runs nothing afterwards.
"""

import itertools
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.tools import CallStatus
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

HEAD = "ref: refs/heads/main\n"
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {worktree}\n\tfsmonitor = {trap}\n"

SHARED = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n"


@dataclass(frozen=True)
class Shape:
    """`files` by path; `where` is the folder in which a person calls git. What needs a mode or a link is for commands only."""

    name: str
    files: dict[str, str]
    where: str = "."
    links: dict[str, str] = field(default_factory=dict)
    programs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    def content(self, path: str, trap: Path) -> str:
        return self.files[path].replace("{trap}", str(trap))


def config(worktree: str = ".") -> str:
    return CONFIG.replace("{worktree}", worktree)


SHAPES = [
    Shape("bare", {"HEAD": HEAD, "objects/x": "x", "refs/x": "x", "config": config()}),
    Shape("detached", {"HEAD": "0" * 39 + "1\n", "objects/x": "x", "refs/heads/x": "", "config": config()}),
    Shape("blanks in HEAD", {"HEAD": "ref:   refs/heads/x", "objects/x": "x", "refs/x": "x", "config": config()}),
    Shape("commondir beside it", {"HEAD": HEAD, "commondir": "store\n", "config.worktree": config(),
        "store/objects/x": "x", "store/refs/x": "x", "store/config": SHARED}),
    Shape("commondir in another folder", {"a/HEAD": HEAD, "a/commondir": "../b\n", "a/config.worktree": config(),
        "b/objects/x": "x", "b/refs/x": "x", "b/config": SHARED}, where="a"),
    Shape(
        "HEAD is a link",
        {"objects/x": "x", "refs/x": "x", "config": config()},
        links={"HEAD": "refs/heads/main"},
    ),
    Shape(
        "objects is a link",
        {"HEAD": HEAD, "elsewhere/x": "x", "refs/x": "x", "config": config()},
        links={"objects": "elsewhere"},
    ),
    Shape("objects is a program", {"HEAD": HEAD, "objects": "x", "refs/x": "x", "config": config()}, programs=("objects",)),
    Shape(
        "a file called .git",
        {".git": "gitdir: store\n", "store/HEAD": HEAD, "store/objects/x": "x", "store/refs/x": "x", "store/config": config("..")},
    ),
    Shape("a folder called .git", {".git/HEAD": HEAD, ".git/objects/x": "x", ".git/refs/x": "x", ".git/config": config("..")}),
]  # fmt: skip
PLACES = ["", "docs/", "docs/deep/er/"]


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a mark when git runs it."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    program.chmod(0o755)
    return program


def sprung(trap: Path, root: Path) -> list[str]:
    """In which folders of the workspace `git status` runs the program."""
    home = trap.parent / "home"
    home.mkdir(exist_ok=True)
    found = []
    for folder in [root, *(path for path in sorted(root.rglob("*")) if path.is_dir() and not path.is_symlink())]:
        git(folder, home, "status")
        if (trap.parent / "sprung").exists():
            (trap.parent / "sprung").unlink()
            found.append(str(folder.relative_to(root)))
    return found


def git(folder: Path, home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= {"GIT_CEILING_DIRECTORIES": str(home.parent)}
    names = {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    trusted = ("-c", "safe.directory=*")
    return subprocess.run(
        ["git", *trusted, *words], cwd=folder, env=environment | names, capture_output=True, timeout=60, check=False
    )


def lay(shape: Shape, folder: Path, trap: Path) -> None:
    for path in shape.files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(shape.content(path, trap))
    for path, target in shape.links.items():
        (folder / path).symlink_to(target)
    for path in shape.programs:
        (folder / path).chmod(0o755)


def as_commands(shape: Shape, place: str, trap: Path) -> list[str]:
    made = []
    for path in shape.files:
        full = f"{place}{path}"
        words = shape.content(path, trap).replace("\n", "\\n").replace("\t", "\\t")
        made.append(f"mkdir -p \"$(dirname '{full}')\"; printf '{words}' > '{full}'")
    made += [f"ln -s '{target}' '{place}{path}'" for path, target in shape.links.items()]
    made += [f"chmod +x '{place}{path}'" for path in shape.programs]
    return made


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_shape_makes_git_run_a_program(shape: Shape, trap: Path, tmp_path: Path) -> None:
    root = tmp_path / "by hand"
    lay(shape, root, trap)
    assert shape.where in sprung(trap, root)


@proves("SNAP-4", "TOOL-3")
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place or "root")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", ["as written", "backwards", "by moving"])
async def test_file_tools_make_no_repository(
    bench: ToolWorkspace, trap: Path, shape: Shape, place: str, order: str
) -> None:
    refused = 0
    paths = list(shape.files) if order != "backwards" else list(reversed(shape.files))
    for number, path in enumerate(paths):
        first = f"{place}{path}" if order != "by moving" else f"tmp{number}.txt"
        try:
            await bench.call("create_file", path=first, content=shape.content(path, trap) or " ")
            if first != f"{place}{path}":
                await bench.call("move_file", path=first, to=f"{place}{path}")
        except (OutsideWorkspace, ToolFault):
            refused += 1
    assert refused or shape.links or shape.programs
    assert sprung(trap, bench.root) == []


@proves("SNAP-4", "TOOL-3")
async def test_no_folder_is_moved_so_that_a_repository_results(bench: ToolWorkspace, trap: Path) -> None:
    for path, content in {"x/HEAD": HEAD, "x/config": config(), "o/objects/x": "x", "o/refs/x": "x"}.items():
        bench.write(path, content.replace("{trap}", str(trap)))
    await bench.call("move_file", path="o/objects", to="x/objects")
    with pytest.raises(OutsideWorkspace, match="repository"):
        await bench.call("move_file", path="o/refs", to="x/refs")
    bench.write("y/sub/HEAD", HEAD)
    bench.write("y/sub/commondir", "../../x")
    with pytest.raises(OutsideWorkspace, match="repository"):
        await bench.call("move_file", path="y", to="z")
    assert sprung(trap, bench.root) == []


@proves("SNAP-4")
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place or "root")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
async def test_a_command_makes_no_repository(bench: ToolWorkspace, trap: Path, shape: Shape, place: str) -> None:
    result = await bench.call("execute_command", command="; ".join(as_commands(shape, place, trap)))
    assert result.facts["dropped"] == "never_path", result.content
    assert tree(bench.root) == {} and sprung(trap, bench.root) == []


@proves("SNAP-4")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
async def test_several_commands_make_no_repository_together(bench: ToolWorkspace, trap: Path, shape: Shape) -> None:
    outcomes = [await bench.call("execute_command", command=words) for words in as_commands(shape, "d/", trap)]
    assert any(outcome.facts.get("dropped") == "never_path" for outcome in outcomes)
    assert sprung(trap, bench.root) == []


@proves("SNAP-4")
@pytest.mark.parametrize("by_hand", [*itertools.combinations(["HEAD", "objects/x", "refs/x"], 2)], ids=str)
async def test_what_is_there_already_counts(bench: ToolWorkspace, trap: Path, by_hand: tuple[str, str]) -> None:
    """A person's own files make two thirds of a repository; neither a command nor a file tool adds the last."""
    contents = {"HEAD": HEAD, "objects/x": "x", "refs/x": "x"}
    for path in by_hand:
        bench.write(f"d/{path}", contents[path])
    bench.write("d/config", config().replace("{trap}", str(trap)))
    [last] = contents.keys() - set(by_hand)
    with pytest.raises(OutsideWorkspace, match="repository"):
        await bench.call("create_file", path=f"d/{last}", content=contents[last])
    words = f"mkdir -p \"$(dirname d/{last})\"; printf '{contents[last].strip()}' > d/{last}"
    assert (await bench.call("execute_command", command=words)).facts["dropped"] == "never_path"
    assert sprung(trap, bench.root) == []


@proves("SNAP-4", "TOOL-3")
async def test_a_repository_that_was_there_is_held_like_a_git_folder(bench: ToolWorkspace, trap: Path) -> None:
    git(bench.root, trap.parent, "init", "-q", "--bare", "backup.git")
    for words in (
        "echo x >> backup.git/config",
        "echo x > backup.git/hooks/post-update",
        "echo x > backup.git/commondir",
    ):
        assert (await bench.call("execute_command", command=words)).facts["dropped"] == "never_path", words
    with pytest.raises(OutsideWorkspace):
        await bench.call("create_file", path="backup.git/hooks/update", content="x")
    result = await bench.call("execute_command", command="git --git-dir=backup.git hash-object -w --stdin < /dev/null")
    assert "dropped" not in result.facts, result.content


# --- inside .git

NEVER = {
    "config": "echo x >> .git/config",
    "config.worktree": "echo x > .git/config.worktree",
    "hooks": "echo x > .git/hooks/pre-commit",
    "attributes": "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
    "grafts": "mkdir -p .git/info; echo x > .git/info/grafts",
    "commondir": "echo ../x > .git/commondir",
    "a work tree": "mkdir -p .git/worktrees/w; echo ../.. > .git/worktrees/w/commondir",
    "a module": "mkdir -p .git/modules/m; echo x > .git/modules/m/config",
    "an old remote": "mkdir -p .git/remotes; echo 'URL: ext::sh' > .git/remotes/origin",
    "an old branch": "mkdir -p .git/branches; echo 'ext::sh' > .git/branches/origin",
    "alternates": "mkdir -p .git/objects/info; echo /tmp > .git/objects/info/alternates",
    "replaced": "git replace HEAD HEAD~1",
    "replaced by hand": "mkdir -p .git/refs/replace; git rev-parse HEAD > .git/refs/replace/$(git rev-parse HEAD~1)",
    "replaced in another spelling": "mkdir -p .git/refs/Replace; git rev-parse HEAD > .git/refs/Replace/$(git rev-parse HEAD~1)",
    "replaced and packed": "echo \"$(git rev-parse HEAD) refs/replace/$(git rev-parse HEAD~1)\" >> .git/packed-refs",
    "a list with programs": "mkdir .git/rebase-merge; printf 'pick x\\nexec touch /tmp/x\\n' > .git/rebase-merge/git-rebase-todo",
    "a list with programs, short": "mkdir .git/rebase-merge; printf '  x touch /tmp/x\\n' > .git/rebase-merge/git-rebase-todo.backup",
    "a sequence with programs": "mkdir .git/sequencer; printf 'exec touch /tmp/x\\n' > .git/sequencer/todo",
    "no HEAD": "rm .git/HEAD",
    "a HEAD that names nothing": "echo nothing > .git/HEAD",
    "a link": "ln -s ../../x .git/refs/heads/x",
    "a repository in the log": "mkdir .git/logs/objects",
    "a repository among the refs": "mkdir -p .git/refs/heads/x/objects .git/refs/heads/x/refs; cp .git/HEAD .git/refs/heads/x/",
}  # fmt: skip
ASKED = {
    "assume-unchanged": "git update-index --assume-unchanged a.txt",
    "assume-unchanged by hand": (
        "python3 -c \"import hashlib; d = bytearray(open('.git/index', 'rb').read()[:-20]); d[72] |= 0x80; "
        "open('.git/index', 'wb').write(bytes(d) + hashlib.sha1(d).digest())\"; git ls-files -v | grep -q '^h a.txt'"
    ),
    "skip-worktree": "git update-index --skip-worktree a.txt",
    "a file monitor": "git -c core.fsmonitor=true update-index --fsmonitor",
    "a split index": "git update-index --split-index",
    "an untracked cache": "git update-index --force-untracked-cache",
    "an index that is none": "echo x > .git/index",
    "an index without checksum": "truncate -s -20 .git/index; head -c 20 /dev/zero >> .git/index",
    "no index": "rm .git/index",
    "a rebase that stopped": "git checkout -q -b other HEAD~1; echo 3 > a.txt; git commit -qam 3; git rebase -q main || true",
    "a bisection": "git bisect start",
    "a shallow file": "git rev-parse HEAD > .git/shallow",
    "an unknown file": "echo x > .git/something",
}  # fmt: skip
PLAIN = {
    "add": "echo new > b.txt; git add .",
    "commit": "echo new > b.txt; git add .; git commit -qm new",
    "commit in a new folder": "mkdir -p d/e; echo new > d/e/b.txt; git add .; git commit -qm new; git status",
    "status": "touch a.txt; git status",
    "branch": "git branch feature; git checkout -q -b other",
    "checkout": "git checkout -q HEAD~1",
    "merge": "git checkout -q -b other HEAD~1; echo x > b.txt; git add .; git commit -qm b; git merge -q -m m main",
    "a merge that conflicts": "git checkout -q -b other HEAD~1; echo 3 > a.txt; git commit -qam 3; git merge main || true",
    "rebase": "git checkout -q -b other HEAD~1; echo x > b.txt; git add .; git commit -qm b; git rebase -q main",
    "stash": "echo 3 > a.txt; git stash -q; git stash pop -q",
    "stash and keep": "echo 3 > a.txt; git stash -q",
    "tag": "git tag v1; git tag -a -m two v2",
    "fetch": "git fetch -q . main:copy",
    "cherry-pick": "git checkout -q -b other HEAD~1; git cherry-pick main",
    "reset": "git reset -q --hard HEAD~1",
    "edit after adding": "echo 11 > b.txt; git add b.txt; sleep 1; echo 22 > b.txt",
}


@pytest.fixture
def project(bench: ToolWorkspace, trap: Path) -> ToolWorkspace:
    """A repository with two commits."""
    git(bench.root, trap.parent, "init", "-q", "-b", "main")
    for number in "12":
        bench.write("a.txt", f"{number}\n")
        bench.write("src/c.txt", f"{number}\n")
        git(bench.root, trap.parent, "add", ".")
        git(bench.root, trap.parent, "commit", "-qm", number)
    return bench


WHO = "git() { command git -c user.name=t -c user.email=t -c safe.directory='*' \"$@\"; }; "


@proves("SNAP-4")
@pytest.mark.parametrize("words", NEVER.values(), ids=NEVER)
async def test_what_git_takes_orders_from_is_never_committed(project: ToolWorkspace, words: str) -> None:
    before = tree(project.root / ".git")
    result = await project.call("execute_command", command=WHO + words)
    assert result.facts.get("dropped") == "never_path", result.content
    assert tree(project.root / ".git") == before


@proves("SNAP-4")
@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
async def test_other_state_of_git_needs_a_persons_word(project: ToolWorkspace, words: str) -> None:
    result = await project.call("execute_command", command=WHO + words)
    assert result.facts.get("dropped") == "needs_a_persons_word", result.content


@proves("SNAP-4")
@pytest.mark.parametrize("words", PLAIN.values(), ids=PLAIN)
async def test_ordinary_work_with_git_needs_no_word(project: ToolWorkspace, words: str) -> None:
    result = await project.call("execute_command", command=WHO + words)
    assert result.status is CallStatus.OK and "dropped" not in result.facts, result.content


LOOKS = ["git status", "git -C sub status", "git -C tree status", "git submodule status"]


@proves("SNAP-4")
@pytest.mark.parametrize("words", LOOKS)
async def test_looking_at_a_repository_changes_nothing_in_it(project: ToolWorkspace, trap: Path, words: str) -> None:
    """Git would note in an index that it has looked; `GIT_OPTIONAL_LOCKS` keeps it from that."""
    home = trap.parent
    git(project.root, home, "worktree", "add", "-q", "tree")
    git(project.root, home, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./.git", "sub")
    for place in ("a.txt", "sub/a.txt", "tree/a.txt"):
        os.utime(project.root / place, (1_000_000_000, 1_000_000_000))
    before = tree(project.root / ".git")
    result = await project.call("execute_command", command=f"{WHO}{words} && echo done > done.txt")
    assert result.status is CallStatus.OK and "dropped" not in result.facts, result.content
    assert (project.root / "done.txt").read_text() == "done\n" and tree(project.root / ".git") == before


FORGED_STATE = """
import hashlib, os, struct
data = bytearray(open('.git/index', 'rb').read()[:-20])
os.utime('a.txt', (1000000000, 1000000000))
at = data.index(b'a.txt\\0') - 62
data[at + 8:at + 16] = struct.pack('>II', 1000000000, 0)
open('.git/index', 'wb').write(bytes(data) + hashlib.sha1(data).digest())
"""
FORGED_TREE = """
import hashlib, subprocess
tree = bytes.fromhex(subprocess.check_output(['git', '-c', 'safe.directory=*', 'rev-parse', 'HEAD~1:src'], text=True).strip())
true = bytes.fromhex(subprocess.check_output(['git', '-c', 'safe.directory=*', 'rev-parse', 'HEAD:src'], text=True).strip())
data = open('.git/index', 'rb').read()[:-20]
assert data.count(true) == 1
data = data.replace(true, tree)
open('.git/index', 'wb').write(data + hashlib.sha1(data).digest())
"""


# Each path goes on where the one before it ended: 2 MB of index would be 500 MB of paths.
FORGED_PATHS = """
import hashlib, struct
body = b"DIRC" + struct.pack(">II", 4, 30_000) + (bytes(63) + b"a" + bytes(1)) * 30_000
open(".git/index", "wb").write(body + hashlib.sha1(body).digest())
"""


@proves("SNAP-4")
@pytest.mark.parametrize(
    ("forgery", "says"),
    [(FORGED_STATE, "'a.txt'"), (FORGED_TREE, "'src'"), (FORGED_PATHS, "paths are much longer than the file")],
    ids=["state", "tree", "paths"],
)
async def test_a_forged_index_needs_a_persons_word(project: ToolWorkspace, forgery: str, says: str) -> None:
    project.write("forge.py", forgery)
    words = "echo 9 > a.txt; python3 forge.py" if forgery is FORGED_STATE else "python3 forge.py"
    result = await project.call("execute_command", command=words)
    assert result.facts.get("dropped") == "needs_a_persons_word" and says in result.content, result.content
