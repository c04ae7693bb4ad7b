"""Any store: standing rules hold where they say, and end when they say."""

from dataclasses import replace

import pytest

from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.journal import Change, RemoveChat
from anycowork.domain.rules import Effect, Rule, RuleScope
from support.store_factories import OpenStore
from support.stored import CLOCK, add_chat

HERE = "/home/ann/project"


GLOBAL = Rule("r1", "update_file", "/src/*", Effect.ALLOW, RuleScope.GLOBAL, created_by="person:ann", created_at="t")


THERE = replace(GLOBAL, id="r2", scope=RuleScope.WORKSPACE, workspace="/elsewhere")


SESSION = replace(GLOBAL, id="r3", scope=RuleScope.SESSION, chat_id="c1", effect=Effect.DENY)


async def test_each_scope_holds_where_it_says_and_after_reopening(open_store: OpenStore) -> None:
    async with open_store() as database:
        for rule in (GLOBAL, THERE, SESSION):
            await database.rules.add(rule)
        with pytest.raises(Conflict):
            await database.rules.add(GLOBAL)
    async with open_store() as database:
        assert await database.rules.all() == [GLOBAL, THERE, SESSION]
        assert await database.rules.for_call("c1", HERE) == (GLOBAL, SESSION)
        assert await database.rules.for_call("c2", "/elsewhere") == (GLOBAL, THERE)


async def test_the_same_rules_are_the_same_object_until_one_changes(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.rules.add(GLOBAL)
        first = await database.rules.for_call("c1", HERE)
        assert await database.rules.for_call("c1", HERE) is first
        await database.rules.change(replace(GLOBAL, effect=Effect.DENY))
        assert [rule.effect for rule in await database.rules.for_call("c1", HERE)] == [Effect.DENY]
        await database.rules.remove("r1")
        assert await database.rules.for_call("c1", HERE) == ()
        for gone in (database.rules.remove("r1"), database.rules.change(GLOBAL)):
            with pytest.raises(NotFound):
                await gone


async def test_a_rule_written_with_a_chats_change_holds_at_once_and_ends_with_the_chat(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.journal.write(add_chat("c1"))
        assert await database.rules.for_call("c1", HERE) == ()
        await database.journal.write(Change("c1", (SESSION,)))
        assert await database.rules.for_call("c1", HERE) == (SESSION,)
        await database.journal.write(Change("c1", (RemoveChat(),)))
        assert await database.rules.for_call("c1", HERE) == () and await database.rules.all() == []


async def test_an_expired_rule_holds_no_more_but_is_still_listed(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.rules.add(replace(GLOBAL, expires_at=CLOCK.now()))
        assert await database.rules.for_call("c1", HERE) == ()
        assert len(await database.rules.all()) == 1
