"""Notifications by e-mail, through a real SMTP server with TLS."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from anycowork.config.sections import NotificationEntry, SmtpEntry
from support.live_server import LiveServer, live_server
from support.mail_server import MailReceiver, mail_server
from support.outbound import CERTIFICATE
from support.scripted_model import call
from support.set_clock import ScheduleClock
from support.spec import proves

Json = dict[str, Any]


def entry(server: MailReceiver, **fields: Any) -> SmtpEntry:
    return SmtpEntry(
        **{"host": "127.0.0.1", "port": server.port, "sender": "ac@work.example", "ca_file": CERTIFICATE, **fields}
    )


async def mailed(client: LiveServer, address: str = "ada@example.org") -> Json:
    """Adds the target and sends it a test."""
    target = await client.ask("POST", "/notifications/targets", {"kind": "email", "address": address}, expect=201)
    assert (target["address"], target["secret"]) == (address, None)
    return await client.ask("POST", f"/notifications/targets/{target['id']}/test", expect=200)


@proves("OPS-7/4", "OPS-7/6")
async def test_what_waits_is_mailed_over_tls_by_kind_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "sesame-street-9")
    clock = ScheduleClock()
    replies = [call("create_file", path="the-merger.txt", content="We sell the ship."), "Done."]
    async with mail_server() as server:
        smtp = entry(server, user="ac", password_env="MAIL_PASSWORD")
        async with live_server(
            tmp_path,
            replies=replies,
            clock=clock,
            notifications=NotificationEntry(smtp=smtp, page_url="https://work.example"),
        ) as client:
            assert await mailed(client) == {"delivered": True, "status": None, "error": None}
            chat = await client.chat(title="The merger")
            await chat.send("Write about the merger.")
            for time in ("08:00:00", "08:00:10"):
                clock.time = f"2026-11-19T{time}.000000Z"
                async with asyncio.TaskGroup() as tasks:
                    await client.server.services.notifications.notifier.look(tasks)
            [(_, _, test), (recipient, encrypted, mail)] = server.mails
            assert (recipient, encrypted, server.logins[0]) == ("ada@example.org", True, "\0ac\0sesame-street-9")
            assert test["Subject"] == "AnyCowork: this is a test"
            assert (mail["Subject"], mail["To"]) == ("AnyCowork: an approval waits for you", "ada@example.org")
            assert (mail["From"], mail["Auto-Submitted"]) == ("AnyCowork <ac@work.example>", "auto-generated")
            assert mail.get_content_type() == "text/plain"
            assert f"- approval: https://work.example/#/chat/{chat.id}" in mail.as_string()
            assert "merger" not in mail.as_string() and "ship" not in mail.as_string()
            shown = await client.ask("GET", "/settings")
            assert shown["notifications"]["smtp"]["password_env"] == "MAIL_PASSWORD" and "sesame" not in str(shown)


async def test_no_mail_and_no_password_goes_to_a_server_without_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "sesame-street-9")
    async with mail_server(MailReceiver(starttls=False)) as server:
        smtp = entry(server, user="ac", password_env="MAIL_PASSWORD")
        async with live_server(tmp_path, notifications=NotificationEntry(smtp=smtp)) as client:
            outcome = await mailed(client)
            assert not outcome["delivered"] and "could be sent" in outcome["error"]
            await client.ask(
                "PUT",
                "/settings",
                {"notifications": {"smtp": {**smtp.model_dump(mode="json", exclude_none=True), "security": "none"}}},
            )
            assert (await mailed(client, "bob@example.org"))["delivered"]
    assert (server.logins, [mail[0] for mail in server.mails]) == ([], ["bob@example.org"])
    assert not any("AUTH" in line for line in server.commands)


async def test_a_refused_address_an_unknown_authority_and_a_missing_server_are_told(tmp_path: Path) -> None:
    async with (
        mail_server(MailReceiver(refuses=True)) as server,
        live_server(tmp_path, notifications=NotificationEntry(smtp=entry(server))) as client,
    ):
        assert "refused the address (code 550)" in (await mailed(client))["error"]
        smtp = entry(server, ca_file=None).model_dump(mode="json", exclude_none=True)
        await client.ask("PUT", "/settings", {"notifications": {"smtp": smtp}})
        assert not (await mailed(client, "b@example.org"))["delivered"]
        await client.ask("PUT", "/settings", {"notifications": None})
        assert "'notifications'" in (await mailed(client, "c@example.org"))["error"]
    assert server.mails == []


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.org\r\nBcc: all@example.org",
        "ada@example.org\n",
        "Ada <ada@example.org>",
        "ada@example.org,bob@example.org",
        "ada@example.org bob@example.org",
        '"ada"@example.org',
        "ada@[127.0.0.1]",
        "ada",
        "@example.org",
        "ädä@example.org",
        "ada@example.org\x00",
        "a" * 250 + "@b.org",
    ],
)
async def test_an_address_that_could_add_a_header_or_a_recipient_is_refused(tmp_path: Path, address: str) -> None:
    async with (
        live_server(tmp_path) as client,
        client.session.post(
            f"{client.url}/notifications/targets", json={"kind": "email", "address": address}
        ) as response,
    ):
        answer = await response.json()
    assert (response.status, answer["error"]["param"]) == (422, "address"), answer
