"""One daemon per data folder, proved with real processes."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from anycowork.domain.errors import StorageFault
from anycowork.server import data_folder
from anycowork.server.data_folder import (
    AlreadyRunning,
    ServerInfo,
    is_locked,
    load_or_create_token,
    lock_data_folder,
    running_server,
    stored_token,
)
from support.spec import proves

SOURCE = Path(data_folder.__file__).parents[1]
HOLDER = """
import os, sys
from pathlib import Path
from anycowork.server.data_folder import ServerInfo, lock_data_folder
with lock_data_folder(Path(sys.argv[1])) as held:
    if sys.argv[2] == "ready":
        held.announce(ServerInfo(pid=os.getpid(), url="http://127.0.0.1:1", host="127.0.0.1", port=1, started_at="t", version="v"))
    print("holding", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def another_daemon(data: Path, *, stage: str = "ready") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(data), stage],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert process.stdin is not None and process.stdout is not None
    with process, process.stdin, process.stdout:
        assert process.stdout.readline() == "holding\n"
        try:
            yield process
        finally:
            process.kill()
            process.wait(60)


def info(pid: int = 1) -> ServerInfo:
    return ServerInfo(pid=pid, url="http://127.0.0.1:1", host="127.0.0.1", port=1, started_at="t", version="v")


def test_a_second_server_on_the_same_folder_is_refused_naming_url_and_pid(tmp_path: Path) -> None:
    with another_daemon(tmp_path) as other:
        expected = rf"http://127\.0\.0\.1:1 \(pid {other.pid}\).*--data-dir"
        with pytest.raises(AlreadyRunning, match=expected), lock_data_folder(tmp_path):
            pytest.fail("both hold the folder")
        assert running_server(tmp_path) == info(other.pid)


def test_a_server_that_is_just_starting_keeps_others_out_but_is_not_yet_found(tmp_path: Path) -> None:
    with another_daemon(tmp_path, stage="starting"):
        assert is_locked(tmp_path)
        assert running_server(tmp_path) is None
        with pytest.raises(AlreadyRunning, match="just starting"), lock_data_folder(tmp_path):
            pytest.fail("both hold the folder")


@proves("OPS-2")
def test_after_a_kill_the_leftover_file_deceives_nobody_and_the_folder_is_free(tmp_path: Path) -> None:
    with another_daemon(tmp_path) as other:
        other.send_signal(signal.SIGKILL)
        other.wait(60)
    # This test's own pid is alive, as a reused pid would be: the lock decides, not the pid.
    (tmp_path / "server.json").write_text(info(os.getpid()).model_dump_json())
    assert running_server(tmp_path) is None
    with lock_data_folder(tmp_path):
        assert not (tmp_path / "server.json").exists()


def test_folder_of_a_killed_server_is_waited_for_while_a_program_it_started_still_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_folder, "_LOCK_WAIT_SECONDS", 0.0)
    forking = HOLDER.replace("    print(", "    os.fork() or os.read(0, 1) or os._exit(0)\n    print(")
    with subprocess.Popen(
        [sys.executable, "-c", forking, str(tmp_path), "ready"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"holding\n"
        process.kill()
        process.wait(60)
        assert is_locked(tmp_path)
        with ThreadPoolExecutor(1) as pool:
            taken = pool.submit(lambda: lock_data_folder(tmp_path).__enter__())
            process.stdin.close()
            assert taken.result(60).data_dir == tmp_path


def test_a_clean_end_removes_the_file_and_frees_the_folder(tmp_path: Path) -> None:
    with lock_data_folder(tmp_path) as held:
        held.announce(info())
        assert running_server(tmp_path) == info()
    assert running_server(tmp_path) is None
    assert not (tmp_path / "server.json").exists()
    with lock_data_folder(tmp_path):
        assert is_locked(tmp_path)


def test_asking_about_a_folder_that_does_not_exist_creates_nothing(tmp_path: Path) -> None:
    assert running_server(tmp_path / "none") is None
    assert list(tmp_path.iterdir()) == []


def test_an_unreadable_announcement_is_no_announcement(tmp_path: Path) -> None:
    with lock_data_folder(tmp_path):
        (tmp_path / "server.json").write_text(json.dumps({"pid": "?"}))
        assert running_server(tmp_path) is None


@proves("SEC-2")
def test_what_the_daemon_writes_is_readable_by_the_owner_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    with lock_data_folder(data) as held:
        held.announce(info())
        load_or_create_token(data, None)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in data.iterdir()}
        assert modes == {"lock": 0o600, "server.json": 0o600, "token": 0o600}
        assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_a_folder_that_others_use_is_not_taken_and_not_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    (tmp_path / "shared" / "letter.txt").write_text("x")
    with pytest.raises(StorageFault, match=r"contains other files.*--data-dir"), lock_data_folder(tmp_path / "shared"):
        pass
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o755


@pytest.mark.parametrize("name", [None, "config.toml", "plugins", "roles"])
def test_a_folder_that_was_prepared_by_hand_is_taken_and_closed(tmp_path: Path, name: str | None) -> None:
    (tmp_path / "own").mkdir(mode=0o755)
    if name is not None:
        (tmp_path / "own" / name).touch()
    with lock_data_folder(tmp_path / "own"):
        assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o700


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with (
        pytest.raises(StorageFault, match="data cannot be created: there is a file of that name"),
        lock_data_folder(tmp_path / "data"),
    ):
        pass


@proves("SEC-1")
def test_a_token_is_made_at_the_first_start_and_kept(tmp_path: Path) -> None:
    first = load_or_create_token(tmp_path, None)
    assert re.fullmatch(r"[\w-]{43}", first.get_secret_value())
    assert load_or_create_token(tmp_path, None) == first == stored_token(tmp_path)


def test_a_given_token_takes_the_place_of_the_stored_one(tmp_path: Path) -> None:
    load_or_create_token(tmp_path, None)
    assert load_or_create_token(tmp_path, SecretStr("mine")) == SecretStr("mine") == stored_token(tmp_path)


@proves("SEC-2")
def test_a_token_file_that_others_could_read_is_closed_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("mine\n")
    (tmp_path / "token").chmod(0o644)
    load_or_create_token(tmp_path, None)
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
