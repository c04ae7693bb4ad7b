"""What limits cost a turn: nothing where there are none, one read where there are."""

from pathlib import Path

from anycowork.domain.journal import Change, Reserve
from anycowork.domain.limits import EACH, DayLimits, LimitKind
from support.stored import add_chat, opened


async def statements(folder: Path, limits: DayLimits | None) -> list[str]:
    """Those of the second reservation: by then the limits are known."""
    async with opened(folder) as database:
        if limits is not None:
            await database.limits.put({(LimitKind.PERSON, EACH): limits}, {}, by="person:owner")
        await database.journal.write(add_chat("c1"))
        executed: list[str] = []
        for number in range(2):
            database._connection.set_trace_callback(executed.append)  # type: ignore[attr-defined]
            executed.clear()
            reserve = Reserve(f"r{number}", "t1", "turn", "m/m", 10, "p1", "2026-11-19")
            await database.journal.write(Change("c1", (reserve,)))
        database._connection.set_trace_callback(None)  # type: ignore[attr-defined]
        return executed


async def test_no_statement_is_added_without_limits_and_one_read_with_them(tmp_path: Path) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "with").mkdir()
    without = await statements(tmp_path / "without", None)
    limited = await statements(tmp_path / "with", DayLimits(tokens_per_day=100_000))
    assert len(limited) == len(without) + 1, (limited, without)
    assert not [statement for statement in without if "limits" in statement or "payer IN" in statement]
