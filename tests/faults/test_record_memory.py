"""What a long chat takes in memory does not grow with it: its exports, a check of its audit chain, its pages, its deletion.

`make test-large` repeats this with ANYCOWORK_LARGE_MESSAGES messages.
"""

import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anycowork.chats.export.chat_export import ChatExport, ExportFormat
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.reader_view import ReaderViews
from anycowork.config.settings import Settings
from anycowork.domain.journal import Change, RemoveChat
from anycowork.domain.principals import Principal, PrincipalKind
from anycowork.server.audit.audit_check import check_audit
from anycowork.tools.toolbox import ToolRegistry
from support.spec import proves
from support.stored import CLOCK, add_chat, message, opened

MESSAGES = int(os.environ.get("ANYCOWORK_LARGE_MESSAGES", "1500"))
TEXT = "A sentence of some length, as people and agents write them. " * 60
MOST_BYTES = 5_000_000  # the messages of the small chat alone take more
AT_ONCE = 100
VIEWER = Principal("v", PrincipalKind.PERSON, "Vic")


@proves("OPS-4/4")
async def test_exports_an_audit_check_pages_and_the_deletion_of_a_long_chat_take_bounded_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        for start in range(0, MESSAGES, AT_ONCE):
            words = tuple(message(f"m{at}", f"{at} {TEXT}") for at in range(start, start + AT_ONCE))
            await database.journal.write(Change("c1", words))
        plans = PlanAudit(store=database.store, toolbox=ToolRegistry([]))
        export = ChatExport(store=database.store, plan_audit=plans, clock=CLOCK, views=ReaderViews(database.rules))
        for wanted in ExportFormat:
            with peak_below(MOST_BYTES):
                file = await export.export(VIEWER, "c1", wanted)
                assert sum([len(piece) async for piece in file.content]) > MESSAGES * len(TEXT)
        with peak_below(MOST_BYTES):
            report = check_audit(Settings(data_dir=tmp_path), CLOCK.now(), full=True)
            assert report.checked == MESSAGES and not report.as_json()["broken"]
        with peak_below(MOST_BYTES):
            for before in (None, 60):
                assert len((await database.store.messages.page("c1", before=before, limit=50)).bodies) == 50
        with peak_below(MOST_BYTES):
            await database.journal.write(Change("c1", (RemoveChat(),)))
        assert await database.store.messages.search("sentence", limit=5) == ([], None)


@contextmanager
def peak_below(most: int) -> Iterator[None]:
    """Counts what Python allocates, which does not depend on the machine."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most, f"{peak:,} bytes"
