"""Sign-on with an OpenID provider: who comes, what their groups allow, and the end of their sessions."""

import asyncio
from pathlib import Path

import pytest

from support.live_server import live_server
from support.signed_on import LATER, MUCH_LATER, SignedOn, sign_on_server
from support.spec import proves


@proves("OPS-5/1")
async def test_a_person_signs_on_and_is_the_same_one_the_next_time(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as first, there.browser() as second:
        async with first.session.get(f"{first.url}/openid") as answer:
            assert await answer.json() == {"name": "Acme"}
        assert (signed := await first.sign_on(there.provider))[0] == 201, signed
        there.provider.claims["name"] = "Ada King"
        assert (await second.sign_on(there.provider))[0] == 201
        me, again = await first.me(), await second.me()
        assert me is not None and me == again and (me["name"], me["access"]) == ("Ada Lovelace", "member")
        assert "secret" not in there.provider.forms[0] and there.provider.forms[0]["client_id"] == "anycowork"


@proves("OPS-5/1")
async def test_people_of_one_name_are_two_people_and_none_is_taken_for_one_who_was_here(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as first, there.browser() as second:
        await there.server.ask("POST", "/people", {"name": "Ada Lovelace", "access": "admin"}, expect=201)
        await first.sign_on(there.provider)
        there.provider.claims["sub"] = "u2"
        await second.sign_on(there.provider)
        assert await there.people() == {"Ada Lovelace": "admin", "Ada Lovelace 2": "member", "Ada Lovelace 3": "member"}


@proves("OPS-5/2")
async def test_the_access_is_what_the_groups_give_at_each_sign_on_and_renewal(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        there.provider.claims["groups"] = ["guests", "root", "other"]
        await browser.sign_on(there.provider)
        assert await there.people() == {"Ada Lovelace": "admin"}
        there.provider.claims["groups"] = "guests"
        await there.look(LATER)
        me = await browser.me()
        assert me is not None and me["access"] == "viewer"


@proves("OPS-5/2")
async def test_the_limits_of_a_group_hold_for_those_who_are_in_it_at_the_provider(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        there.provider.claims["groups"] = ["staff", "/teams/design", "/x/design", "x" * 500, "a\nb", "", "a//b"]
        await browser.sign_on(there.provider)
        [_, ada] = (await there.server.ask("GET", "/people"))["people"]
        assert ada["groups"] == ["staff", "teams/design", "x/design"], "of one name in two folders are two groups"
        there.provider.claims["groups"] = ["staff"]
        await there.look(LATER)
        [_, ada] = (await there.server.ask("GET", "/people"))["people"]
        assert ada["groups"] == ["staff"]


@proves("OPS-5/2")
async def test_who_is_in_no_group_does_not_get_in_and_who_left_them_all_is_put_out(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser, there.browser() as outsider:
        await browser.sign_on(there.provider)
        there.provider.claims = {"sub": "u2", "name": "Eve", "groups": ["others"]}
        status, told = await outsider.sign_on(there.provider)
        assert status == 403 and "None of your groups" in told and await there.people() == {"Ada Lovelace": "member"}
        there.provider.claims = {"sub": "u1", "groups": []}
        await there.look(LATER)
        assert await browser.me() is None and await there.people() == {"Ada Lovelace": "viewer"}


@proves("OPS-5/3")
@pytest.mark.parametrize("by", ["subject", "session"])
async def test_a_session_ends_when_the_provider_says_that_the_person_signed_out(tmp_path: Path, by: str) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as first, there.browser() as second:
        there.provider.claims["sid"] = "s1"
        await first.sign_on(there.provider)
        there.provider.claims |= {"sid": "s2"} if by == "session" else {"sub": "u2"}
        await second.sign_on(there.provider)
        await there.sign_out(**({"sid": "s1", "sub": None} if by == "session" else {"sub": "u1"}))
        assert await first.me() is None and await second.me() is not None


@proves("OPS-5/3")
async def test_a_session_is_renewed_while_the_provider_renews_it_and_ends_when_it_does_not(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        await browser.sign_on(there.provider)
        there.provider.answers_of_tokens = {"refresh_token": "r2"}
        await there.look(LATER)
        assert await browser.me() is not None
        there.provider.away = True
        await there.look("2026-11-19T08:20:00.000000Z")
        assert await browser.me() is not None, "a provider that is away for minutes ends nothing"
        there.provider.away, there.provider.refusal = False, "invalid_grant"
        await there.look("2026-11-19T08:21:00.000000Z")
        assert await browser.me() is None
        assert [form.get("refresh_token") for form in there.provider.forms] == [None, "r1", "r2"]


@proves("OPS-5/3")
@pytest.mark.parametrize("refreshes", [False, True])
async def test_a_session_outlives_no_sign_on_that_is_not_renewed(tmp_path: Path, refreshes: bool) -> None:
    async with sign_on_server(tmp_path, refreshes=refreshes) as there, there.browser() as browser:
        await browser.sign_on(there.provider)
        assert await browser.me() is not None
        there.provider.away, there.clock.time = True, MUCH_LATER
        assert await browser.me() is None, "also before the server looked"
        await there.look(MUCH_LATER)
        assert not there.server.server.services.access.sessions.signed_on()


@proves("OPS-5/3")
async def test_what_a_browser_receives_ends_with_its_sign_on_also_where_it_signed_another_in(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser, there.browser() as other:
        await browser.sign_on(there.provider)
        headers = {"X-AnyCowork-Page-Key": browser.page_key}
        async with browser.session.post(f"{browser.url}/session/codes", headers=headers, json={}) as answer:
            code = (await answer.json())["code"]
        async with other.session.post(f"{other.url}/session", json={"code": code}) as answer:
            other.page_key = (await answer.json())["page_key"]
        assert await other.me() is not None
        stream = await browser.session.get(f"{browser.url}/events", headers=headers)
        there.provider.refusal = "invalid_grant"
        await there.look(LATER)
        async with asyncio.timeout(20):
            while await stream.content.readany():
                pass
        assert await browser.me() is None and await other.me() is None


@proves("OPS-5/3")
async def test_a_sign_on_lasts_over_a_restart_and_its_key_lies_in_the_owners_file(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there:
        async with there.browser() as browser:
            await browser.sign_on(there.provider)
            stored = (tmp_path / "data" / "sessions.json").read_text()
            assert '"r1"' in stored and (tmp_path / "data" / "sessions.json").stat().st_mode & 0o077 == 0
        shown = await there.server.ask("GET", "/settings")
        assert "r1" not in str(shown)


@proves("OPS-5/4")
async def test_without_a_provider_nothing_is_there(tmp_path: Path) -> None:
    async with live_server(tmp_path) as server:
        assert await server.ask("GET", "/openid") == {"name": None}
        browser = SignedOn(server.url, server.session)
        for method, path in (("GET", "/openid/sign-in"), ("GET", "/openid/callback"), ("POST", "/openid/logout")):
            async with browser.session.request(
                method, f"{server.url}{path}", data={} if method == "POST" else None
            ) as answer:
                assert answer.status == 404
        assert server.server.services.access.sign_on is None
