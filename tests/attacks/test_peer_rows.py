"""Whoever can write to the shared database, or speak to it, poses as a server: forged requests, peers, leases, layers and notes."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from anycowork.domain.principals import OWNER
from anycowork.server.cluster import server_peers
from support.jobs import approved, by_task, bytes_of, plan, report, until, writing
from support.live_server import LiveChat, LiveServer, RequestRefused, live_server
from support.postgres import database_url, has_a_name, postgres, run_sql
from support.scripted_model import Reply, call

__all__ = ["database_url", "postgres"]
pytestmark = pytest.mark.skipif(not has_a_name(), reason="PostgreSQL starts for no user who has no name")
SECONDS = 60.0
SECRET = "kept-outside-of-every-workspace"


def _writes(server: LiveServer, *names: str, hold: asyncio.Event | None = None) -> None:
    last = Reply(report("ok"), hold=hold) if hold else report("ok")
    server.model.mind = by_task(
        {name: [call("create_file", path=f"{name}.txt", content=f"{name}\n"), last] for name in names}
    )


async def _waiting_job(server: LiveServer, chat: LiveChat) -> dict[str, Any]:
    _writes(server, "a")
    job = await approved(server, chat, plan=plan(writing("a")), commit="job")
    return await until(server, chat, job["id"], "awaiting_commit")


async def _forwarded(server: LiveServer, chat_id: str, method: str, path: str, body: Any = None) -> tuple[int, str]:
    """The answer to a row that says that the owner asked this at another server."""
    peers = server.server.database.peers
    assert peers is not None
    by, sent = msgspec.json.encode(OWNER).decode(), b"" if body is None else json.dumps(body).encode()
    put = (
        "INSERT INTO forwarded_requests (id, peer_id, chat_id, principal, method, path, query, body)"
        " VALUES ('forged', $1, $2, $3, $4, $5, '', $6)"
    )
    await peers.fetch(put, peers.server_id, chat_id, by, method, path, sent)
    peers.requests.came.set()
    async with asyncio.timeout(SECONDS):
        while (row := (await peers.fetch("SELECT status, answer FROM forwarded_requests"))[0])[0] is None:
            await asyncio.sleep(0.02)
    await peers.fetch("DELETE FROM forwarded_requests")
    return int(row[0]), bytes(row[1]).decode()


async def test_forged_request_reaches_neither_the_machine_nor_settings_keys_and_people(
    tmp_path: Path, database_url: str
) -> None:
    async with live_server(tmp_path, database_url=database_url, files={"a.txt": "a\n"}) as server:
        chat, other = await server.chat(), await server.chat()
        mine, program = f"/context/{chat.id}", {"command": f"touch {tmp_path}/planted"}
        mcp = {"name": "evil", "command": "/bin/sh", "args": ["-c", f"touch {tmp_path}/planted"]}
        asked: list[tuple[str, str, Any]] = [
            ("PUT", "/settings", {"max_steps": 99}),
            ("GET", "/settings", None),
            ("POST", "/keys", {"name": "mine"}),
            ("POST", "/people", {"name": "Eve", "access": "admin"}),
            ("POST", "/rules", {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}),
            ("POST", "/workspaces", {"path": str(tmp_path)}),
            ("POST", "/mcp/servers", mcp),
            ("POST", "/session", {"code": "x"}),
            ("GET", "/audit/verify", None),
            *(
                ("POST", f"{mine}{tail}", program)
                for tail in ("/person-commands", "//person-commands", "/x/../person-commands")
            ),
            ("POST", f"{mine}/mcp_servers", mcp),
            ("PUT", f"{mine}/file", {"path": "a.txt", "text": "forged\n", "sha256": "0" * 64}),
            ("GET", f"{mine}/file?path=a.txt", None),
            ("GET", f"{mine}/export", None),
            ("POST", f"{mine}/git/push", {}),
            ("PUT", f"{mine}/../../settings", {"max_steps": 99}),
            ("PUT", "/jobs/../settings", {"max_steps": 99}),
            ("POST", f"/context/{other.id}/messages", {"content": "Not my chat."}),
            ("POST", f"/context/{chat.id}x/messages", {"content": "Not my chat."}),
        ]
        for method, path, body in asked:
            status, answer = await _forwarded(server, chat.id, method, path, body)
            assert status in (403, 404, 405), (method, path, status, answer)
        assert (await server.ask("GET", "/settings"))["max_steps"] == 10
        assert (await server.ask("GET", "/keys"))["keys"] == [] and (await server.ask("GET", "/rules"))["rules"] == []
        assert (await other.messages()) == [] and not server.model.requests
        assert bytes_of(server.workspace) == {"a.txt": b"a\n"} and not (tmp_path / "planted").exists()
        assert (await _forwarded(server, chat.id, "POST", f"{mine}/stop"))[0] == 200, "what servers do forward passes"


async def test_forged_layer_leads_no_server_out_of_its_own_task_folders(tmp_path: Path, database_url: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.txt").write_text(SECRET)
    async with live_server(tmp_path, database_url=database_url) as server:
        chat = await server.chat()
        job = await _waiting_job(server, chat)
        forged = "; ".join(
            f"UPDATE {table} SET workspace = '{secret}' WHERE workspace LIKE '%/copies/%'"
            for table in ("jobs", "snapshots")
        )
        run_sql(database_url, forged)
        server.server.database.journal.forget(None)
        for method, path in (("GET", "diff"), ("POST", "commit")):
            async with server.session.request(method, f"{server.url}/jobs/{job['id']}/{path}") as response:
                answer = await response.text()
                assert SECRET not in answer and response.status >= 400, answer
        assert bytes_of(server.workspace) == {}
        await server.ask("POST", f"/jobs/{job['id']}/drop")
        assert (secret / "a.txt").read_text() == SECRET, "nothing but task folders is removed"


async def test_forged_requests_about_layers_change_nothing_outside_of_them(tmp_path: Path, database_url: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim.txt").write_text("victim\n")
    hold = asyncio.Event()
    async with live_server(tmp_path, database_url=database_url, files={"kept.txt": "kept\n"}) as server:
        _writes(server, "a", hold=hold)
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing("a")), parallel=2)
        await server.model.asked(2)
        peers = server.server.database.peers
        assert peers is not None
        climbs = [f"{'../' * depth}{outside}/victim.txt".replace("//", "/") for depth in range(12)]
        bodies = [
            *([kind, str(server.workspace), climbs, climbs] for kind in ("hold", "hide")),
            *(
                [kind, folder, ["victim.txt"], ["victim.txt"]]
                for kind in ("hold", "hide")
                for folder in (str(outside), "/", "..")
            ),
            *(["hold_all", folder, [], []] for folder in ("/", str(tmp_path), "")),
            *([[], {}, None, 7], ["unknown", "x", [], []], "words"),
        ]
        before = bytes_of(outside), bytes_of(server.workspace)
        for number, body in enumerate(bodies):
            put = "INSERT INTO layer_requests (id, peer_id, change) VALUES ($1, $2, $3)"
            await peers.fetch(put, f"forged{number}", peers.server_id, json.dumps(body).encode())
        async with asyncio.timeout(SECONDS):
            while await peers.fetch("SELECT 1 FROM layer_requests WHERE answer IS NULL"):
                await asyncio.sleep(0.05)
        assert (bytes_of(outside), bytes_of(server.workspace)) == before
        hold.set()
        done = await until(server, chat, job["id"], "completed", "failed")
        assert done["status"] == "completed" and (server.workspace / "a.txt").read_text() == "a\n"


async def test_forged_peer_cannot_take_a_servers_own_changes_from_it(tmp_path: Path, database_url: str) -> None:
    async with live_server(tmp_path, database_url=database_url) as server:
        chat = await server.chat()
        job = await _waiting_job(server, chat)
        thief = await asyncpg.connect(database_url)
        try:
            lives = "SELECT pg_advisory_lock(hashtextextended('anycowork server 0thief ' || current_schema(), 0))"
            await thief.execute(lives)
            await thief.execute(
                "INSERT INTO peers (id, kind, host, pid, version, permissions, data_folder)"
                " SELECT '0thief', 'server', 'h', 1, 'v', permissions, data_folder FROM peers LIMIT 1"
            )
            assert (await server.ask("POST", f"/jobs/{job['id']}/commit"))["status"] == "completed"
        finally:
            await thief.close()
        assert bytes_of(server.workspace) == {"a.txt": b"a\n"}


async def test_stolen_chat_is_refused_with_the_reason_and_free_when_the_thief_leaves(
    tmp_path: Path, database_url: str
) -> None:
    async with live_server(tmp_path, database_url=database_url, replies=["Here."]) as server:
        chat = await server.chat()
        thief = await asyncpg.connect(database_url)
        try:
            name = f"'anycowork chat {chat.id} ' || current_schema()"
            await thief.execute(f"SELECT pg_advisory_lock(hashtextextended({name}, 0))")
            with pytest.raises(RequestRefused, match=r"409.*chat_held"):
                await chat.send("Are you there?")
        finally:
            await thief.close()
        assert (await chat.send("Are you there?"))["state"] == "idle"


async def test_stolen_lease_of_nobody_who_lives_is_taken_back(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_peers, "TAKEOVER_SECONDS", 0.1)
    async with live_server(tmp_path, database_url=database_url) as server:
        root = server.workspace.resolve()
        columns = "workspace, owner, epoch, expires_at"
        stolen = f"INSERT INTO leases ({columns}) VALUES ('{root}', 'thief', 1000000, '2999-01-01T00:00:00.000000Z')"
        run_sql(
            database_url,
            f"{stolen} ON CONFLICT (workspace) DO UPDATE SET owner = 'thief', expires_at = excluded.expires_at",
        )
        server.model.replies[:] = [call("create_file", path="a.txt", content="a\n"), "Done."]
        chat = await server.chat()
        await chat.send("Create it.")
        assert (await chat.decide())["state"] == "idle"
        assert bytes_of(server.workspace) == {"a.txt": b"a\n"}


async def test_write_under_a_lease_that_was_stolen_meanwhile_is_refused(tmp_path: Path, database_url: str) -> None:
    async with live_server(tmp_path, database_url=database_url) as server:
        root = str(server.workspace.resolve())
        workspaces = server.server.workspaces
        chat = await server.chat()
        committer = server.server.services.job_commits._isolated.committer
        job = await _waiting_job(server, chat)
        writing_in = workspaces.writing

        def stolen(folder: str) -> Any:
            return _Stolen(writing_in(folder), database_url, root if folder == root else None)

        committer._workspaces.writing = stolen  # type: ignore[method-assign]
        with pytest.raises(RequestRefused, match=r"409.*lease"):
            await server.ask("POST", f"/jobs/{job['id']}/commit")
        committer._workspaces.writing = writing_in  # type: ignore[method-assign]
        assert bytes_of(server.workspace) == {}
        assert (await server.ask("POST", f"/jobs/{job['id']}/commit"))["status"] == "completed"


class _Stolen:
    """A lease that somebody else takes as soon as it was given."""

    def __init__(self, lease: Any, url: str, root: str | None) -> None:
        self._lease, self._url, self._root = lease, url, root

    async def __aenter__(self) -> Any:
        epoch = await self._lease.__aenter__()
        if self._root is not None:
            run_sql(self._url, f"UPDATE leases SET epoch = epoch + 1 WHERE workspace = '{self._root}'")
        return epoch

    async def __aexit__(self, *error: Any) -> Any:
        return await self._lease.__aexit__(*error)


async def test_notes_of_strangers_harm_nothing(
    tmp_path: Path, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with live_server(tmp_path, database_url=database_url, replies=["Here."]) as server:
        chat = await server.chat()
        with caplog.at_level(logging.WARNING):
            for note in ("", "x", "x y", "? ?", "a ! " + "b " * 1000, "\n\n", f"0 ? {'z' * 100}"):
                run_sql(database_url, f"SELECT pg_notify('anycowork' || current_schema(), '{note}')")
            assert (await chat.send("Are you there?"))["state"] == "idle"
        assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


async def test_row_with_a_number_that_is_none_is_called_damage_and_heals(tmp_path: Path, database_url: str) -> None:
    replies = [call("create_file", path="a.txt", content="a\n"), "Done."]
    async with live_server(tmp_path, database_url=database_url, replies=replies) as server:
        chat = await server.chat()
        await chat.send("Create it.")
        for number in ("NaN", "Infinity"):
            run_sql(database_url, f"UPDATE turns SET seconds = '{number}'")
            with pytest.raises(RequestRefused, match=r"503.*database_damaged"):
                await chat.decide()
        run_sql(database_url, "UPDATE turns SET seconds = 1")
        assert (await chat.decide())["state"] == "idle"
        assert bytes_of(server.workspace) == {"a.txt": b"a\n"}
