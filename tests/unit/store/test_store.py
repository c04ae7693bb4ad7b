"""Pages, keys, roots, idempotency and blobs, as the faces read them."""

from pathlib import Path

from anycowork.store.sql.idempotency import RequestState, StoredAnswer
from support.stored import opened


async def test_a_key_used_twice_brings_back_the_first_answer(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        cli = database.idempotency
        assert await cli.begin("p", "k", path="/x", body_hash="b") is None
        assert await cli.begin("p", "k", path="/y", body_hash="c") == StoredAnswer(
            "/x", "b", RequestState.BEGUN, None, None
        )
        assert await cli.begin("other", "k", path="/x", body_hash="b") is None
        await cli.finish("p", "k", status=202, response=b"{}")
        await cli.abandon("p", "k")
        assert await cli.find("p", "k") == StoredAnswer("/x", "b", RequestState.FINISHED, 202, b"{}")
        await cli.abandon("other", "k")
        assert await cli.find("other", "k") is None
        assert await cli.forget(before="9999") == 1


async def test_a_request_that_the_server_did_not_outlive_is_of_unknown_outcome(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.idempotency.begin("p", "k", path="/x", body_hash="b")
    async with opened(tmp_path) as database:
        remembered = await database.idempotency.find("p", "k")
        assert remembered is not None and remembered.state is RequestState.UNKNOWN
