"""The rules table: what holds where, and that a change holds at once."""

import asyncio
from dataclasses import replace
from pathlib import Path

from anycowork.domain.rules import Effect, Rule, RuleScope
from support.stored import held, opened

HERE = "/home/ann/project"


GLOBAL = Rule("r1", "update_file", "/src/*", Effect.ALLOW, RuleScope.GLOBAL, created_by="person:ann", created_at="t")


SESSION = replace(GLOBAL, id="r3", scope=RuleScope.SESSION, chat_id="c1", effect=Effect.DENY)


async def test_whoever_leaves_while_a_rule_is_written_does_not_leave_old_rules_behind(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        with held(database.writer) as gate:
            async with asyncio.TaskGroup() as tasks:
                adding = tasks.create_task(database.rules.add(SESSION))
                await asyncio.sleep(0)
                assert await database.rules.for_call("c1", HERE) == ()
                adding.cancel()
                gate.set()
        assert await database.rules.for_call("c1", HERE) == (SESSION,)
