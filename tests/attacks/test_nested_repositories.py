"""What git does in submodules, linked worktrees and nested repositories within a command: what is kept, what asks, what is left out.

The table has each everyday command of git in each kind of repository. The attacks go for the git folders of submodules and worktrees.
"""

from pathlib import Path

import pytest

from anycowork.domain.tools import CallStatus, ToolResult
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.sandbox import Sandbox
from support.live_server import live_server
from support.nested_repositories import GIT_FOLDERS, PLACES, WHO, copy_repositories, make_repositories, shell
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

KEPT, ASKS = "kept", "needs_a_persons_word"
COMMANDS = {
    "status": "git status",
    "diff": "git diff",
    "diff of a commit": "git diff --stat HEAD~1",
    "log": "git log --oneline",
    "add": "echo new > new.txt; git add new.txt",
    "commit": "echo new > new.txt; git add new.txt; git commit -qm new",
    "commit all": "echo 9 > b.txt; git commit -qam new",
    "stash": "echo 9 > b.txt; git stash -q",
    "stash and pop": "echo 9 > b.txt; git stash -q; git stash pop -q",
    "checkout -b": "git checkout -q -b other",
    "switch": "git switch -q side",
    "restore": "echo 9 > b.txt; git restore b.txt",
    "restore --staged": "echo 9 > b.txt; git add b.txt; git restore --staged b.txt",
    "mv": "git mv b.txt c.txt",
    "rm": "git rm -q b.txt",
    "fetch": "git fetch -q . clash:copy",
    "fetch without network": "! git fetch -q /not/there",
    "submodule status": "git submodule status --recursive",
    "submodule update": "git submodule update --recursive",
    "merge": "git merge -q -m m side",
    "rebase": "git rebase -q side",
    "a merge that stops": "! git merge -q clash",
    "a rebase that stops": "! git rebase -q clash",
}  # fmt: skip
# A control file goes with the other branch; a rebase that waits is state that git acts on.
ASKING = {("switch", "."), ("switch", "sub"), *(("a rebase that stops", place) for place in PLACES.values())}
LINKS = ("sub", "sub/inner", "tree")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make_repositories(folder / "workspace", folder / "upstream")
    return folder / "workspace"


@pytest.fixture
def nested(bench: ToolWorkspace, made: Path) -> ToolWorkspace:
    copy_repositories(made, bench.root)
    return bench


async def run(nested: ToolWorkspace, words: str) -> ToolResult:
    """Beside what it does with git, the command makes a file that must not be lost."""
    return await nested.call("execute_command", command=f"set -e; {WHO}echo done > done.txt; {words}")


def outcome(result: ToolResult) -> str:
    return str(result.facts.get("dropped") or ("left out" if "left_out" in result.facts else KEPT))


def expected(name: str, place: str) -> str:
    return ASKS if (name, place) in ASKING else KEPT


@proves("SNAP-4")
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("name", COMMANDS)
async def test_everyday_git_works_in_every_repository_of_the_workspace(
    nested: ToolWorkspace, name: str, place: str
) -> None:
    result = await run(nested, f"cd {place}; {COMMANDS[name]}")
    assert outcome(result) == expected(name, place), result.content
    assert (nested.root / "done.txt").exists() == (outcome(result) == KEPT)
    if outcome(result) == KEPT:
        assert result.status is CallStatus.OK, result.content
    shell(nested.root / place, "git fsck --strict; git status")


@proves("SNAP-4")
async def test_a_submodule_that_moved_is_updated(nested: ToolWorkspace) -> None:
    recorded = shell(nested.root / "sub", "git rev-parse HEAD:inner")
    shell(nested.root / "sub/inner", "git checkout -q --detach HEAD~1")
    result = await run(nested, "git submodule update --recursive")
    assert outcome(result) == KEPT and result.status is CallStatus.OK, result.content
    assert shell(nested.root / "sub/inner", "git rev-parse HEAD; git status --porcelain") == recorded


@proves("SNAP-4")
async def test_a_commit_in_a_submodule_is_there_afterwards_and_recorded_above(nested: ToolWorkspace) -> None:
    words = (
        "cd sub/inner; echo 9 > b.txt; git commit -qam deep; cd ..; git commit -qam middle; cd ..; git commit -qam top"
    )
    result = await run(nested, words)
    assert outcome(result) == KEPT and result.status is CallStatus.OK, result.content
    for place, subject in (("sub/inner", "deep"), ("sub", "middle"), (".", "top")):
        assert shell(nested.root / place, "git log -1 --format=%s; git diff HEAD; git fsck --strict") == f"{subject}\n"


@pytest.mark.parametrize("kind", ["worktree", "submodule"])
async def test_a_git_folder_outside_of_the_workspace_is_not_there_for_commands(
    bench: ToolWorkspace, made: Path, tmp_path: Path, kind: str
) -> None:
    """The workspace is a linked worktree or a submodule itself. Git finds no repository, changes nothing, and no file is lost."""
    around = tmp_path / "around"
    copy_repositories(made, around)
    if kind == "worktree":
        bench.root.rmdir()
        shell(around, f"git worktree add -q -b here {bench.root}")
    else:
        inside = ToolWorkspace(around / "sub", bench.outside)
        bench = inside
    before = tree(around / ".git")
    words = f"echo done > done.txt; {WHO}! git status && ! git add done.txt && ! git commit -qam x"
    result = await bench.call("execute_command", command=words)
    assert result.status is CallStatus.OK and "not a git repository" in result.content, result.content
    assert (bench.root / "done.txt").exists() and tree(around / ".git") == before


# --- attacks: each is refused in the git folder of a submodule and of a worktree, and the file beside it is kept

NEVER = {
    "config": "echo x >> {git}/config",
    "config by git": "git config -f {git}/config core.fsmonitor /tmp/x",
    "config.worktree": "echo x > {git}/config.worktree",
    "a worktree key": "git config -f {git}/config core.worktree /tmp",
    "config in another spelling": "echo x > {git}/Config",
    "config.lock": "echo x > {git}/config.lock",
    "a hook": "mkdir -p {git}/hooks; echo x > {git}/hooks/pre-commit; chmod +x {git}/hooks/pre-commit",
    "attributes": "mkdir -p {git}/info; echo '* filter=x' > {git}/info/attributes",
    "commondir": "echo /tmp > {git}/commondir",
    "gitdir": "echo /tmp/.git > {git}/gitdir",
    "alternates": "mkdir -p {git}/objects/info; echo /tmp > {git}/objects/info/alternates",
    "alternates over http": "mkdir -p {git}/objects/info; echo x > {git}/objects/info/http-alternates",
    "an old remote": "mkdir -p {git}/remotes; echo 'URL: ext::sh' > {git}/remotes/origin",
    "a replaced commit": "mkdir -p {git}/refs/replace; echo x > {git}/refs/replace/x",
    "a list with programs": "mkdir {git}/rebase-merge; echo 'exec touch /tmp/x' > {git}/rebase-merge/git-rebase-todo",
    "no HEAD": "rm {git}/HEAD",
    "a HEAD that names nothing": "echo ../../hooks > {git}/HEAD",
    "a link": "mkdir -p {git}/refs/heads; ln -s ../../config {git}/refs/heads/x",
    "HEAD as a link": "rm {git}/HEAD; ln -s refs/heads/main {git}/HEAD",
    "the folder as a link": "cp -r {git} /tmp/moved; rm -r {git}; ln -s /tmp/moved {git}",
    "the folder is gone": "rm -r {git}",
    "the folder is another": "rm -r {git}; mkdir {git}; echo 'ref: refs/heads/x' > {git}/HEAD",
    "a submodule beside it": "mkdir -p {git}/../new; echo x > {git}/../new/config",
    "a submodule in it": "mkdir -p {git}/modules/new; echo x > {git}/modules/new/config",
    "a worktree in it": "mkdir -p {git}/worktrees/new; echo x > {git}/worktrees/new/gitdir",
    "a worktree that has all": "mkdir -p {git}/worktrees/n; cp {git}/HEAD {git}/worktrees/n; echo ../.. > {git}/worktrees/n/commondir",
    "a submodule's name that leads up": "mkdir -p '{git}/modules/..\\..'; echo x > '{git}/modules/..\\../config'",
    "modules in another spelling": "mkdir -p {git}/MODULES/m; echo x > {git}/MODULES/m/HEAD",
    "the link to it": "echo 'gitdir: /tmp' > {place}/.git",
    "the link to it is gone": "rm {place}/.git",
    "the link to it is a link": "rm {place}/.git; ln -s /tmp {place}/.git",
    "the link to it is a repository": "rm {place}/.git; git init -q {place}",
}  # fmt: skip


def at_place(words: str, place: str) -> str:
    return words.replace("{git}", GIT_FOLDERS[place]).replace("{place}", place)


def git_files(root: Path) -> dict[str, bytes | str]:
    """Everything that is or lies in a `.git`, at any depth."""
    return {path: content for path, content in tree(root).items() if ".git" in path.split("/")}


@proves("SNAP-4")
@pytest.mark.parametrize("place", LINKS)
@pytest.mark.parametrize("words", NEVER.values(), ids=NEVER)
async def test_what_git_obeys_in_a_nested_git_folder_is_left_out_and_nothing_else(
    nested: ToolWorkspace, place: str, words: str
) -> None:
    before = git_files(nested.root)
    result = await run(nested, at_place(words, place))
    assert outcome(result) == "left out" and result.status is CallStatus.ERROR, result.content
    assert result.error is not None and "may not be changed by a command" in result.error.message
    assert all(f"'{path}'" in result.content for path in list(result.facts["left_out"])[:5])
    assert git_files(nested.root) == before
    assert (nested.root / "done.txt").read_text() == "done\n"


@proves("SNAP-4")
@pytest.mark.parametrize("layer", list(Layer), ids=[layer.value for layer in Layer])
async def test_a_file_of_the_submodule_is_kept_when_its_git_folder_is_left_out(
    nested: ToolWorkspace, layer: Layer
) -> None:
    before = git_files(nested.root)
    result = await run(nested, f"echo 9 > sub/b.txt; git -C sub diff; echo x > {GIT_FOLDERS['sub']}/hooks/x")
    assert outcome(result) == "left out" and result.facts["layer"] == layer.value, result.content
    assert (nested.root / "sub/b.txt").read_text() == "9\n" and git_files(nested.root) == before


@proves("SNAP-4")
async def test_no_stash_is_left_out_without_the_files_that_it_holds(nested: ToolWorkspace) -> None:
    """Without the stash the person's own edit would be nowhere but in a checkpoint."""
    nested.write("sub/b.txt", "mine\n")
    before = git_files(nested.root)
    result = await run(nested, f"git -C sub stash -q; echo x > {GIT_FOLDERS['sub']}/hooks/x")
    assert outcome(result) == "left out" and "'sub'" in result.content, result.content
    assert (nested.root / "sub/b.txt").read_text() == "mine\n" and (nested.root / "done.txt").exists()
    assert git_files(nested.root) == before


# --- what only a person makes: a new repository leaves no half of itself behind

MADE = {
    "a worktree": ("git worktree add -q -b fresh fresh", "left out"),
    "a submodule that moves": ("mv sub other", "left out"),
    "a submodule that is removed": ("rm -r sub", "left out"),
    "a submodule that moves file by file": ("mkdir other; mv sub/.git sub/a.txt sub/b.txt other", "never_path"),
    "a copy of a git folder": ("cp -r .git/modules/libs/sub .git/modules/copy", "never_path"),
    "a clone": ("git clone -q --no-hardlinks nested clone", "never_path"),
    "a submodule that is added": (
        "git -c protocol.file.allow=always submodule add -q file://$PWD/nested more",
        "never_path",
    ),
}


@proves("SNAP-4")
@pytest.mark.parametrize(("words", "ends"), MADE.values(), ids=MADE)
async def test_repositories_are_made_moved_and_removed_by_a_person(
    nested: ToolWorkspace, words: str, ends: str
) -> None:
    worktrees = {path for path in tree(nested.root) if not path.startswith(".git/")}
    links = {path: content for path, content in git_files(nested.root).items() if path.endswith("/.git")}
    result = await run(nested, words)
    assert outcome(result) == ends, result.content
    now = {path for path in tree(nested.root) if not path.startswith(".git/")}
    assert now - {"done.txt"} == worktrees and ("done.txt" in now) == (ends == "left out")
    assert {path: content for path, content in git_files(nested.root).items() if path.endswith("/.git")} == links
    shell(nested.root, "git fsck --strict; git status; git -C sub status; git -C tree status")


@proves("SNAP-4")
async def test_a_submodule_that_was_not_checked_out_stays_so(nested: ToolWorkspace) -> None:
    shell(nested.root, "rm -r sub/inner")
    before = git_files(nested.root)
    result = await run(nested, "git -C sub submodule update")
    assert outcome(result) == "left out" and "'sub/inner'" in result.content, result.content
    assert git_files(nested.root) == before and not (nested.root / "sub/inner/a.txt").exists()
    assert (nested.root / "done.txt").exists()


# --- what asks in the main repository asks here too

ASKED = {
    "assume-unchanged": "git -C {place} update-index --assume-unchanged a.txt",
    "skip-worktree": "git -C {place} update-index --skip-worktree a.txt",
    "a file monitor": "git -C {place} -c core.fsmonitor=true update-index --fsmonitor",
    "a split index": "git -C {place} update-index --split-index",
    "an index that is none": "echo x > {git}/index",
    "no index": "rm {git}/index",
    "a bisection": "git -C {place} bisect start",
    "an unknown file": "echo x > {git}/something",
    "a forged state": "echo 9 > {place}/a.txt; touch -d @1000000000 {place}/a.txt; python3 forge.py {git}/index",
}  # fmt: skip
FORGE = """
import hashlib, struct, sys
data = bytearray(open(sys.argv[1], 'rb').read()[:-20])
at = data.index(b'a.txt\\0') - 62
data[at + 8:at + 16] = struct.pack('>II', 1000000000, 0)
data[at + 36:at + 40] = struct.pack('>I', 2)
open(sys.argv[1], 'wb').write(bytes(data) + hashlib.sha1(data).digest())
"""


@proves("SNAP-4")
@pytest.mark.parametrize("place", LINKS)
@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
async def test_state_of_git_in_a_nested_git_folder_needs_a_persons_word(
    nested: ToolWorkspace, place: str, words: str
) -> None:
    nested.write("forge.py", FORGE)
    before = git_files(nested.root)
    result = await run(nested, at_place(words, place))
    assert outcome(result) == ASKS and GIT_FOLDERS[place] in result.content, result.content
    assert git_files(nested.root) == before


@proves("SNAP-4")
@pytest.mark.parametrize("place", ["sub", "sub/inner"])
async def test_stored_commits_of_a_submodule_are_removed_only_with_a_persons_word(
    nested: ToolWorkspace, place: str
) -> None:
    result = await run(nested, f"rm -r {GIT_FOLDERS[place]}/objects/*")
    assert outcome(result) == ASKS and "commits" in result.content, result.content


async def test_a_linked_worktree_has_no_objects_of_its_own(nested: ToolWorkspace) -> None:
    result = await run(nested, "mkdir .git/worktrees/tree/objects; echo x > .git/worktrees/tree/objects/x")
    assert outcome(result) == ASKS, result.content


# --- a git folder counts only if it and its files name each other

MISLEADING = {
    "no file leads to it": "rm sub/.git",
    "another file leads to it": "mkdir other; mv sub/.git other/.git",
    "its files lead elsewhere": "echo 'gitdir: ../nested/.git' > sub/.git",
    "its files lie above": "git config -f .git/modules/libs/sub/config core.worktree ../../../..",
    "its files lie elsewhere": "git config -f .git/modules/libs/sub/config core.worktree ../../../../nested",
    "its files lie outside": "git config -f .git/modules/libs/sub/config core.worktree /tmp",
    "its files lie behind a link": "ln -s sub link; git config -f .git/modules/libs/sub/config core.worktree ../../../../link",
    "its files are named in another file": "git config -f .git/modules/libs/sub/config include.path more",
    "its configuration has another part": "git config -f .git/modules/libs/sub/config extensions.worktreeConfig true",
    "it names a common folder": "echo ../../.. > .git/modules/libs/sub/commondir",
    "it is a link": "mv .git/modules/libs .git/libs; ln -s ../libs .git/modules/libs",
}


@proves("SNAP-4")
@pytest.mark.parametrize("words", MISLEADING.values(), ids=MISLEADING)
async def test_a_git_folder_whose_files_are_not_known_is_left_out(nested: ToolWorkspace, words: str) -> None:
    """A person's own repository may be odd. Nothing in such a folder is changed, and other changes are kept."""
    shell(nested.root, words)
    folder = (nested.root / GIT_FOLDERS["sub"]).resolve().relative_to(nested.root)
    before = git_files(nested.root)
    result = await run(nested, f"echo 'ref: refs/heads/side' > {folder}/HEAD")
    assert outcome(result) in ("left out", ASKS), result.content
    assert git_files(nested.root) == before
    assert (nested.root / "done.txt").exists() == (outcome(result) == "left out")


@proves("SNAP-4")
@pytest.mark.parametrize(
    "words",
    [
        "echo /tmp/.git > .git/worktrees/tree/gitdir",
        "echo {root}/nested/.git > .git/worktrees/tree/gitdir",
        "echo ../../modules/libs/sub > .git/worktrees/tree/commondir",
        "echo 'gitdir: {root}/.git/worktrees/other' > tree/.git",
    ],
    ids=["elsewhere", "another", "another repository", "not back"],
)
async def test_a_worktree_that_does_not_lead_back_is_left_out(nested: ToolWorkspace, words: str) -> None:
    shell(nested.root, words.replace("{root}", str(nested.root)))
    before = git_files(nested.root)
    result = await run(nested, "echo 'ref: refs/heads/side' > .git/worktrees/tree/HEAD")
    assert outcome(result) == "left out" and git_files(nested.root) == before, result.content


@proves("SNAP-4")
async def test_a_submodule_among_the_refs_of_another_is_no_ref(nested: ToolWorkspace) -> None:
    """Its name would be 'libs/sub/refs/x': git refuses such names today, and once did not."""
    inside = f"{GIT_FOLDERS['sub']}/refs/x"
    shell(nested.root, f"git init -q --bare {inside}")
    before = git_files(nested.root)
    result = await run(nested, f"git config -f {inside}/config core.fsmonitor /tmp/x")
    assert outcome(result) == "left out" and git_files(nested.root) == before, result.content


# --- what waits for a person, and what is refused beside it


@proves("SNAP-4", "APR-8")
@pytest.mark.parametrize("layer", list(Layer), ids=[layer.value for layer in Layer])
async def test_what_waits_is_made_without_what_was_left_out(
    tmp_path: Path, made: Path, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sandbox, "layer_for", lambda self, root: layer)
    hook = f"{GIT_FOLDERS['sub']}/hooks/pre-commit"
    words = f"echo obey > AGENTS.md; echo 9 > sub/b.txt; echo evil > {hook}"
    async with live_server(tmp_path, replies=[call("execute_command", command=words), "I see."]) as client:
        copy_repositories(made, client.workspace)
        before = git_files(client.workspace)
        chat = await client.chat()
        await chat.send("do it")
        await chat.decide()
        [waits] = await chat.approvals()
        assert waits["held"] is True and f"'{hook}' may not be changed" in str(waits)
        await chat.decide()
        result = (await chat.results())[-1]
        assert result["error"]["code"] == "left_out", result  # type: ignore[index]  # an error has a code
        assert (client.workspace / "AGENTS.md").read_text() == "obey\n"
        assert (client.workspace / "sub/b.txt").read_text() == "9\n" and git_files(client.workspace) == before
