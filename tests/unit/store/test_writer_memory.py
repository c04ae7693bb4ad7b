"""The writer's thread keeps nothing of what it has done: a write may hold thousands of paths, an answer a million hashes."""

import asyncio
import gc
import weakref
from pathlib import Path

from support.stored import opened


class Large:
    """Stands for something that takes much memory."""


async def test_neither_a_work_nor_its_result_is_kept_until_the_next_write(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        held, found = Large(), []

        def work(connection: object, held: Large = held) -> Large:
            result = Large()
            found.append(weakref.ref(result))
            return result

        given = weakref.ref(held)
        await database.writer.run(work)
        del held, work
        for _ in range(100):
            gc.collect()
            if given() is None and found[0]() is None:
                break
            await asyncio.sleep(0.01)
        assert given() is None and found[0]() is None
