"""Sessions of browsers as a tree: what one made ends with it, what others made does not, and nobody ends what is not theirs."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from anycowork import __version__
from anycowork.server.browser_sessions import MAX_CODES, MAX_SESSIONS, MAX_WRONG_CONFIRMATIONS
from support.asgi import Answer, Client
from support.spec import proves

MANAGED = (
    ("POST", "/keys", {"name": "mine"}),
    ("POST", "/people", {"name": "Eve", "access": "admin"}),
    ("PUT", "/settings", {"max_steps": 60}),
    ("POST", "/rules", {"effect": "allow", "tool": "*"}),
    ("POST", "/session/codes", {}),
    ("POST", "/workers/invites", {}),
)
WORKER = {"host": "elsewhere", "level": "full", "version": __version__}


def page(client: Client, answer: Answer) -> Client:
    """A browser with the cookie and the page key of this sign-in."""
    assert answer.status == 201, answer.body
    cookie = answer.headers["set-cookie"].partition(";")[0]
    return Client(client.app, headers={"cookie": cookie, "x-anycowork-page-key": answer.json()["page_key"]})


async def signed_in(client: Client, maker: Client) -> tuple[Client, str]:
    """A browser that signed in with a code of the maker and confirmed it, and the code."""
    offered = (await maker.post("/session/codes", {})).json()
    given = {"code": offered["code"], "confirmation": offered["confirmation"]}
    return page(client, await Client(client.app).post("/session", given)), offered["code"]


async def status(client: Client) -> int:
    return (await client.get("/session")).status


@proves("SEC-1", "SEC-5")
async def test_who_saw_the_link_first_manages_nothing_and_is_out_when_its_owner_comes(client, anonymous):
    offered = (await client.post("/session/codes", {})).json()
    thief = page(client, await anonymous.post("/session", {"code": offered["code"]}))
    for method, path, body in MANAGED:
        refused = await thief.ask(method, path, body)
        assert (refused.status, refused.error["code"]) == (403, "not_confirmed"), path
    shown = (await thief.get("/session")).json()
    assert (shown["access"], shown["confirmed"], "manage" in shown["scopes"]) == ("admin", False, False)
    async with thief.stream("/events") as stream:
        assert (await stream.opened()).status == 200
        late = await anonymous.post("/session", {"code": offered["code"], "confirmation": offered["confirmation"]})
        assert late.status == 401
        async with asyncio.timeout(60):
            while not stream.ended:
                await stream.chunk()
    assert await status(thief) == 401
    assert (await client.get("/keys")).json()["keys"] == []


@proves("SEC-1")
async def test_the_digits_of_a_link_are_not_guessed(client, anonymous):
    offered = (await client.post("/session/codes", {})).json()
    browser = page(client, await anonymous.post("/session", {"code": offered["code"]}))
    wrong = [f"{(int(offered['confirmation']) + each) % 10**6:06d}" for each in range(1, MAX_WRONG_CONFIRMATIONS + 1)]
    answers = [await browser.post("/session/confirmation", {"confirmation": guess}) for guess in wrong]
    assert {answer.error["code"] for answer in answers} == {"not_confirmed"}
    assert (await browser.post("/session/confirmation", {"confirmation": offered["confirmation"]})).status == 401
    offered = (await client.post("/session/codes", {})).json()
    browser = page(client, await anonymous.post("/session", {"code": offered["code"], "confirmation": "x"}))
    assert (await browser.post("/session/confirmation", {"confirmation": offered["confirmation"]})).status == 204
    assert (await browser.post("/keys", {"name": "mine"})).status == 201


@proves("SEC-1")
async def test_the_token_in_the_address_needs_no_digits(anonymous, token):
    answer = await anonymous.get(f"/?token={token}")
    code = answer.headers["location"].partition("#code=")[2]
    browser = page(anonymous, await anonymous.post("/session", {"code": code}))
    assert (await browser.post("/keys", {"name": "mine"})).status == 201


@proves("SEC-1", "OPS-3/2")
async def test_no_number_of_sign_ins_ends_the_session_of_somebody_else(client, anonymous):
    owner = page(client, await client.post("/session", {}))
    waiting = (await client.post("/session/codes", {})).json()["code"]
    made = (await client.post("/people", {"name": "Vera", "access": "viewer"})).json()
    vera = Client(client.app, token=made["token"])
    first = page(client, await vera.post("/session", {}))
    for _ in range(MAX_SESSIONS):
        await vera.post("/session", {})
    for _ in range(MAX_CODES + 5):
        await vera.post("/session/codes", {})
    assert [await status(owner), await status(first)] == [200, 401]
    assert (await anonymous.post("/session", {"code": waiting})).status == 201


@proves("SEC-1")
async def test_a_session_of_a_code_pushes_out_its_own_and_not_those_beside_it(client):
    beside = [page(client, await client.post("/session", {})) for _ in range(3)]
    thief, _ = await signed_in(client, client)
    for _ in range(MAX_SESSIONS + 3):
        last, _ = await signed_in(client, thief)
    assert [await status(each) for each in (*beside, thief, last)] == [200] * 5


@proves("SEC-1")
async def test_a_cookie_alone_ends_no_session(client, anonymous):
    victim = page(client, await client.post("/session", {}))
    other = page(client, await client.post("/session", {}))
    made = (await client.post("/people", {"name": "Vera", "access": "viewer"})).json()
    stolen = {"cookie": victim.headers["cookie"]}
    for thief in (Client(client.app, token=made["token"]), Client(client.app, token=client.token)):
        await thief.delete("/session", headers=stolen)
        assert await status(victim) == 200
    mixed = {**stolen, "x-anycowork-page-key": other.headers["x-anycowork-page-key"]}
    assert (await anonymous.delete("/session", headers=mixed)).status == 401
    assert [await status(victim), await status(other)] == [200, 200]


@proves("SEC-1")
async def test_no_number_of_other_codes_disarms_the_guard(client, anonymous):
    thief, seen = await signed_in(client, client)
    for _ in range(MAX_CODES + 5):
        offered = (await client.post("/session/codes", {})).json()
        await anonymous.post("/session", {"code": offered["code"]})
    assert (await anonymous.post("/session", {"code": seen})).status == 401
    assert await status(thief) == 401


@proves("SEC-1")
async def test_a_token_that_a_revoked_session_made_for_somebody_ends_too(client, anonymous):
    vera = (await client.post("/people", {"name": "Vera", "access": "admin"})).json()
    thief, code = await signed_in(client, client)
    token = (await thief.post(f"/people/{vera['id']}/token", {})).json()["token"]
    key = (await Client(client.app, token=token).post("/keys", {"name": "hers"})).json()["key"]
    browser = page(client, await Client(client.app, token=token).post("/session", {}))
    await anonymous.post("/session", {"code": code})
    assert [await status(Client(client.app, token=token)), await status(browser)] == [401, 401]
    assert (await Client(client.app, token=key).get("/v1/models")).status == 401
    assert [person["name"] for person in (await client.get("/people")).json()["people"]][1:] == ["Vera"]


# --- a random tree, and the end of one of its sessions


@dataclass
class Made:
    """Something that was made, what made it, and how to tell whether it is still there."""

    kind: str
    client: Client
    maker: "Made | None"
    code: str = ""
    made: list["Made"] = field(default_factory=list)

    @property
    def acts(self) -> bool:
        return self.kind not in ("key", "invite", "worker")

    def all(self) -> list["Made"]:
        return [self, *(inner for each in self.made for inner in each.all())]

    async def is_there(self) -> bool:
        if self.kind == "invite":  # a worker with other labels is told so, and does not use it up
            answer = await self.client.post("/workers/join", {**WORKER, "token": self.code, "labels": ["gpu"]})
            assert answer.status == 403
            return "for the labels cpu" in answer.error["message"]
        if self.kind == "worker":
            answer = await self.client.post("/workers/join", {**WORKER, "token": self.code, "labels": ["cpu"]})
            return answer.status == 201
        path = "/v1/models" if self.kind == "key" else "/session"
        return (await self.client.get(path)).status not in (401, 403)


async def grow(owner: Client, chance: random.Random, size: int) -> list[Made]:
    """Sessions, people, keys, invitations and workers, each made by the owner or by one of those that were made before."""
    nodes: list[Made] = []
    for number in range(size):
        maker = chance.choice([None, *(each for each in nodes if each.acts)]) if nodes else None
        by = maker.client if maker else owner
        match chance.choice(["session", "session", "person", "key", "sign-in", "invite", "worker"]):
            case "session":
                browser, code = await signed_in(owner, by)
                made = Made("session", browser, maker, code)
            case "sign-in" if maker is not None and maker.kind == "person":
                made = Made("sign-in", page(owner, await by.post("/session", {})), maker)
            case "key":
                key = (await by.post("/keys", {"name": f"key {number}"})).json()["key"]
                made = Made("key", Client(owner.app, token=key), maker)
            case "invite" | "worker" as kind:
                anonymous = Client(owner.app)
                secret = (await by.post("/workers/invites", {"labels": ["cpu"]})).json()["token"]
                if kind == "worker":
                    joined = await anonymous.post("/workers/join", {**WORKER, "token": secret, "labels": ["cpu"]})
                    secret = joined.json()["secret"]
                made = Made(kind, anonymous, maker, secret)
            case _:
                name = f"P{'abcdefghij'[number // 10]}{'abcdefghij'[number % 10]}"
                person = (await by.post("/people", {"name": name, "access": "admin"})).json()
                made = Made("person", Client(owner.app, token=person["token"]), maker)
        nodes.append(made)
        if maker:
            maker.made.append(made)
    return nodes


@proves("SEC-1", "OPS-3/1")
@pytest.mark.parametrize("seed", range(6))
async def test_ending_a_session_ends_exactly_what_it_made(client, anonymous, seed):
    chance = random.Random(seed)
    nodes = await grow(client, chance, 24)
    revoked = chance.choice([each for each in nodes if each.kind == "session"])
    await anonymous.post("/session", {"code": revoked.code})
    gone = {id(each) for each in revoked.all()}
    for each in nodes:
        assert await each.is_there() == (id(each) not in gone), each.kind
    rest = [each for each in nodes if each.kind == "session" and id(each) not in gone]
    if rest:
        left = chance.choice(
            rest
        )  # signing out ends the browsers that it let in, and takes no key, person or worker back
        assert (await left.client.delete("/session")).status == 204
        for each in (one for one in left.all() if id(one) not in gone):
            chain, above = [each], each
            while above is not left and above.maker is not None:
                above = above.maker
                chain.append(above)
            assert await each.is_there() == any(one.kind != "session" for one in chain), each.kind
