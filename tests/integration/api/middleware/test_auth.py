"""Who gets in, and how far."""

import re

import pytest

from support.asgi import Answer, Client
from support.people import scope_of_routes
from support.spec import proves

OPEN = ["/", "/assets/style.css", "/healthz", "/readyz"]
CLOSED = [
    "/roles",
    "/context",
    "/events",
    "/openapi.json",
    "/metrics",
    "/settings",
    "/keys",
    "/nowhere",
    "//",
    "/healthz/",
]


@pytest.mark.parametrize("path", OPEN)
async def test_the_page_and_the_probes_are_open(anonymous, path):
    assert (await anonymous.get(path)).status == 200


@proves("SEC-1", "SEC-5")
@pytest.mark.parametrize("path", CLOSED)
async def test_everything_else_needs_the_token(anonymous, path):
    answer = await anonymous.get(path)
    assert (answer.status, answer.error["code"]) == (401, "unauthenticated")


@proves("SEC-1", "SEC-5")
async def test_no_route_that_needs_a_scope_answers_without_a_token(anonymous):
    needs = {route: scope for route, scope in scope_of_routes().items() if scope is not None}
    answered = {}
    for method, path in needs:
        answer = await anonymous.ask(method, re.sub(r"\{\w+(:path)?\}", "x", path), None if method == "GET" else {})
        if answer.status != 401:
            answered[method, path] = answer.status
    assert answered == {} and len(needs) > 150


async def test_the_token_opens(client):
    assert (await client.get("/roles")).status == 200


@pytest.mark.parametrize("header", ["Basic {}", "Bearer", "Bearer x{}", "Token {}", ""])
async def test_other_ways_to_say_the_token_do_not_open(anonymous, token, header):
    answer = await anonymous.get("/roles", headers={"authorization": header.format(token)})
    assert answer.status == 401


async def test_the_scheme_is_read_in_any_case(anonymous, token):
    assert (await anonymous.get("/roles", headers={"authorization": f"bearer {token}"})).status == 200


@proves("SEC-1")
async def test_wrong_tokens_wait_longer_each_time_and_a_right_one_never(client, anonymous, sleeps):
    for _ in range(3):
        assert (await anonymous.get("/roles", headers={"authorization": "Bearer guess"})).status == 401
    assert sleeps == [0.1, 0.2, 0.4]
    assert (await client.get("/roles")).status == 200
    assert sleeps == [0.1, 0.2, 0.4]
    await anonymous.get("/roles", headers={"authorization": "Bearer guess"})
    assert sleeps[-1] == 0.8  # the owner's request in between, from the same machine, did not help the guesser


# --- the browser's session: a cookie and a page key


async def signed_in(client: Client, token: str) -> dict[str, str]:
    """What a signed-in page sends."""
    answer = await client.post("/session", {}, headers={"authorization": f"Bearer {token}"})
    assert answer.status == 201, answer.body
    return _headers(answer)


def _headers(answer: Answer) -> dict[str, str]:
    return {"cookie": answer.headers["set-cookie"].split(";")[0], "x-anycowork-page-key": answer.json()["page_key"]}


@proves("SEC-1", "SEC-2")
async def test_the_token_in_the_address_becomes_a_cookie_and_a_code_and_leaves_the_address(anonymous, token):
    answer = await anonymous.get(f"/?token={token}")
    place, _, code = answer.headers["location"].partition("#code=")
    assert (answer.status, place) == (303, "/") and len(code) >= 32
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    assert token not in str(answer.headers)
    assert code not in cookie


async def test_the_code_of_the_address_is_traded_for_the_page_key_of_its_cookie(anonymous, token):
    answer = await anonymous.get(f"/?token={token}")
    cookie = answer.headers["set-cookie"].split(";")[0]
    made = await anonymous.post("/session", {"code": answer.headers["location"].partition("#code=")[2]})
    assert made.status == 201 and made.headers["cache-control"] == "no-store"
    headers = _headers(made)
    assert headers["cookie"] == cookie
    assert (await anonymous.get("/roles", headers=headers)).status == 200


@proves("OPS-3/4")
async def test_alone_the_owner_comes_in_by_a_code_without_a_login(client, anonymous):
    code = (await client.post("/session/codes", {})).json()["code"]
    answer = await anonymous.post("/session", {"code": code})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    headers = {"cookie": cookie, "x-anycowork-page-key": answer.json()["page_key"]}
    shown = (await anonymous.get("/session", headers=headers)).json()
    assert (shown["owner"], shown["access"], shown["shared"]) == (True, "admin", False)


@proves("OPS-3/1")
async def test_guessing_a_persons_token_is_slowed(client, anonymous, sleeps):
    made = (await client.post("/people", {"name": "Ada"})).json()
    for guess in ("x", "y", "z"):
        refused = await anonymous.get("/roles", headers={"authorization": f"Bearer {made['token'][:-2]}-{guess}"})
        assert refused.status == 401 and "people token" in refused.json()["error"]["message"]
    assert sleeps == [0.1, 0.2, 0.4]
    assert (await anonymous.get("/roles", headers={"authorization": f"Bearer {made['token']}"})).status == 200
    assert len(sleeps) == 3


@proves("SEC-1")
async def test_the_cookie_opens_only_with_the_page_key_of_its_session(anonymous, token, sleeps):
    headers = await signed_in(anonymous, token)
    other = await signed_in(anonymous, token)
    assert (await anonymous.get("/roles", headers=headers)).status == 200
    alone = await anonymous.get("/roles", headers={"cookie": headers["cookie"]})
    assert (alone.status, alone.error["code"]) == (401, "unauthenticated")
    only_key = {"x-anycowork-page-key": headers["x-anycowork-page-key"]}
    assert (await anonymous.get("/roles", headers=only_key)).status == 401
    assert (await anonymous.get("/roles", headers={**headers, "cookie": other["cookie"]})).status == 401
    assert sleeps == [0.1]  # only the pair that does not belong together was a guess


async def test_the_cookie_is_found_among_the_odd_ones_of_other_servers(anonymous, token):
    headers = await signed_in(anonymous, token)
    odd = 'x={"a": [1,2]}; ="; é=ü'.encode().decode("latin-1")
    assert (await anonymous.get("/roles", headers={**headers, "cookie": f"{odd}; {headers['cookie']}"})).status == 200


async def test_a_code_of_the_owner_signs_one_browser_in(client, anonymous):
    made = (await client.post("/session/codes", {})).json()
    assert made["expires_in"] == 60
    signed = await anonymous.post("/session", {"code": made["code"]})
    assert (await anonymous.get("/roles", headers=_headers(signed))).status == 200


@proves("SEC-1")
async def test_a_code_that_comes_twice_ends_the_session_that_it_began(client, anonymous):
    """Somebody else saw it: in the arguments of the browser, say."""
    code = (await client.post("/session/codes", {})).json()["code"]
    first = _headers(await anonymous.post("/session", {"code": code}))
    again = await anonymous.post("/session", {"code": code})
    assert again.status == 401 and "anycowork open" in again.error["message"]
    assert (await anonymous.get("/roles", headers=first)).status == 401


async def test_signing_in_needs_a_code_or_the_token(anonymous, client, token):
    assert (await anonymous.post("/session", {})).status == 401
    assert (await anonymous.post("/session", {"code": "guess"})).status == 401
    assert (await anonymous.post("/session", {}, headers={"authorization": "Bearer guess"})).status == 401
    assert (await anonymous.post("/session/codes", {})).status == 401
    key = (await client.post("/keys", {"name": "editor"})).json()["key"]
    assert (await anonymous.post("/session", {}, headers={"authorization": f"Bearer {key}"})).status == 403


async def test_signing_out_ends_this_browsers_session_alone(anonymous, token):
    here, elsewhere = await signed_in(anonymous, token), await signed_in(anonymous, token)
    gone = await anonymous.delete("/session", headers=here)
    assert gone.status == 204 and "Max-Age=0" in gone.headers["set-cookie"]
    assert (await anonymous.get("/roles", headers=here)).status == 401
    assert (await anonymous.get("/roles", headers=elsewhere)).status == 200


@proves("SEC-2")
async def test_the_page_key_is_kept_by_no_receipt(anonymous, token, services):
    headers = {"authorization": f"Bearer {token}", "idempotency-key": "once"}
    first = await anonymous.post("/session", {}, headers=headers)
    second = await anonymous.post("/session", {}, headers=headers)
    assert first.json() != second.json()


async def test_a_link_from_a_neighbouring_port_opens_the_page_but_nothing_behind_it(anonymous, token):
    """Another port of this machine is the same site to a browser, so the cookie comes along."""
    headers = {**await signed_in(anonymous, token), "sec-fetch-site": "same-site"}
    assert (await anonymous.get("/", headers=headers)).status == 200
    assert (await anonymous.get("/context", headers=headers)).status == 403


async def test_a_wrong_token_in_the_address_gets_no_cookie_and_waits(anonymous, sleeps):
    answer = await anonymous.get("/?token=guess")
    assert answer.status == 401 and "set-cookie" not in answer.headers
    assert sleeps == [0.1]


async def test_a_forged_cookie_is_a_wrong_token(anonymous, token, sleeps):
    headers = await signed_in(anonymous, token)
    forged = {**headers, "cookie": f"{headers['cookie'].split('=')[0]}={token}"}
    assert (await anonymous.get("/roles", headers=forged)).status == 401
    assert len(sleeps) == 1


async def test_the_token_is_not_read_from_any_other_address(anonymous, token):
    assert (await anonymous.get(f"/roles?token={token}")).status == 401


# --- client keys


@proves("SEC-5")
async def test_a_client_key_reaches_the_passthrough_only(client, anonymous):
    key = (await client.post("/keys", {"name": "editor"})).json()["key"]
    headers = {"authorization": f"Bearer {key}"}
    assert (await anonymous.get("/roles", headers=headers)).status == 403
    assert (await anonymous.post("/context", {}, headers=headers)).error["code"] == "not_allowed"
    assert (await anonymous.get("/events", headers=headers)).status == 403
    assert (await anonymous.get("/v1/system-prompts", headers=headers)).status == 403
    assert (await anonymous.get("/v1/models", headers=headers)).status not in (401, 403)


@proves("SEC-2")
async def test_a_client_key_is_shown_once(client):
    made = (await client.post("/keys", {"name": "editor"})).json()
    assert made["key"].startswith("sk-ac-")
    listed = await client.get("/keys")
    assert [key["id"] for key in listed.json()["keys"]] == [made["id"]]
    assert made["key"].encode() not in listed.body


async def test_a_revoked_key_opens_nothing(client, anonymous):
    made = (await client.post("/keys", {"name": "editor"})).json()
    assert (await client.delete(f"/keys/{made['id']}")).status == 204
    assert (await client.delete(f"/keys/{made['id']}")).status == 404
    assert (await anonymous.get("/v1/models", headers={"authorization": f"Bearer {made['key']}"})).status == 401


# --- the headers of every answer


@proves("SEC-1")
@pytest.mark.parametrize("path", ["/", "/roles", "/nowhere", "/healthz", "/assets/style.css"])
async def test_every_answer_tells_the_browser_to_trust_nothing(client, path):
    headers = (await client.get(path)).headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers
