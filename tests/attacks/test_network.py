"""Attempts of a command to reach more of the network than the hosts that it was allowed, by way of its proxy or around it.

Every service is the test's own, on loopback; "public" hosts are pretended by the outside that the proxy is given.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.network import Destination, read_destination, wanted_destinations
from anycowork.domain.tools import ToolResult
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import Egress
from anycowork.sandbox.network.proxy import ProxyLimits, SandboxProxy
from support.fake_network import PUBLIC, FakeNetwork, FakeService, serving
from support.spec import proves
from support.tool_workspace import ToolWorkspace

TIMEOUT = 60.0  # until something that should happen did not


@dataclass
class World:
    """`good.example` is allowed; `evil.example` is not; `inner` are services of this machine and its neighbourhood."""

    bench: ToolWorkspace
    outside: FakeNetwork
    good: FakeService
    evil: FakeService
    inner: FakeService

    async def run(
        self, command: str, *hosts: str, named: tuple[Destination, ...] = (), timeout: float = TIMEOUT
    ) -> ToolResult:
        tool_context = self.bench.tool_context(named_network=named)
        return await self.bench.call(
            "execute_command", tool_context, command=command, timeout=timeout, network=list(hosts)
        )

    async def ask(self, words: str, *hosts: str) -> str:
        """The same words to the same proxy, without the sandbox between them: what it answers."""
        reach = NetworkReach(wanted_destinations(hosts))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(
                    SandboxProxy(reach, self.outside, ProxyLimits(head_seconds=1)).serve(listening)
                )
                reader, writer = await asyncio.open_connection(*listening.getsockname())
                writer.write(words.encode("latin-1"))
                heard = await _all_of(reader)
                writer.close()
                serving.cancel()
        return heard.decode("latin-1")


async def _all_of(reader: asyncio.StreamReader) -> bytes:
    heard = b""
    try:
        while piece := await reader.read(65_536):
            heard += piece
    except ConnectionResetError:
        pass  # refused while we were still speaking
    return heard


@asynccontextmanager
async def world_in(folder: Path, limits: ProxyLimits | None = None) -> AsyncIterator[World]:
    (folder / "workspace").mkdir()
    (folder / "outside").mkdir()
    outside = FakeNetwork()
    bench = ToolWorkspace(folder / "workspace", folder / "outside", egress=Egress(outside, limits))
    async with AsyncExitStack() as stack:
        good, evil, inner = [await stack.enter_async_context(serving(FakeService())) for _ in range(3)]
        outside.put("good.example", 80, good)
        outside.put("good.example", 443, good)
        outside.put("evil.example", 80, evil, "151.101.1.1")
        outside.put("evil.example", 443, evil, "151.101.1.1")
        for address in PRIVATE:
            for port in (80, 443):
                outside.doors[address, port] = inner.port
        yield World(bench, outside, good, evil, inner)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with world_in(tmp_path) as made:
        yield made


def through(*pieces: str, port: int = 3128) -> str:
    """Says these words to the proxy, and prints what comes back."""
    words = "".join(pieces)
    return f"""python3 - <<'EOF'
import socket
s = socket.create_connection(("127.0.0.1", {port}), 5)
s.settimeout(5)
s.sendall({words.encode("latin-1")!r})
got = b""
try:
    while piece := s.recv(65536): got += piece
except OSError as error: print(error)
print(got.decode("latin-1"))
EOF"""


PRIVATE = (
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.7", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "224.0.0.1",
    "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fd00::1", "ff02::1", "fec0::1", "::ffff:127.0.0.1", "::127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b:1::a00:7", "2002:7f00:1::", "2002:a00:7::1", "2001:0:7f00:1::", "::ffff:0:127.0.0.1",
    "2001:db8::1", "2a00:1450:4001::200:5efe:127.0.0.1",
)  # fmt: skip


@proves("TOOL-4", "APR-3")
async def test_the_allowed_host_is_reached_by_both_ways_and_the_result_says_so(world: World) -> None:
    command = "curl -sS http://good.example/a && " + through("CONNECT good.example:443 HTTP/1.1\r\n\r\nhi")
    result = await world.run(command, "good.example")
    assert "hello" in result.content and "200 Connection established" in result.content
    assert world.outside.dialled == [(PUBLIC, 80), (PUBLIC, 443)]
    assert result.facts["network"] == {"reached": {"good.example:80": 1, "good.example:443": 1}, "refused": {}}


@proves("TOOL-4", "SEC-5")
@pytest.mark.parametrize("address", PRIVATE)
async def test_a_name_that_leads_inside_leads_nowhere(world: World, address: str) -> None:
    world.outside.names["rebound.example"] = [[address]]
    answer = await world.ask("GET http://rebound.example/ HTTP/1.1\r\n\r\n", "rebound.example")
    assert world.outside.dialled == [] and world.inner.received == []
    assert "commands do not reach" in answer


@proves("TOOL-4")
@pytest.mark.parametrize(
    "spelling",
    ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "127.1", "127.0.0.1.", "0", "0.0.0.0",
     "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "LOCALHOST.", "%31%32%37.0.0.1", "127。0。0。1"],
)  # fmt: skip
@pytest.mark.parametrize("way", ["GET", "CONNECT"])
async def test_an_address_of_this_machine_is_not_reached_however_it_is_spelt(
    world: World, spelling: str, way: str
) -> None:
    world.outside.names["localhost"] = [["127.0.0.1", "::1"]]
    name = spelling.encode().decode("latin-1")
    asked = f"GET http://{name}/" if way == "GET" else f"CONNECT {name}:443"
    allowed = ["good.example", "localhost", "127.0.0.1", "[::1]", "0.0.0.0"]
    answer = await world.ask(f"{asked} HTTP/1.1\r\n\r\n", *allowed)
    assert world.outside.dialled == [] and world.inner.received == []
    assert answer.startswith(("HTTP/1.1 400", "HTTP/1.1 403"))


@proves("TOOL-4")
async def test_a_name_that_changes_its_mind_is_dialled_as_it_was_checked(world: World) -> None:
    world.outside.names["turning.example"] = [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]]
    await world.run("curl -sS http://turning.example/; curl -sS http://turning.example/", "turning.example")
    assert world.outside.dialled == [(PUBLIC, 80)] and world.inner.received == []


@proves("TOOL-4")
async def test_of_several_addresses_only_the_public_ones_are_dialled(world: World) -> None:
    world.outside.names["mixed.example"] = [["127.0.0.1", "10.0.0.7", PUBLIC]]
    result = await world.run("curl -sS http://mixed.example/", "mixed.example")
    assert "hello" in result.content and world.outside.dialled == [(PUBLIC, 80)] and world.inner.received == []


# --- beyond what was allowed

BEYOND = {
    "another host": ["GET http://evil.example/ HTTP/1.1\r\n\r\n"],
    "another host by tunnel": ["CONNECT evil.example:443 HTTP/1.1\r\n\r\n"],
    "another port": ["CONNECT good.example:22 HTTP/1.1\r\n\r\n"],
    "another port by plain http": ["GET http://good.example:8080/ HTTP/1.1\r\n\r\n"],
    "no port": ["CONNECT good.example HTTP/1.1\r\n\r\n"],
    "a host below the allowed one": ["CONNECT www.good.example:443 HTTP/1.1\r\n\r\n"],
    "a host that ends like the allowed one": ["CONNECT notgood.example:443 HTTP/1.1\r\n\r\n"],
    "a host that begins like the allowed one": ["CONNECT good.example.evil.example:443 HTTP/1.1\r\n\r\n"],
    "a name and a password before the host": ["GET http://good.example@evil.example/ HTTP/1.1\r\n\r\n"],
    "a password that looks like the host": ["GET http://good.example:80@evil.example/ HTTP/1.1\r\n\r\n"],
    "a backslash": ["GET http://evil.example\\@good.example/ HTTP/1.1\r\n\r\n"],
    "a fragment": ["GET http://evil.example#@good.example/ HTTP/1.1\r\n\r\n"],
    "a null byte": ["CONNECT good.example\0.evil.example:443 HTTP/1.1\r\n\r\n"],
    "another scheme": ["GET https://good.example/ HTTP/1.1\r\n\r\n"],
    "a file": ["GET file:///etc/passwd HTTP/1.1\r\n\r\n"],
    "ftp": ["GET ftp://good.example/ HTTP/1.1\r\n\r\n"],
    "the host in a header alone": ["GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"],
    "two requests in one line": ["GET http://evil.example/ HTTP/1.1 GET http://good.example/ HTTP/1.1\r\n\r\n"],
    "a line break in the target": ["GET http://good.example/\nHost: evil.example HTTP/1.1\r\n\r\n"],
    "a folded header": ["GET http://evil.example/ HTTP/1.1\r\nHost: x\r\n evil\r\n\r\n"],
    "another protocol": ["SSH-2.0-x\r\n\r\n"],
    "SOCKS 5": ["\x05\x01\x00\r\n\r\n"],
    "TLS straight away": ["\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"],
    "an endless head": ["GET http://good.example/ HTTP/1.1\r\n", "X: " + "x" * 40_000, "\r\n\r\n"],
    "a thousand headers": ["GET http://good.example/ HTTP/1.1\r\n", "X: y\r\n" * 1000, "\r\n"],
    "a space before the colon": ["GET http://good.example/ HTTP/1.1\r\nHost : evil.example\r\n\r\n"],
    "two hosts": ["GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n"],
    "two lengths": ["POST http://good.example/ HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello"],
    "a length and chunks": ["POST http://good.example/ HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    "chunks by another name": ["POST http://good.example/ HTTP/1.1\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n"],
    "a length with a sign": ["POST http://good.example/ HTTP/1.1\r\nContent-Length: +5\r\n\r\nhello"],
    "a tunnel with a body": ["CONNECT good.example:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"],
}  # fmt: skip


@proves("TOOL-4")
@pytest.mark.parametrize("name", BEYOND)
async def test_what_was_not_allowed_is_not_even_looked_up(world: World, name: str) -> None:
    answer = await world.ask("".join(BEYOND[name]), "good.example")
    assert world.outside.dialled == [] and world.outside.asked == []
    assert world.good.received == world.evil.received == world.inner.received == []
    assert " 200 " not in answer


SMUGGLED = {
    "behind a request without a body": "GET http://good.example/ HTTP/1.1\r\n\r\n",
    "behind a body": "POST http://good.example/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
    "with the length taken away on the road": "POST http://good.example/ HTTP/1.1\r\nConnection: content-length\r\nContent-Length: 3\r\n\r\nabc",
    "with an upgrade": "GET http://good.example/ HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    "with a proxy's own length": "GET http://good.example/ HTTP/1.1\r\nProxy-Content-Length: 900\r\n\r\n",
}


@proves("TOOL-4")
@pytest.mark.parametrize("name", SMUGGLED)
async def test_a_second_request_is_not_smuggled_behind_the_first(world: World, name: str) -> None:
    second = "GET http://evil.example/second HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    await world.ask(SMUGGLED[name] + second, "good.example")
    assert len(world.good.received) == 1 and "second" not in world.good.text and "evil" not in world.good.text
    assert world.evil.received == [] and world.outside.dialled == [(PUBLIC, 80)]


@proves("TOOL-4")
async def test_the_host_that_the_server_is_told_is_the_one_that_was_allowed(world: World) -> None:
    head = "GET http://good.example/x?y HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: Basic c2VjcmV0\r\nX-A: b\r\n\r\n"
    await world.ask(head, "good.example")
    assert world.good.text == "GET /x?y HTTP/1.1\r\nHost: good.example\r\nX-A: b\r\nConnection: close\r\n\r\n"


@proves("TOOL-4")
async def test_another_host_asked_for_inside_a_tunnel_is_not_reached(world: World) -> None:
    inside = "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\nCONNECT evil.example:443 HTTP/1.1\r\n\r\n"
    await world.run(through("CONNECT good.example:443 HTTP/1.1\r\n\r\n", inside), "good.example")
    assert world.evil.received == [] and world.outside.dialled == [(PUBLIC, 443)]


# --- around the proxy

AROUND = {
    "TCP": "exec 5<>/dev/tcp/127.0.0.1/{0} && echo knock >&5",
    "TCP over IPv6": "python3 -c \"import socket; socket.create_connection(('::ffff:127.0.0.1', {0}), 2)\"",
    "UDP": "echo knock > /dev/udp/127.0.0.1/{0}",
    "a name server": "getent hosts good.example && echo GOT; getent ahosts evil.example && echo GOT",
    "a resolver of one's own": (
        "python3 -c \"import socket; s = socket.socket(2, 2); s.sendto(b'x', ('8.8.8.8', 53)); print('GOT')\""
    ),
    "a public address": "timeout 2 bash -c 'exec 5<>/dev/tcp/1.1.1.1/443' && echo GOT",
    "a socket file of the proxy": "find / -xdev -type s 2>/dev/null | grep . && echo GOT",
    "an abstract socket": "grep -c @ /proc/net/unix | grep -vx 0 && echo GOT",
    "a device of the network": "ip link add dummy0 type dummy && echo GOT; grep -v lo: /proc/net/dev | grep : && echo GOT",
    "the proxy's own port taken over": "python3 -c \"import socket; s = socket.socket(); s.bind(('127.0.0.1', 3128)); print('GOT')\"",
    "the server's descriptors": "ls -l /proc/[0-9]*/fd 2>/dev/null | grep -E 'net:|ns/' && echo GOT",
    "the server's environment": "env; cat /proc/*/environ | tr '\\0' '\\n'",
}


@proves("TOOL-4", "SEC-2")
@pytest.mark.parametrize("name", AROUND)
async def test_there_is_no_way_around_the_proxy(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the secret key")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", world.inner.port))
        udp.setblocking(False)
        result = await world.run(AROUND[name].format(world.inner.port), "good.example")
        with pytest.raises(BlockingIOError):
            udp.recv(10)
    assert "GOT" not in result.content.split("\n") and "the secret key" not in result.content
    assert world.inner.received == [] and world.outside.dialled == []


@proves("TOOL-4", "SEC-5")
async def test_this_server_is_not_reached_even_if_a_rule_names_it(world: World) -> None:
    own = read_destination(f"127.0.0.1:{world.inner.port}")  # this very process listens there
    result = await world.run(through(f"GET http://{own}/healthz HTTP/1.1\r\n\r\n"), str(own), named=(own,))
    assert "this server itself" in result.content and world.inner.received == []


@proves("TOOL-4", "APR-2")
async def test_a_private_address_is_reached_only_if_a_rule_names_it_literally(world: World) -> None:
    wanted = read_destination("192.168.1.1:80")
    command = through("GET http://192.168.1.1/ HTTP/1.1\r\n\r\n")
    assert "a rule allows 'network' on exactly" in (await world.run(command, "192.168.1.1")).content
    assert world.inner.received == []
    assert "hello" in (await world.run(command, "192.168.1.1", named=(wanted,))).content
    assert len(world.inner.received) == 1


# --- beyond the command's end, and other commands


TUNNEL = "exec 5<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT good.example:443 HTTP/1.1\\r\\n\\r\\n' >&5; head -c 12 <&5"


@asynccontextmanager
async def held_open(world: World) -> AsyncIterator[None]:
    """While the block runs, a command is in the middle of what it was allowed; then it is stopped."""
    world.good.stays = True
    async with asyncio.TaskGroup() as tasks:
        command = tasks.create_task(world.run(f"{TUNNEL}; cat <&5", "good.example"))
        async with asyncio.timeout(60):
            await world.good.called.wait()
        yield
        command.cancel()


@proves("TOOL-4")
async def test_what_a_command_left_open_ends_with_it(world: World) -> None:
    world.good.stays = True
    result = await world.run(f"{TUNNEL}; (setsid cat <&5 >/dev/null 2>&1 &)", "good.example")
    assert "HTTP/1.1 200" in result.content and len(world.good.received) == 1
    async with asyncio.timeout(60):
        await world.good.all_closed.wait()


@proves("TOOL-4")
async def test_a_stopped_command_takes_its_connections_along(world: World) -> None:
    async with held_open(world):
        assert world.good.open_now == 1
    async with asyncio.timeout(60):
        await world.good.all_closed.wait()


@proves("TOOL-4")
async def test_a_command_without_network_finds_no_proxy_while_another_has_one(world: World) -> None:
    knock = "exec 5<>/dev/tcp/127.0.0.1/3128 && echo GOT"
    async with held_open(world):
        result = await world.bench.call("execute_command", command=knock)
    assert "Connection refused" in result.content and "GOT" not in result.content.split("\n")


@proves("TOOL-4")
async def test_a_command_cannot_use_what_another_was_allowed(world: World) -> None:
    async with held_open(world):
        result = await world.run("curl -sS http://good.example/", "evil.example")
    assert "not among the destinations" in result.content
    assert len(world.good.received) == 1


# --- floods

MANY = """python3 - <<'EOF'
import socket
held = []
for _ in range({0}):
    try:
        s = socket.create_connection(("127.0.0.1", 3128), 5)
        s.sendall(b"CONNECT good.example:443 HTTP/1.1\\r\\n\\r\\n")
        held.append(s)
    except OSError as error:
        print(error); break
for s in held:
    s.settimeout(2)
    try: s.recv(10)
    except OSError: pass
print(len(held))
EOF"""


@proves("TOOL-4")
async def test_a_flood_of_connections_is_dammed(tmp_path: Path) -> None:
    async with world_in(tmp_path, ProxyLimits(at_once=8, in_all=200)) as world:
        world.good.stays = True
        await world.run(MANY.format(400), "good.example")
        assert 0 < world.good.open_at_once <= 8
        assert len(world.outside.dialled) <= 200


@proves("TOOL-4")
async def test_connections_that_say_nothing_do_not_stay(tmp_path: Path) -> None:
    async with world_in(tmp_path, ProxyLimits(at_once=2, head_seconds=0.2)) as world:
        idle = "exec 5<>/dev/tcp/127.0.0.1/3128; exec 6<>/dev/tcp/127.0.0.1/3128; cat <&5; cat <&6; curl -sS http://good.example/"
        assert "hello" in (await world.run(idle, "good.example")).content


@proves("TOOL-4")
async def test_a_flood_of_bytes_is_dammed(tmp_path: Path) -> None:
    async with world_in(tmp_path, ProxyLimits(bytes=1_000_000)) as world:
        world.good.stays = True
        await world.run(f"{TUNNEL}; head -c 20M /dev/zero >&5; true", "good.example")
        assert len(world.good.text) <= 1_000_000


@proves("TOOL-4")
async def test_a_call_that_wants_everywhere_is_no_call(world: World) -> None:
    tool = world.bench.toolbox.find("execute_command")
    assert tool is not None
    for hosts in (["*"], ["*:443"], ["http://good.example"], ["0x7f000001"], ["good.example:0"], ["a b"], ["x"] * 50):
        assert tool.problems({"command": "true", "network": list(hosts)}) != []
    with pytest.raises(AnyCoworkError):
        await tool.prepare({"command": "true", "network": ["*"]}, world.bench.tool_context())


@proves("TOOL-4")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs commands as somebody else")
async def test_root_gives_network_to_a_command_that_runs_as_the_workspaces_owner(world: World) -> None:
    for place in (world.bench.root, *world.bench.root.parents):
        if place.is_relative_to("/tmp") and place != Path("/tmp"):
            place.chmod(place.stat().st_mode | 0o055)
    os.chown(world.bench.root, 12345, 12345)
    result = await world.run("id -u; curl -sS http://good.example/; curl -sS http://evil.example/", "good.example")
    assert result.content.startswith("12345\n") and "hello" in result.content
    assert "not among the destinations" in result.content and world.evil.received == []
