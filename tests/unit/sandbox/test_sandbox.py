import asyncio
import os
import platform
import shutil
import stat
import struct
from pathlib import Path

import pytest

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.bubblewrap import Descriptors, SandboxView, bubblewrap_arguments
from anycowork.sandbox.etc import etc_key, make_etc
from anycowork.sandbox.layers.stage import Layer, Staging, next_tick
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.sandbox.limits import CommandLimits
from anycowork.sandbox.package_caches import PackageCache, PackageCaches
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.sandbox_process import BubblewrapStatus
from anycowork.sandbox.seccomp import filter_for, knows
from anycowork.server.machine import SandboxLevel
from anycowork.server.setup.sandbox_setup import set_up_sandbox, usable_packages
from support.sandboxes import sandbox_in
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

OWNER = 23456
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another owner")


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path / "staging", tmp_path / "shared")


def test_the_sandbox_works_here_and_says_what_it_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sandbox, "trial", Sandbox.trial.__wrapped__)  # type: ignore[attr-defined]  # see support.shared_scans
    found = set_up_sandbox(tmp_path)
    assert found.level is SandboxLevel.FULL and found.sandbox is not None
    told = found.as_json()
    assert told["level"] == "full" and told["enforces"] and told["does_not"]
    assert not list((tmp_path / "staging/runs").iterdir()) and not list((tmp_path / "staging/caches").iterdir())


def test_package_caches_are_listed_and_one_that_cannot_be_mounted_stops_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    npm = tmp_path / "person/.npm/_cacache"
    npm.mkdir(parents=True)
    (npm / ".netrc").write_text("secret")
    found = set_up_sandbox(tmp_path / "data")
    assert found.sandbox is not None
    told = found.as_json()
    assert told["caches"] == [str(npm)] and str(npm / ".netrc") in told["hidden"]  # type: ignore[operator]  # a list of strings
    own = f"/proc/{os.getpid()}/task"  # the user's own folder, and nothing lies over proc
    odd = PackageCaches((PackageCache("odd", own, ".odd"), *found.packages.found))
    left = usable_packages(sandbox_in(tmp_path), odd)
    assert left.found == () and {one.path for one in left.refused} == {own, str(npm)}
    copied = usable_packages(sandbox_in(tmp_path, layer=Layer.COPY), found.packages)
    assert copied.found == () and "no overlays" in copied.refused[0].why


def test_a_bubblewrap_that_cannot_start_is_told_and_not_believed(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no permissions' >&2\nexit 1\n")
    broken.chmod(0o755)
    sandbox = sandbox_in(tmp_path)
    sandbox._bwrap = str(broken)
    assert sandbox.trial() == "bwrap: no permissions"


async def test_a_sandbox_that_fails_runs_nothing_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    bench = ToolWorkspace(tmp_path / "workspace", tmp_path)
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no permissions' >&2\nexit 1\n")
    broken.chmod(0o755)
    bench.sandbox._bwrap = str(broken)
    with pytest.raises(ToolFault, match="did not run: bwrap: no permissions"):
        await bench.call("execute_command", command="touch made")
    assert tree(bench.root) == {}


def test_the_words_give_every_wall_and_no_secret(staging: Staging, tmp_path: Path) -> None:
    stage = staging.open(runner_for(str(tmp_path)))
    around = SandboxView(str(tmp_path), stage, tmp_path / "cache", cache_kept=True)
    words = bubblewrap_arguments("bwrap", around, CommandLimits(), Descriptors(5, 6))
    for wall in (
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--new-session",
        "--die-with-parent",
        "--clearenv",
    ):
        assert wall in words
    assert words[words.index("--cap-drop") + 1] == "ALL"
    binds = {words[at + 1] for at, word in enumerate(words) if word in ("--ro-bind", "--ro-bind-try", "--bind")}
    assert not binds & {"/", "/etc", "/home", "/root", "/var", "/run", "/sys", str(tmp_path)}
    remounted = {words[at + 1] for at, word in enumerate(words) if word == "--remount-ro"}
    assert remounted == {"/", "/dev", "/proc"}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_a_program_whose_every_jump_lands_inside(machine: str) -> None:
    program = filter_for(machine)
    steps = [struct.unpack("=HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    assert len(program) % 8 == 0 and steps[-1][0] == 0x06
    for at, (code, yes, no, _) in enumerate(steps):
        if code in (0x15, 0x35, 0x45):
            assert at + 1 + max(yes, no) < len(steps)


def test_an_unknown_machine_has_no_filter() -> None:
    assert not knows("riscv64") and knows(platform.machine())


def test_of_etc_only_what_anyone_may_read_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "etc"
    for name, mode in (
        ("ssl/certs/a.pem", 0o644),
        ("ssl/certs/key.pem", 0o640),
        ("shadow", 0o640),
        ("ld.so.conf", 0o644),
    ):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("x")
        (source / name).chmod(mode)
    make_etc(tmp_path / "seen", uid=1, gid=2, source=source)
    files = {path for path, what in tree(tmp_path / "seen").items() if what != "folder"}
    assert files == {"ssl/certs/a.pem", "ld.so.conf", "passwd", "group", "hosts"}


def test_what_is_seen_of_etc_is_made_once_for_all_servers_of_a_data_folder(tmp_path: Path) -> None:
    made = [Staging(tmp_path / "staging").open(runner_for(str(tmp_path))).etc for _ in range(2)]
    assert made[0] == made[1] and "sandbox:" in (made[0] / "passwd").read_text()


def test_what_is_seen_of_etc_is_made_anew_when_anything_of_it_changed(tmp_path: Path) -> None:
    (tmp_path / "etc/ssl/certs").mkdir(parents=True)
    certificate = tmp_path / "etc/ssl/certs/a.pem"
    certificate.write_text("x")
    seen = [etc_key(uid=1, gid=2, source=tmp_path / "etc")]
    for change in (lambda: certificate.write_text("y"), lambda: certificate.chmod(0o600), certificate.unlink):
        next_tick()
        change()
        seen.append(etc_key(uid=1, gid=2, source=tmp_path / "etc"))
    seen.append(etc_key(uid=2, gid=2, source=tmp_path / "etc"))
    assert len(set(seen)) == len(seen) == 5
    assert etc_key(uid=2, gid=2, source=tmp_path / "etc") == seen[-1]


def test_an_etc_that_a_server_did_not_finish_is_not_used(tmp_path: Path) -> None:
    runner = runner_for(str(tmp_path))
    half = tmp_path / "staging" / f"etc-{etc_key(uid=runner.uid, gid=runner.gid)}.0123456789abcdef"
    half.mkdir(parents=True)
    etc = Staging(tmp_path / "staging").open(runner).etc
    assert (etc / "group").is_file() and not half.exists()


def test_a_stage_is_private_and_later_than_every_change_before_it(staging: Staging, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    stage = staging.open(runner_for(str(tmp_path)))
    assert stat.S_IMODE(stage.folder.stat().st_mode) == 0o700
    assert (tmp_path / "a").stat().st_ctime_ns < stage.mounted_at
    (tmp_path / "a").write_text("2")
    assert (tmp_path / "a").stat().st_ctime_ns >= stage.mounted_at


def test_the_next_tick_lies_between_the_changes_before_it_and_those_after_it(tmp_path: Path) -> None:
    """Whichever clock the kernel takes: a file whose time was looked at may carry a finer one than its neighbours."""
    file = tmp_path / "a"
    file.write_text("1")
    for round_ in range(50):
        file.stat()
        file.write_text(f"{round_} before")
        tick = next_tick()
        assert file.stat().st_ctime_ns < tick
        file.write_text(f"{round_} after")
        assert file.stat().st_ctime_ns >= tick


def test_what_bubblewrap_tells_is_understood_however_it_is_cut() -> None:
    with BubblewrapStatus.opened() as status:
        for piece in (b'{ "child-pid": 1', b', "net-namespace": 7 }\n{ "exit-', b'code": 0 }\n'):
            assert not status.began
            os.write(status.write_end, piece)
            status._read_status()
        assert status.began and status._process == 1 and status._network == 7


def test_a_staging_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(ToolFault, match="belongs to somebody else"):
        Staging(tmp_path / "link").open(runner_for(str(tmp_path)))


@as_root
@proves("TOOL-4")
async def test_root_runs_commands_as_the_workspaces_owner() -> None:
    base = Path("/var/tmp", f"anycowork-test-{os.getpid()}")
    try:
        (base / "workspace").mkdir(parents=True)
        (base / "outside").mkdir()
        (base / "workspace/a.txt").write_text("old\n")
        for path in (base / "workspace", base / "workspace/a.txt"):
            os.chown(path, OWNER, OWNER)
        bench = ToolWorkspace(base / "workspace", base / "outside")
        command = "id -u; echo new > a.txt; mkdir d; echo 1 > d/f; chmod 4755 d/f"
        result = await bench.call("execute_command", command=command)
        assert result.content.startswith(f"{OWNER}\n"), result.content
        found = {path: (base / "workspace" / path).stat() for path in ("a.txt", "d", "d/f")}
        assert {(one.st_uid, one.st_gid) for one in found.values()} == {(OWNER, OWNER)}
        assert not found["d/f"].st_mode & 0o4000 and (base / "workspace/a.txt").read_text() == "new\n"
        crowd = await bench.call("execute_command", command="for i in $(seq 100); do sleep 9 & done", timeout=5.0)
        assert "Resource temporarily unavailable" in crowd.content
    finally:
        await asyncio.to_thread(shutil.rmtree, base)


async def test_a_commit_onto_another_file_system_copies(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    root = memory / f"anycowork-test-{os.getpid()}"
    root.mkdir()
    try:
        (root / "a.txt").write_text("old\n")
        (root / "gone").mkdir()
        bench = ToolWorkspace(root, tmp_path)
        bench.sandbox.staging = Staging(tmp_path / "staging")
        result = await bench.call(
            "execute_command", command="echo new > a.txt; chmod 755 a.txt; ln -s a.txt l; rmdir gone"
        )
        assert "dropped" not in result.facts and result.error is None, result.content
        assert tree(root) == {"a.txt": b"new\n", "l": "-> a.txt"} and (root / "a.txt").stat().st_mode & 0o777 == 0o755
    finally:
        await asyncio.to_thread(shutil.rmtree, root)
