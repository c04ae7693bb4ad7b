"""Which joined worker gets a task, and what becomes of its runs."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anycowork.domain.errors import Conflict, TooLarge, Unauthenticated
from anycowork.domain.job_workers import FULL, JoinedWorker, WorkerGone, WorkspaceChanged
from anycowork.sandbox.remote.remote_runs import MOST_BEGINNINGS, MOST_RETURNED, RemoteRuns
from support.spec import proves


def worker(name: str, *labels: str) -> JoinedWorker:
    return JoinedWorker(name, f"host-{name}", labels, FULL, "x86_64", "1", "2026-01-01")


@proves("JOB-12/1")
async def test_task_goes_to_the_worker_with_its_labels_and_its_place_is_free_again(tmp_path: Path) -> None:
    runs = RemoteRuns(tmp_path)
    runs.seen(worker("plain"))
    assert not runs.offers(("gpu",)) and runs.assign("t0", "task", ("gpu",)) is None
    runs.seen(worker("strong", "gpu", "large"))
    assert runs.assign("t1", "task", ("gpu",)) == "strong"
    assert runs.assign("t2", "task", ()) == "plain", "the other one has a task"
    runs.release("t1")
    assert runs.living()["strong"].tasks.keys().isdisjoint({"t1"})


@proves("JOB-12/4")
async def test_what_ran_on_a_worker_that_restarted_is_told_as_gone(tmp_path: Path) -> None:
    runs = RemoteRuns(tmp_path)
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    runs.seen(worker("one")).runs["r"] = cast(Any, SimpleNamespace(done=done))
    runs.come_back(worker("one"))
    assert isinstance(done.exception(), WorkerGone)


class ChangingTree(RemoteRuns):
    """Files change under the first commands; `changes` is how often."""

    changes = 0

    async def _run_once(self, *_: Any) -> Any:
        if self.changes > 0:
            self.changes -= 1
            raise WorkspaceChanged("a.txt changed while it travelled.")
        return "done"


@proves("JOB-12/3")
@pytest.mark.parametrize(("changes", "ends"), [(0, True), (MOST_BEGINNINGS - 1, True), (MOST_BEGINNINGS, False)])
async def test_command_begins_again_if_files_change_while_they_travel_but_not_for_ever(
    tmp_path: Path, changes: int, ends: bool
) -> None:
    runs = ChangingTree(tmp_path)
    runs.changes = changes
    running = runs.run("w", cast(Any, None), cast(Any, None), cast(Any, None), covered=(), on_output=None)
    if ends:
        assert cast(Any, await running) == "done"
    else:
        with pytest.raises(WorkspaceChanged):
            await running


@proves("JOB-12/5")
async def test_worker_that_was_removed_is_heard_no_more_and_none_sends_without_end(tmp_path: Path) -> None:
    runs = RemoteRuns(tmp_path)
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    runs.seen(worker("one")).runs["r"] = cast(
        Any, SimpleNamespace(done=done, received=MOST_RETURNED, spool=tmp_path, contents={})
    )
    with pytest.raises(TooLarge):
        await runs.put_content(worker("one"), "r", "a" * 64, 0, b"x")
    runs.remove("one")
    assert isinstance(done.exception(), WorkerGone)
    with pytest.raises(Unauthenticated):
        runs.seen(worker("one"))


async def test_a_piece_whose_answer_was_lost_is_taken_again_and_another_one_in_its_place_is_not(tmp_path: Path) -> None:
    runs = RemoteRuns(tmp_path)
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    contents: dict[str, Path] = {}
    runs.seen(worker("one")).runs["r"] = cast(
        Any, SimpleNamespace(done=done, received=0, spool=tmp_path, contents=contents)
    )
    name = "a" * 64
    for offset, data in ((0, b"first "), (0, b"first "), (6, b"second"), (6, b"second")):
        await runs.put_content(worker("one"), "r", name, offset, data)
    assert contents[name].read_bytes() == b"first second"
    for offset, data in ((6, b"forged"), (0, b"first "), (13, b"gap")):
        with pytest.raises(Conflict):
            await runs.put_content(worker("one"), "r", name, offset, data)
