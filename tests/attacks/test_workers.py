"""A worker against a person's interests: passwords that leak, folders that mislead, rows that claim to be somebody, rules that end at a machine."""

import os
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from anycowork.api.application import build_routes, create_forwarded_api
from anycowork.api.middleware.held_chats import answer_here
from anycowork.cli.main import app
from anycowork.domain.forwarded_requests import ForwardedRequest
from anycowork.domain.principals import OWNER, mcp_host
from anycowork.server.cluster.placements import read_marker, write_marker
from support.jobs import approved, new_job, plan, report, until, writing
from support.live_server import live_server
from support.postgres import database_url, has_a_name, postgres, run_sql
from support.scripted_model import call
from support.workers import live_worker, until_printed, worker_process

__all__ = ["database_url", "postgres"]
SECRET = "pa55word-of-the-database"


@pytest.mark.parametrize("url", [f"postgresql://u:{SECRET}@h/d", f"postgresql://u@h/d?password={SECRET}"])
def test_a_password_among_the_arguments_is_refused_and_not_repeated(url: str) -> None:
    result = CliRunner().invoke(app, ["worker", "--db", url])
    assert result.exit_code == 2 and "ANYCOWORK_DATABASE_URL" in result.output.replace("\n", " ")
    assert SECRET not in result.output


def test_a_database_that_cannot_be_reached_is_named_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://u:{SECRET}@127.0.0.1:1/d"
    with worker_process(tmp_path / "worker", url, "http://127.0.0.1:1") as worker:
        printed = until_printed(tmp_path / "worker" / "log", "waits for it")
        assert "postgresql://u@127.0.0.1:1/d" in printed
        worker.send_signal(signal.SIGINT)
        assert worker.wait(60) == 0
    assert SECRET not in "".join(file.read_text("utf-8", "replace") for file in tmp_path.rglob("*") if file.is_file())


def test_a_marker_is_neither_written_nor_read_through_what_an_agent_put_there(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "workspace-id").write_text("a" * 32)

    def linked_folder(root: Path) -> None:
        (root / ".anycowork").symlink_to(outside)

    def linked_file(root: Path) -> None:
        (root / ".anycowork").mkdir()
        (root / ".anycowork" / "workspace-id").symlink_to(outside / "new")

    def pipe(root: Path) -> None:
        (root / ".anycowork").mkdir()
        os.mkfifo(root / ".anycowork" / "workspace-id")

    def words(root: Path) -> None:
        (root / ".anycowork").mkdir()
        (root / ".anycowork" / "workspace-id").write_text("../" * 1000)

    for number, plant in enumerate((linked_folder, linked_file, pipe, words)):
        root = tmp_path / str(number)
        root.mkdir()
        plant(root)
        assert (write_marker(str(root)), read_marker(str(root))) == (None, None), plant
    assert [file.name for file in outside.iterdir()] == ["workspace-id"]
    clean = tmp_path / "clean"
    clean.mkdir()
    assert write_marker(str(clean)) == write_marker(str(clean)) == read_marker(str(clean)) is not None


@pytest.mark.skipif(not has_a_name(), reason="PostgreSQL starts for no user who has no name")
async def test_rules_scopes_and_forged_rows_hold_on_a_worker_as_on_a_server(tmp_path: Path, database_url: str) -> None:
    replies = [call("create_file", path="t0.txt", content="x"), report("refused", "failure")]
    async with (
        live_server(tmp_path, database_url=database_url) as server,
        live_worker(tmp_path / "worker", database_url, replies=replies * 8) as worker,
    ):
        rule = {"tool": "create_file", "resource": "/*", "effect": "deny", "scope": "global"}
        await server.ask("POST", "/rules", rule, expect=201)
        chat = await server.chat()
        waiting = await new_job(server, chat, plan=plan(writing("t0")))
        forged = ForwardedRequest(chat.id, mcp_host("host", OWNER), "POST", f"/jobs/{waiting['id']}/approve", "", b"{}")
        answer = await answer_here(create_forwarded_api(build_routes(worker.services.services)), forged)
        assert answer.status == 403, "who may not decide on a server may not on a worker"
        other = await server.chat()
        job = await approved(server, other, plan=plan(writing("t0")))
        await worker.model.asked(1)
        run_sql(
            database_url,
            "INSERT INTO forwarded_requests (id, peer_id, chat_id, principal, method, path, query, body)"
            f" SELECT 'forged' || n, (SELECT min(id) FROM peers WHERE kind = 'worker'), '{other.id}', '{{\"id\": 1}}', 'POST', '/', '', ''"
            " FROM generate_series(1, 3) n",
        )
        done = await until(server, other, job["id"], "completed", "failed")
        assert done["status"] == "failed" and worker.model.requests and not server.model.requests
        assert not (server.workspace / "t0.txt").exists(), "the rule of the database denies on the worker, too"
