"""Any store: idempotency keys, system prompts, registered roots, tasks of jobs and queued messages."""

import asyncio
import sys

import pytest

from anycowork.domain.errors import NotFound
from anycowork.domain.jobs import JobTask
from anycowork.domain.journal import Change, RemoveChat, RemoveQueued
from anycowork.domain.messages import QueuedMessage
from anycowork.domain.snapshots import PathImage, PathKind, Snapshot, SnapshotMoment
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from support.store_factories import OpenStore
from support.stored import add_chat


async def test_a_claimed_key_gives_back_its_first_request_and_answer(open_store: OpenStore) -> None:
    async with open_store() as store:
        claim = {"path": "/context", "body_hash": "h"}
        assert await store.idempotency.begin("ann", "k", **claim) is None
        begun = await store.idempotency.begin("ann", "k", **claim)
        assert begun is not None and (begun.path, begun.body_hash, begun.status) == ("/context", "h", None)
        await store.idempotency.finish("ann", "k", status=201, response=b"{}")
        done = await store.idempotency.begin("ann", "k", **claim)
        assert done is not None and (done.status, done.response) == (201, b"{}")
        assert await store.idempotency.begin("bob", "k", **claim) is None, "a key belongs to its principal"


async def test_an_abandoned_key_can_be_claimed_again(open_store: OpenStore) -> None:
    async with open_store() as store:
        for _ in range(2):
            assert await store.idempotency.begin("ann", "k", path="/context", body_hash="h") is None
            await store.idempotency.abandon("ann", "k")


async def test_a_system_prompt_is_kept_changed_and_removed(open_store: OpenStore) -> None:
    async with open_store() as store:
        added = await store.system_prompts.add(name="mine", content="Be brief.")
        await store.system_prompts.change(added.id, name="mine", content="Be long.")
    async with open_store() as store:
        found = await store.system_prompts.find(added.id)
        assert found is not None and (found.name, found.content) == ("mine", "Be long.")
        await store.system_prompts.remove(added.id)
        assert await store.system_prompts.find(added.id) is None


async def test_trust_needs_a_registered_root(open_store: OpenStore) -> None:
    async with open_store() as store:
        with pytest.raises(NotFound):
            await store.roots.set_trust("/w", "AGENTS.md", "hash")
        for _ in range(2):
            await store.roots.register("/w", registered_by="person:ann")
        await store.roots.set_trust("/w", "AGENTS.md", "hash")
        [root] = await store.roots.all()
        assert (root.root, root.trust) == ("/w", {"AGENTS.md": "hash"})


async def test_a_task_is_read_as_it_was_written_last_whichever_columns_were_filled(open_store: OpenStore) -> None:
    task = JobTask("j", "c1", "a", 0, "look", ("b",))
    full = replace(
        task,
        status=TaskStatus.FAILED,
        result="",
        error={"code": "x"},
        turn_id="t",
        agent="worker",
        workspace="/w",
        conflicts={"p": "task"},
        started_at="1",
        completed_at="2",
    )
    some = replace(task, id="b", status=TaskStatus.RUNNING, dependencies=(), started_at="1")
    async with open_store() as store:
        await store.journal.write(add_chat("c1", task, some))
        assert sorted(await store.store.tasks.of_job("j"), key=lambda one: one.id) == [task, some]
        _, before = await store.store.tasks.since("c1", "j", -1)
        await store.journal.write(Change("c1", (full,)))
        assert (await store.store.tasks.since("c1", "j", before))[0] == [full]
        await store.journal.write(Change("c1", (replace(full, result="no"), some, task)))
        assert await store.store.tasks.find("j", "a") == task, (
            "of two in one change the last counts, and what is empty is emptied"
        )


async def test_every_path_of_a_snapshot_is_read_as_it_was_written_however_many_there_are(open_store: OpenStore) -> None:
    async with open_store() as store:
        await store.journal.write(add_chat())
        for count in (0, 1, 49, 50, 51, 120):
            images = tuple(
                PathImage(f"{number:03}.txt", PathKind.FILE, f"h{number}", 0o644, number) for number in range(count)
            )
            taken = Snapshot(f"s{count}", "c1", "/w", SnapshotMoment.BEFORE, f"c{count}", images, files=count)
            await store.journal.write(Change("c1", (taken,)))
            found = await store.store.snapshots.find("c1", taken.id)
            assert found is not None and found.images == images


async def test_a_large_change_is_read_beside_the_event_loop(open_store: OpenStore) -> None:
    """A restore of thousands of files reads a row for each: meanwhile the server answers others."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    images = tuple(PathImage(f"{number:04}.txt", PathKind.FILE, "h", 0o644, 1) for number in range(2_000))
    taken = Snapshot("s1", "c1", "/w", SnapshotMoment.BEFORE, "k1", images, files=len(images))
    async with open_store() as store:
        await store.journal.write(add_chat())
        await store.journal.write(Change("c1", (taken,)))
        sys.setprofile(count)  # of this thread, which is the event loop's
        try:
            found = await store.store.snapshots.find("c1", "s1")
            changes = await store.store.snapshots.changes_since(taken)
        finally:
            sys.setprofile(None)
    assert found is not None and len(found.images) == 2_000 and len(changes) == 1
    assert calls < 500


async def test_message_that_is_queued_after_an_empty_queue_was_read_is_found(open_store: OpenStore) -> None:
    async with open_store() as database:
        journal, store = database.journal, database.store
        await journal.write(add_chat("c1"))
        assert await store.queue.of_chat("c1") == [] == await store.queue.of_chat("c1")
        queued = QueuedMessage("q1", "c1", "Stop.", "owner", steer=True, created_at="2026-01-02T03:04:05.000006Z")
        reading = asyncio.gather(*(store.queue.of_chat("c1") for _ in range(8)))
        await asyncio.gather(journal.write(Change("c1", (queued,))), reading)
        assert await store.queue.of_chat("c1") == [queued]
        await journal.write(Change("c1", (RemoveQueued("q1"),)))
        assert await store.queue.of_chat("c1") == []
        await journal.write(Change("c1", (RemoveChat(),)))
        await journal.write(add_chat("c1"), Change("c1", (queued,)))
        assert await store.queue.of_chat("c1") == [queued]
