"""Probes of a load balancer: a server that cannot work says so, and stays alive."""

from pathlib import Path

from support.live_server import live_server
from support.spec import proves


@proves("OPS-1/1")
async def test_server_without_its_database_lives_but_is_not_ready(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        assert await client.ask("GET", "/readyz", expect=200) == {"status": "ready"}
        client.server.services.server.database_away.set()
        assert (await client.ask("GET", "/readyz", expect=503))["error"]["code"] == "database_away"
        assert await client.ask("GET", "/healthz", expect=200) == {"status": "ok"}
        client.server.services.server.database_away.clear()
        assert await client.ask("GET", "/readyz", expect=200) == {"status": "ready"}
