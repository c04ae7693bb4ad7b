"""A workspace with every way in which a repository lies inside another: submodules, a linked worktree, a repository of its own."""

import os
import shutil
import subprocess
from pathlib import Path

HOME = "/nonexistent"
PLACES = {
    "the main repository": ".",
    "a submodule": "sub",
    "a submodule in a submodule": "sub/inner",
    "a linked worktree": "tree",
    "a nested repository": "nested",
}
GIT_FOLDERS = {
    "sub": ".git/modules/libs/sub",
    "sub/inner": ".git/modules/libs/sub/modules/inner",
    "tree": ".git/worktrees/tree",
}
# In a command: an identity, and no question about who owns the folder.
WHO = (
    "export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=t GIT_CONFIG_KEY_1=user.email "
    "GIT_CONFIG_VALUE_1=t GIT_CONFIG_KEY_2=safe.directory GIT_CONFIG_VALUE_2='*'; "
)
_LONG_AGO = 1_000_000_000

_REPOSITORY = """
git init -q -b main . && echo 1 > a.txt && echo 1 > b.txt && git add . && git commit -qm 1
git checkout -q -b clash && echo 3 > a.txt && git commit -qam 3
git checkout -q -b side main && echo s > side.txt && git add . && git commit -qm side
git checkout -q main && echo 2 > a.txt && git commit -qam 2
"""
_ADD = "git -c protocol.file.allow=always submodule add -q"
_WITH_SUBMODULES = f"""
{_ADD} --name inner {{upstream}}/inner inner && git commit -qm inner
"""
_LOCAL_BRANCHES = "git branch -q side origin/side; git branch -q clash origin/clash"


def shell(folder: Path, script: str) -> str:
    """Runs what a person would, on this machine. Nothing of the tester's own configuration counts."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"HOME": HOME, "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", **names}
    trusted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    done = subprocess.run(
        ["sh", "-ec", script], cwd=folder, env=environment | trusted, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout.decode()


def make_repositories(root: Path, upstream: Path) -> None:
    """Fills `root`; what its submodules were cloned from lies in `upstream`, which no command sees."""
    shell(upstream / "inner", _REPOSITORY)
    shell(upstream / "sub", _REPOSITORY + _WITH_SUBMODULES.format(upstream=upstream))
    shell(root, _REPOSITORY)
    shell(root, f"{_ADD} --name libs/sub {upstream}/sub sub && git commit -qm sub")
    shell(root / "sub", f"{_LOCAL_BRANCHES}; git -c protocol.file.allow=always submodule update -q --init")
    shell(root / "sub/inner", f"git checkout -q main; {_LOCAL_BRANCHES}")
    shell(root, "git worktree add -q -b tree tree main~1")
    shell(root / "nested", _REPOSITORY)


def copy_repositories(made: Path, root: Path) -> None:
    """Copies what `make_repositories` made, which takes long. Git's notes about the files are then out of date: it refreshes them."""
    shutil.copytree(made, root, symlinks=True, dirs_exist_ok=True)
    for place in PLACES.values():
        os.utime(root / place / "a.txt", (_LONG_AGO, _LONG_AGO))
    for link in (root / "tree/.git", root / ".git/worktrees/tree/gitdir"):
        link.write_text(link.read_text().replace(str(made), str(root)))
