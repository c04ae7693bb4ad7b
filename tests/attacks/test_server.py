"""Attacks on the server itself: from a web page, from another machine, with a stolen key, by guessing, by flooding."""

import logging

import pytest

from support.asgi import Client
from support.spec import proves

CHANGING = [
    ("POST", "/context", {}),
    ("PUT", "/settings", {"max_steps": 1}),
    ("POST", "/keys", {"name": "mine"}),
    ("POST", "/workspaces", {"root": "/etc"}),
]


async def signed_in(client: Client, token: str) -> dict[str, str]:
    """What the owner's browser sends: its cookie and, from our own page, the page key."""
    made = await Client(client.app).post("/session", {}, headers={"authorization": f"Bearer {token}"})
    return {"cookie": made.headers["set-cookie"].split(";")[0], "x-anycowork-page-key": made.json()["page_key"]}


ADDRESSES = [
    ("GET", "/roles", None),
    ("GET", "/context", None),
    ("GET", "/events", None),
    ("GET", "/settings", None),
    ("GET", "/keys", None),
    ("GET", "/metrics", None),
    ("GET", "/openapi.json", None),
    ("GET", "/v1/models", None),
    ("GET", "/context/x/messages/y/images/0", None),
    ("PUT", "/settings", {"ask": "at_commit"}),
    ("POST", "/rules", {"effect": "allow", "tool": "*"}),
    ("POST", "/keys", {"name": "mine"}),
    ("POST", "/context", {}),
    ("POST", "/v1/chat/completions", {"model": "scripted", "messages": []}),
    ("POST", "/session", {}),
    ("POST", "/session/codes", {}),
    ("DELETE", "/session", None),
]


@proves("SEC-1", "SEC-5")
@pytest.mark.parametrize(("method", "path", "body"), ADDRESSES)
async def test_a_stolen_cookie_opens_nothing(client, token, method, path, body):
    """Browsers send it to every port of this host, and whoever listens there sends what it likes: no origin, no Sec-Fetch-Site."""
    stolen = {"cookie": (await signed_in(client, token))["cookie"]}
    for guess in ({}, {"x-anycowork-page-key": ""}, {"x-anycowork-page-key": stolen["cookie"].split("=")[1]}):
        answer = await Client(client.app).ask(method, path, body, headers={**stolen, **guess})
        assert (answer.status, answer.error["code"]) == (401, "unauthenticated")
    assert (await client.get("/keys")).json()["keys"] == []


@proves("SEC-1")
@pytest.mark.parametrize("path", ["/", "/roles", "/context", "/healthz", "/openapi.json", "/?token={token}"])
async def test_a_page_that_rebound_its_name_to_us_learns_nothing(client, token, path):
    client.host = "evil.example:8484"
    answer = await client.get(path.format(token=token))
    assert (answer.status, answer.error["code"]) == (421, "wrong_host")
    assert "set-cookie" not in answer.headers


@proves("SEC-1")
@pytest.mark.parametrize(("method", "path", "body"), CHANGING)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:3000"])
async def test_another_sites_page_changes_nothing_even_with_our_cookie(client, token, method, path, body, origin):
    headers = {**await signed_in(client, token), "origin": origin}
    answer = await Client(client.app).ask(method, path, body, headers=headers)
    assert (answer.status, answer.error["code"]) == (403, "foreign_origin")


@proves("SEC-1")
async def test_a_form_of_another_site_cannot_post_for_us(client, token):
    """A form sends text/plain without asking first, and some browsers leave the origin out."""
    headers = {**await signed_in(client, token), "content-type": "text/plain", "sec-fetch-site": "cross-site"}
    assert (await Client(client.app).post("/context", raw=b'{"title":"x"}', headers=headers)).status == 403
    headers.pop("sec-fetch-site")
    assert (await Client(client.app).post("/context", raw=b'{"title":"x"}', headers=headers)).status == 422
    assert (await client.get("/context")).json()["contexts"] == []


@proves("SEC-1")
async def test_no_preflight_is_granted(client):
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    answer = await Client(client.app).ask("OPTIONS", "/context", headers=asked)
    assert answer.status == 403 and "access-control-allow-origin" not in answer.headers


@proves("SEC-5")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/context/{}/approvals", {"decisions": [{"id": "x", "decision": "allow_once"}]}),
        ("POST", "/context/{}/mode", {"mode": "act"}),
        ("PUT", "/context/{}/role", {"role": "actor"}),
        ("POST", "/context/{}/plans/m/approve", {}),
        ("POST", "/context/{}/questions/m/answer", {"value": "yes"}),
        ("POST", "/context/{}/messages", {"content": "hello"}),
        ("GET", "/context/{}/messages", None),
        ("GET", "/context/{}/events", None),
        *CHANGING,
        ("GET", "/keys", None),
        ("GET", "/settings", None),
    ],
)
async def test_a_stolen_client_key_decides_reads_and_changes_nothing(client, method, path, body):
    chat = (await client.post("/context", {})).json()
    key = (await client.post("/keys", {"name": "stolen"})).json()["key"]
    thief = Client(client.app, token=key)
    answer = await thief.ask(method, path.format(chat["id"]), body)
    assert (answer.status, answer.error["code"]) == (403, "not_allowed")


@proves("SEC-5")
@pytest.mark.parametrize("path", ["/v1/../roles", "//v1/roles", "/v1%2f..%2froles", "/V1/roles", "/v1"])
async def test_a_client_key_finds_no_way_around_its_prefix(client, path):
    key = (await client.post("/keys", {"name": "stolen"})).json()["key"]
    answer = await Client(client.app, token=key).get(path)
    assert answer.status in (403, 404)


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../auth.py",
        "/assets/%2e%2e/auth.py",
        "/assets//etc/passwd",
        "/assets/..%5cauth.py",
        "/assets/index.html",
        "/assets/../../settings.py",
        "/assets/%2e%2e%2f%2e%2e%2fsettings.py",
        "/assets/%252e%252e/auth.py",
        "/assets/....//auth.py",
        "/assets/style.css/../../auth.py",
        "/assets/style.css%00.html",
        "/assets/%00",
        "/assets/.",
        "/assets/..",
        "/assets/%c0%ae%c0%ae/auth.py",
    ],
)
async def test_assets_are_named_files_and_nothing_else(client, path):
    assert (await Client(client.app).get(path)).status == 404


@proves("SEC-1")
async def test_guessing_is_slowed_per_peer_and_others_are_not(client, sleeps):
    for guess in range(8):
        await Client(client.app, token=f"guess-{guess}", peer="10.9.9.9").get("/roles")
    assert sleeps == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]
    await Client(client.app, token="typo", peer="10.1.1.1").get("/roles")
    assert sleeps[-1] == 0.1


@proves("SEC-2")
async def test_the_token_stands_in_no_log_and_no_answer(client, token, caplog):
    caplog.set_level(logging.DEBUG)
    answers = [
        await Client(client.app).get(f"/?token={token}"),
        await client.get("/settings"),
        await client.get("/keys"),
        await client.get("/metrics"),
        await client.get(f"/context/{token}"),
        await Client(client.app).get(f"/?token={token}x"),
    ]
    assert token not in caplog.text
    echoed = [answer for answer in answers if token.encode() in answer.body]
    assert echoed == [answers[4]]  # the one where the caller itself put it into the path as a chat's id


async def test_a_flood_of_bytes_and_brackets_is_turned_away(client, services):
    headers = {"content-type": "application/json"}
    huge = {**headers, "content-length": str(services.access.request_limit_bytes + 1)}
    assert (await client.post("/context", raw=b"{}", headers=huge)).status == 413
    streamed = [b"x" * 1024 * 1024] * (services.access.request_limit_bytes // (1024 * 1024) + 1)
    assert (await client.post("/context", raw=streamed, headers=headers)).status == 413
    deep = b'{"plan":' * 5000 + b"1" + b"}" * 5000
    assert (await client.post("/context", raw=deep, headers=headers)).error["code"] == "too_deep"


@pytest.mark.parametrize(
    "chat_id", ["..%2f..%2fetc%2fpasswd", "%00", "'; DROP TABLE chats; --", "x" * 5000, "%ff%fe", "💥"]
)
async def test_odd_ids_are_just_unknown(client, chat_id):
    for suffix in ("", "/messages", "/approvals"):
        answer = await client.get(f"/context/{chat_id}{suffix}".replace(" ", "%20"))
        assert answer.status == 404, answer.body
    assert (await client.get("/context")).status == 200
