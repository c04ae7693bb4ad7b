"""Attempts to be somebody through the sign-on with an OpenID provider, or to stay when it is over."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from anycowork.config.sections import GroupAccess, OpenIdEntry
from anycowork.domain.people import read_person_name
from anycowork.server.sign_on.sign_on_service import access_of, usable_name
from support.openid_provider import CLIENT_ID, ScriptedOpenIdProvider, new_key
from support.signed_on import LATER, SignOnServer, sign_on_server
from support.spec import proves

PASSED, TO_COME = 1_700_000_000, 9_000_000_000


async def refused(there: SignOnServer) -> str:
    """Tries to sign on, and returns why that was refused. Nobody came."""
    async with there.browser() as browser:
        status, told = await browser.sign_on(there.provider)
        assert status in (401, 403, 502), (status, told)
        assert await browser.me() is None
    assert await there.people() == {}
    return told


@proves("OPS-5/1")
@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"},
        {"aud": "another-program"},
        {"aud": [CLIENT_ID, "another-program"]},
        {"aud": [CLIENT_ID, "another-program"], "azp": "another-program"},
        {"nonce": "of-another-sign-in"},
        {"nonce": None},
        {"nonce": 7},
        {"exp": PASSED},
        {"exp": None},
        {"iat": None},
        {"nbf": TO_COME},
        {"sub": None},
        {"sub": ""},
        {"sub": ["u1", "u2"]},
        {"sub": 7},
    ],
    ids=str,
)
async def test_a_token_that_is_not_for_this_sign_in_lets_nobody_in(tmp_path: Path, changed: dict[str, Any]) -> None:
    async with sign_on_server(tmp_path, changed=changed) as there:
        await refused(there)


def unsigned(provider: ScriptedOpenIdProvider, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, None, algorithm="none", headers={"kid": provider.key_id})


def signed_with_the_public_key(provider: ScriptedOpenIdProvider, claims: dict[str, Any]) -> str:
    public = provider.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    head = {"alg": "HS256", "typ": "JWT", "kid": provider.key_id}
    body = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, claims))
    mark = hmac.new(public, body.encode(), hashlib.sha256).digest()
    return f"{body}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def signed_with_another_key(provider: ScriptedOpenIdProvider, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, new_key(), algorithm="RS256", headers={"kid": provider.key_id})


def signed_with_a_key_that_it_brings(provider: ScriptedOpenIdProvider, claims: dict[str, Any]) -> str:
    own = new_key()
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(own.public_key()))
    return jwt.encode(
        claims, own, algorithm="RS256", headers={"kid": "mine", "jwk": public, "jku": "http://127.0.0.1:9/"}
    )


@proves("OPS-5/1")
@pytest.mark.parametrize(
    "forge", [unsigned, signed_with_the_public_key, signed_with_another_key, signed_with_a_key_that_it_brings]
)
async def test_a_token_that_the_provider_did_not_sign_lets_nobody_in(
    tmp_path: Path, forge: Callable[[ScriptedOpenIdProvider, dict[str, Any]], str]
) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        provider = there.provider
        code, state = provider.sign_in(await browser.begin())
        now = int(time.time())
        claims = {
            "iss": provider.issuer,
            "aud": CLIENT_ID,
            "sub": "u1",
            "groups": ["root"],
            "iat": now,
            "exp": now + 300,
            "nonce": provider.codes[code]["nonce"],
        }
        provider.answers_of_tokens = {"id_token": forge(provider, claims)}
        status, _ = await browser.come_back(code, state)
        assert status == 401 and await there.people() == {}


@proves("OPS-5/1")
async def test_who_did_not_begin_a_sign_in_here_cannot_finish_one(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as victim, there.browser() as attacker:
        code, state = there.provider.sign_in(await attacker.begin())
        assert (await victim.come_back(code, state))[0] == 401, "a link of an attacker signs nobody in as the attacker"
        await victim.begin()
        assert (await victim.come_back(code, state))[0] == 401, "the state of another browser"
        assert (await attacker.come_back(code, state + "x"))[0] == 401
        assert not there.provider.forms, "the provider was asked for nothing"
        name = there.server.server.services.access.sessions.cookie_name + "_sign_in"
        body = json.dumps({"state": "s", "nonce": "n", "verifier": "v", "until": "9999"})
        for cookie in (
            "",
            "x",
            ".",
            f"{base64.urlsafe_b64encode(body.encode()).decode().rstrip('=')}.{'0' * 64}",
            "ü.ü",
        ):
            async with aiohttp.ClientSession() as forger:
                query = {"code": code, "state": "s"}
                headers = {"Cookie": f"{name}={cookie}"}
                async with forger.get(
                    f"{there.server.url}/openid/callback", params=query, headers=headers, allow_redirects=False
                ) as answer:
                    assert answer.status == 401


@proves("OPS-5/1")
async def test_a_code_is_good_once_and_a_refusal_of_the_provider_is_told(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        code, state = there.provider.sign_in(await browser.begin())
        assert (await browser.come_back(code, state))[0] == 303
        assert (await browser.come_back(code, state))[0] == 401
        await browser.begin()
        async with browser.session.get(f"{browser.url}/openid/callback?error=access_denied") as answer:
            assert answer.status == 401 and "Begin again" in await answer.text()


@proves("OPS-5/1")
@pytest.mark.parametrize(
    "announced",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "file:///etc/passwd"},
        {"token_endpoint": None},
        {"token_endpoint": ["x"]},
        {"jwks_uri": "http://127.0.0.1:9/"},
    ],
    ids=str,
)
async def test_a_provider_that_announces_nonsense_is_told_as_one(tmp_path: Path, announced: dict[str, Any]) -> None:
    async with sign_on_server(tmp_path, announced=announced) as there, there.browser() as browser:
        async with browser.session.get(f"{browser.url}/openid/sign-in", allow_redirects=False) as answer:
            if answer.status == 303:
                code, state = there.provider.sign_in(answer.headers["location"])
                status, told = await browser.come_back(code, state)
            else:
                status, told = answer.status, await answer.text()
        assert (status == 502 and "Acme" in told) or "issuer" in told, told
        assert await there.people() == {}


@proves("OPS-5/1")
async def test_a_large_answer_or_none_of_a_provider_is_bounded(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path, answers_of_tokens={"id_token": "x" * 3_000_000}) as there:
        assert "too large" in await refused(there)
        there.provider.answers_of_tokens = {"id_token": None}
        assert "no token" in await refused(there)
        there.provider.away = True
        assert "503" in await refused(there) or "did not answer" in await refused(there)


@proves("OPS-5/1")
async def test_unknown_keys_make_the_server_ask_for_the_keys_once_a_minute(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        await browser.sign_on(there.provider)
        there.provider.key_id = "unknown"
        async with aiohttp.ClientSession() as flood:
            for _ in range(20):
                token = there.provider.logout_token()
                answer = await flood.post(f"{there.server.url}/openid/logout", data={"logout_token": token})
                assert answer.status == 401
        assert there.provider.asked.count("/keys") == 1


@proves("OPS-5/3")
@pytest.mark.parametrize(
    "changed",
    [
        {"events": {}},
        {"events": "http://schemas.openid.net/event/backchannel-logout"},
        {"nonce": "n"},
        {"sub": None},
        {"aud": "another-program"},
        {"iss": "https://evil.example"},
        {"exp": PASSED},
        {"jti": None},
    ],
    ids=str,
)
async def test_a_token_that_is_no_logout_of_this_provider_ends_nothing(tmp_path: Path, changed: dict[str, Any]) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser, aiohttp.ClientSession() as forger:
        await browser.sign_on(there.provider)
        there.provider.changed = changed
        for form in (
            {"logout_token": there.provider.logout_token()},
            {"logout_token": "x.y.z"},
            {},
            {"logout_token": ""},
        ):
            answer = await forger.post(f"{there.server.url}/openid/logout", data=form)
            assert answer.status in (400, 401)
        assert await browser.me() is not None


@proves("OPS-5/3")
async def test_a_renewal_that_is_somebody_elses_ends_the_session(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        await browser.sign_on(there.provider)
        there.provider.claims = {"sub": "u2", "groups": ["root"]}
        await there.look(LATER)
        assert await browser.me() is None and await there.people() == {"Ada Lovelace": "member"}


SIGNED_OUT = {"subject": {"sub": "u1"}, "session": {"sid": "s1", "sub": None}}


@proves("OPS-5/3")
@pytest.mark.parametrize("by", SIGNED_OUT)
async def test_who_signed_out_at_the_provider_begins_no_session_with_a_code_from_before(
    tmp_path: Path, by: str
) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser, there.browser() as other:
        there.provider.claims["sid"] = "s1"
        _, told = await browser.come_back(*there.provider.sign_in(await browser.begin()))
        there.provider.claims |= {"sid": "s2"} if by == "session" else {"sub": "u2"}
        _, of_another = await other.come_back(*there.provider.sign_in(await other.begin()))
        await there.sign_out(**SIGNED_OUT[by])
        assert await browser.trade(told) == 401 and await browser.me() is None
        assert await other.trade(of_another) == 201 and await other.me() is not None


@proves("OPS-5/3")
@pytest.mark.parametrize("by", SIGNED_OUT)
async def test_who_signed_out_while_the_provider_answered_is_not_let_in(tmp_path: Path, by: str) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        there.provider.claims["sid"] = "s1"
        there.provider.while_it_answers = lambda: there.sign_out(**SIGNED_OUT[by])
        status, told = await browser.sign_on(there.provider)
        assert status == 401 and "signed out" in told and await browser.me() is None
        there.provider.while_it_answers = lambda: there.sign_out(sid="s9", sub="u9")
        assert (await browser.sign_on(there.provider))[0] == 201
        assert await browser.me() is not None, "they may sign on again, and others' ends do not concern them"


@proves("OPS-5/2", "OPS-5/3")
@pytest.mark.parametrize("end", ["removed", "token", "groups"])
async def test_who_lost_their_access_begins_no_session_with_a_code_from_before(tmp_path: Path, end: str) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser, there.browser() as other:
        _, told = await browser.come_back(*there.provider.sign_in(await browser.begin()))
        [_, person] = (await there.server.ask("GET", "/people"))["people"]
        match end:
            case "removed":
                await there.server.ask("DELETE", f"/people/{person['id']}", expect=204)
            case "token":
                await there.server.ask("POST", f"/people/{person['id']}/token", {})
            case _:
                there.provider.claims["groups"] = []
                assert (await other.sign_on(there.provider))[0] == 403
        assert await browser.trade(told) == 401 and await browser.me() is None


@proves("OPS-5/2")
async def test_who_was_removed_here_does_not_come_back_by_signing_on(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path) as there, there.browser() as browser:
        await browser.sign_on(there.provider)
        [_, person] = (await there.server.ask("GET", "/people"))["people"]
        await there.server.ask("DELETE", f"/people/{person['id']}", expect=204)
        assert await browser.me() is None
        status, told = await browser.sign_on(there.provider)
        assert status == 403 and "removed" in told and await there.people() == {}


@proves("OPS-5/2")
@pytest.mark.parametrize(
    "groups", [None, "", [], ["Root"], ["root "], {"root": True}, [["root"]], [7], "rooted", True], ids=str
)
async def test_nothing_but_the_very_group_gives_its_access(tmp_path: Path, groups: Any) -> None:
    async with sign_on_server(tmp_path, GroupAccess(admin=("root",)), changed={"groups": groups}) as there:
        assert "groups" in await refused(there)


@proves("OPS-5/1")
@pytest.mark.parametrize(
    "name", ["owner", "The Owner", "anycowork", "\u202eadA", "аdmin", "<b>x</b>", "", "7", "@", "x" * 500, None]
)
def test_a_name_of_the_provider_is_one_that_a_person_may_have_or_none(name: str | None) -> None:
    usable = usable_name(name)
    assert usable is None or read_person_name(usable) == usable


def test_groups_of_nobody_give_nothing() -> None:
    assert access_of(GroupAccess(), frozenset({"root"})) is None
    assert access_of(GroupAccess(everyone="viewer"), frozenset()) == "viewer"


@pytest.mark.parametrize("issuer", ["http://sso.example", "http://127.0.0.1.evil.example", "ftp://x", ""])
def test_a_provider_is_asked_over_an_encrypted_line_alone(issuer: str) -> None:
    with pytest.raises(ValueError):
        OpenIdEntry(issuer=issuer, client_id="x")
