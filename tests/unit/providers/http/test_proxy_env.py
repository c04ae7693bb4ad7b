"""How providers are reached in offices: through proxies, with certificates of their own, by IPv6, and with old servers behind."""

import asyncio
import socket
from contextlib import aclosing

import pytest

from anycowork.domain.errors import Invalid
from anycowork.domain.provider_errors import ProviderFault, RejectedRequest, Unreachable, Untrusted
from anycowork.providers.anthropic.provider import AnthropicProvider
from anycowork.providers.config import ProviderConfig
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.http.proxy_env import UnusableProxy, proxy_for, target_of
from anycowork.providers.http.retries import Backoff
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.passthrough import UpstreamLine
from anycowork.providers.openai.provider import OpenAIProvider
from anycowork.providers.openai.upstream import Upstream
from anycowork.providers.registry import ProviderRegistry
from support.outbound import CERTIFICATE, proxy_to, tls_in_front_of
from support.provider_client import Naps, all_of, asking, text_of
from support.scripted_anthropic import ScriptedAnthropic, Spoken
from support.scripted_model import Reply, ScriptedModel
from support.spec import proves

BODY = b'{"model":"m","messages":[]}'
ELSEWHERE = "https://provider.example/v1"
CA = str(CERTIFICATE)


@pytest.fixture
async def model():
    async with asyncio.timeout(60), ScriptedModel(mind=lambda body: Reply("Good day.")) as model:
        yield model


async def through_gateway(upstream: Upstream, pool: HttpPool) -> bytes:
    async with aclosing(
        await UpstreamLine(upstream, pool.connections, Timeouts(connect=5.0)).post("chat/completions", BODY, [])
    ) as got:
        assert got.status == 200
        return b"".join([piece async for piece in got.pieces()])


async def in_a_chat(upstream: Upstream, pool: HttpPool, naps: Naps | None = None) -> bytes:
    client = OpenAIProvider(upstream, pool, backoff=Backoff(dice=lambda: 1.0), sleep=naps or Naps())
    return text_of(await all_of(client.answer(asking()))).encode()


BOTH_WAYS = pytest.mark.parametrize("ask", [through_gateway, in_a_chat], ids=["gateway", "chat"])


# --- certificates


@proves("GW-1")
@BOTH_WAYS
async def test_an_unknown_certificate_is_told_with_the_setting_that_helps(ask, model, pool):
    async with tls_in_front_of(model.base_url) as url:
        with pytest.raises(Untrusted, match=r"self-signed certificate.*ca_file") as caught:
            await ask(Upstream("office", url), pool)
    assert url in caught.value.message and "running" not in caught.value.message


async def test_what_is_not_trusted_is_not_tried_again(model, pool):
    naps = Naps()
    async with tls_in_front_of(model.base_url) as url:
        with pytest.raises(Untrusted):
            await in_a_chat(Upstream("office", url), pool, naps)
    assert naps.taken == []


@proves("GW-1")
@BOTH_WAYS
async def test_a_ca_file_vouches_for_it(ask, model, pool):
    async with tls_in_front_of(model.base_url) as url:
        assert b"Good day." in await ask(Upstream("office", url, ca_file=CA), pool)


@BOTH_WAYS
async def test_a_certificate_for_another_host_is_told_as_such(ask, model, pool):
    async with tls_in_front_of(model.base_url) as url, proxy_to(url) as proxy:
        with pytest.raises(Untrusted, match="base_url that the certificate is valid for"):
            await ask(Upstream("office", "https://other.example/v1", proxy=proxy.url, ca_file=CA), pool)


@BOTH_WAYS
async def test_a_server_without_tls_is_told_as_such(ask, model, pool):
    with pytest.raises(Untrusted, match="http://"):
        await ask(Upstream("office", model.base_url.replace("http:", "https:")), pool)


@BOTH_WAYS
@pytest.mark.parametrize(("content", "reason"), [(None, "cannot be read"), ("no certificate", "no certificate in PEM")])
async def test_a_ca_file_that_is_none_is_told(ask, content, reason, tmp_path, pool):
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Untrusted, match=reason):
        await ask(Upstream("office", "https://127.0.0.1:9/v1", ca_file=str(path)), pool)


async def test_the_ca_file_holds_for_anthropics_sdk_too(tmp_path):
    async with ScriptedAnthropic([Spoken("Good day.")]) as model, tls_in_front_of(model.base_url) as url:
        told = {"key": lambda: "sk-ant", "key_env": "ANT"}
        for upstream, fault in (
            (Upstream("ant", url, **told), "ca_file"),
            (Upstream("ant", url, ca_file=str(tmp_path / "none.pem"), **told), "cannot be read"),
        ):
            anonymous = AnthropicProvider(upstream, backoff=Backoff(tries=1))
            with pytest.raises(Untrusted, match=fault):
                await all_of(anonymous.answer(asking(model="claude-test")))
            await anonymous.aclose()
        client = AnthropicProvider(Upstream("ant", url, ca_file=CA, **told), backoff=Backoff(tries=1))
        assert text_of(await all_of(client.answer(asking(model="claude-test")))) == "Good day."
        await client.aclose()


async def test_a_ca_file_that_was_mended_is_read_again(tmp_path, model, pool):
    path = tmp_path / "ca.pem"
    path.write_text("not yet")
    async with tls_in_front_of(model.base_url) as url:
        with pytest.raises(Untrusted):
            await through_gateway(Upstream("office", url, ca_file=str(path)), pool)
        path.write_bytes(CERTIFICATE.read_bytes())
        assert b"Good day." in await through_gateway(Upstream("office", url, ca_file=str(path)), pool)


async def test_the_list_of_providers_says_what_is_wrong_with_the_certificate(model):
    async with tls_in_front_of(model.base_url) as url:
        registry = ProviderRegistry([ProviderConfig("office", base_url=url, models=("m",))], environment={})
        with pytest.raises(Untrusted):
            await all_of(registry.find("office/m")[0].answer(asking()))
        shown = registry.describe()[0]
        await registry.aclose()
    assert shown["status"] == "unreachable" and "ca_file" in shown["hint"]


def test_a_relative_ca_file_is_refused():
    with pytest.raises(Invalid, match="absolute path"):
        ProviderConfig("office", base_url="https://a.example/v1", ca_file="ca.pem")


# --- proxies


@proves("GW-1")
@BOTH_WAYS
async def test_tls_goes_through_a_tunnel_in_which_the_proxy_sees_nothing(ask, model, pool):
    async with tls_in_front_of(model.base_url) as url, proxy_to(url) as proxy:
        there = Upstream("office", ELSEWHERE, key=lambda: "sk-secret", proxy=proxy.url, ca_file=CA)
        assert b"Good day." in await ask(there, pool)
        await pool.aclose()
    assert [head.split(b"\r\n")[0] for head in proxy.heads] == [b"CONNECT provider.example:443 HTTP/1.1"]
    assert proxy.told_who_asks() and b"sk-secret" not in b"".join(proxy.heads)
    assert model.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "Proxy-Authorization" not in model.headers[0]


@proves("GW-1")
@BOTH_WAYS
async def test_plain_http_is_asked_of_the_proxy_by_its_whole_address(ask, model, pool):
    async with proxy_to(model.base_url) as proxy:
        assert b"Good day." in await ask(Upstream("office", "http://provider.example:8000/v1/", proxy=proxy.url), pool)
        await pool.aclose()
    assert proxy.heads[0].startswith(b"POST http://provider.example:8000/v1/chat/completions HTTP/1.1\r\n")
    assert proxy.told_who_asks()


async def test_a_tunnel_is_kept_and_used_again(model, pool):
    async with tls_in_front_of(model.base_url) as url, proxy_to(url) as proxy:
        there = Upstream("office", ELSEWHERE, proxy=proxy.url, ca_file=CA)
        assert await through_gateway(there, pool) and await through_gateway(there, pool)
        await pool.aclose()
    assert len(proxy.heads) == 1


@BOTH_WAYS
@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 407 Who?\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b""], ids=["407", "no HTTP", "closed"]
)
async def test_a_proxy_that_refuses_is_told_without_its_password(ask, answer, model, pool):
    async with proxy_to(model.base_url, answer=answer or b" ") as proxy:
        with pytest.raises(Unreachable, match="NO_PROXY") as caught:
            await ask(Upstream("office", ELSEWHERE, proxy=proxy.url), pool)
    assert "p%40ss" not in caught.value.message and "p@ss" not in caught.value.message


@BOTH_WAYS
async def test_a_proxy_that_is_not_there_is_told(ask, pool):
    with pytest.raises(Unreachable, match="NO_PROXY"):
        await ask(Upstream("office", ELSEWHERE, proxy="http://127.0.0.1:9"), pool)


@BOTH_WAYS
@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "https://127.0.0.1:1080", "http://a:b:c"])
async def test_a_proxy_of_another_kind_is_told(ask, proxy, pool):
    with pytest.raises(RejectedRequest, match="proxy"):
        await ask(Upstream("office", ELSEWHERE, proxy=proxy), pool)


SETTINGS = {
    "HTTPS_PROXY": "http://secure:1",
    "http_proxy": "plain:2",
    "NO_PROXY": "lan, .corp.example 10.0.0.0/8,b.example:8443",
}


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://api.example/v1", "http://secure:1"),
        ("http://api.example/v1", "http://plain:2"),
        ("https://lan/v1", None),
        ("https://gpu.lan/v1", None),
        ("https://atlan/v1", "http://secure:1"),
        ("https://gpu.corp.example/v1", None),
        ("http://10.1.2.3:8000/v1", None),
        ("http://11.1.2.3:8000/v1", "http://plain:2"),
        ("https://b.example:8443/v1", None),
        ("https://b.example/v1", "http://secure:1"),
        ("http://localhost:11434/v1", None),
        ("http://127.0.0.1:11434/v1", None),
        ("http://[::1]:11434/v1", None),
        ("nonsense", None),
    ],
)
def test_the_environment_names_the_proxy_and_its_exceptions(url, proxy):
    assert proxy_for(url, SETTINGS) == proxy


def test_one_proxy_may_be_named_for_all_and_everything_be_excepted():
    assert proxy_for(ELSEWHERE, {"ALL_PROXY": "http://any:3"}) == "http://any:3"
    assert proxy_for(ELSEWHERE, {"ALL_PROXY": "http://any:3", "no_proxy": "*"}) is None
    assert proxy_for(ELSEWHERE, {"HTTPS_PROXY": " "}) is None


def test_the_registry_reads_its_environment():
    registry = ProviderRegistry(
        [ProviderConfig("a", base_url=ELSEWHERE), ProviderConfig("b", base_url="http://127.0.0.1:1/v1")],
        environment={"HTTPS_PROXY": "http://name:secret@proxy:3128", "HTTP_PROXY": "http://proxy:3128"},
    )
    found = {upstream.name: upstream.proxy for upstream, _ in registry.upstreams()}
    assert found == {"a": "http://name:secret@proxy:3128", "b": None}
    assert "secret" not in repr(registry.upstreams()) + repr(target_of(ELSEWHERE, found["a"]))


# --- addresses and old servers


@BOTH_WAYS
async def test_a_base_url_may_have_a_path_and_end_with_slashes(ask, model, pool):
    async with proxy_to(model.base_url) as proxy:
        for path in ("/v1", "/v1/", "/v1//"):
            await ask(Upstream("office", f"http://provider.example{path}", proxy=proxy.url), pool)
    assert {head.split(b" ")[1] for head in proxy.heads} == {b"http://provider.example/v1/chat/completions"}


@BOTH_WAYS
async def test_a_server_on_ipv6_is_reached(ask, pool):
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    seen: list[bytes] = []
    async with await asyncio.start_server(_old_server(seen), sock=listener):
        port = listener.getsockname()[1]
        assert b"Good day." in await ask(Upstream("six", f"http://[::1]:{port}/v1"), pool)
    assert f"\r\nHost: [::1]:{port}\r\n".encode() in seen[0]


@BOTH_WAYS
async def test_a_server_of_http_1_0_is_read_to_its_end_and_not_kept(ask, pool):
    seen: list[bytes] = []
    async with await asyncio.start_server(_old_server(seen), "127.0.0.1", 0) as listening:
        there = Upstream("old", f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1")
        assert b"Good day." in await ask(there, pool)
        assert b"Good day." in await ask(there, pool)
    assert len(seen) == 2


def _old_server(seen: list[bytes]):
    answer = b'{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Good day."}}]}'

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + answer)
        writer.close()

    return meet


@pytest.mark.parametrize("url", ["https://a.example/v1?api-version=2", "https://a.example/v1#x"])
def test_a_base_url_with_more_than_a_path_is_refused(url):
    with pytest.raises(Invalid, match="must end with its path"):
        ProviderConfig("office", base_url=url)


async def test_two_providers_of_one_address_keep_their_own_keys(model, pool):
    configs = [
        ProviderConfig("ann", base_url=model.base_url, models=("x",), api_key_env="ANN"),
        ProviderConfig("ben", base_url=model.base_url, models=("y",), api_key_env="BEN"),
    ]
    registry = ProviderRegistry(configs, environment={"ANN": "sk-a", "BEN": "sk-b"})
    for upstream, _ in registry.upstreams():
        await through_gateway(upstream, pool)
    await all_of(registry.find("ben/y")[0].answer(asking()))
    await registry.aclose()
    assert [head["Authorization"] for head in model.headers] == ["Bearer sk-a", "Bearer sk-b", "Bearer sk-b"]


def test_what_is_no_address_is_no_way():
    for url in ("nonsense", "ftp://a", "http://a:b", "http://" + "ü" * 80 + ".example"):
        with pytest.raises(UnusableProxy):
            target_of(url)
    assert issubclass(Untrusted, ProviderFault)
