"""Attacks by images: what only says that it is one, what is far too large, and images of somebody else."""

from base64 import b64encode

import pytest

from support.asgi import Client
from support.images import bomb, gif, given, png
from support.live_server import live_server
from support.spec import proves

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HTML = b"<!doctype html><script>alert(1)</script>"
LARGE = png(after=b"\x00" * (5 * 1024 * 1024))


@pytest.fixture
async def chat_id(client):
    return (await client.post("/context", {})).json()["id"]


@proves("SEC-2")
@pytest.mark.parametrize(
    ("image", "status"),
    [
        (given(SVG, "image/svg+xml"), 422),
        (given(SVG), 422),
        (given(HTML), 422),
        (given(HTML, "text/html"), 422),
        (given(HTML, "image/gif"), 422),
        (given(b"\x89PNG\r\n\x1a\n" + HTML), 422),
        (given(gif()), 422),
        (given(b"RIFF\x00\x00\x00\x00WEBP" + HTML, "image/webp"), 422),
        (given(bomb(50_000, 50_000)), 422),
        (given(bomb(2**32 - 1, 2**32 - 1)), 422),
        (given(LARGE), 413),
        ({"media_type": "image/png", "data": "no base64!"}, 422),
        ({"media_type": "image/png", "data": "data:image/png;base64," + b64encode(png()).decode()}, 422),
        ({"media_type": "image/png", "url": "http://169.254.169.254/"}, 422),
        ({"media_type": "image/png", "data": "/etc/passwd"}, 422),
        ({"media_type": "image/png", "sha256": "0" * 64}, 422),
    ],
)
async def test_what_is_no_image_is_refused_and_nothing_is_kept(client, chat_id, image, status):
    answer = await client.post(f"/context/{chat_id}/messages", {"content": "Look.", "images": [image]})
    assert answer.status == status, answer.body
    assert (await client.get(f"/context/{chat_id}/messages")).json()["messages"] == []


@proves("SEC-2")
async def test_a_page_behind_an_image_stays_an_image(tmp_path):
    async with live_server(tmp_path, replies=["Seen."]) as client:
        chat = await client.chat()
        body = {"content": "Look.", "images": [given(png(after=HTML), name='"><script>alert(1)</script>.html')]}
        sent = await client.ask("POST", f"{chat.path}/messages", body, expect=202)
        await chat.rest()
        async with client.session.get(f"{client.url}{chat.path}/messages/{sent['message_id']}/images/0") as answer:
            assert answer.headers["content-type"] == "image/png"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "sandbox" in policy
            assert answer.headers["content-disposition"] == "inline"


@proves("SEC-2", "GW-1")
async def test_an_image_is_shown_to_nobody_else(tmp_path):
    async with live_server(tmp_path, replies=["Seen."]) as client:
        chat, other = await client.chat(), await client.chat()
        body = {"content": "Look.", "images": [given(png())]}
        sent = await client.ask("POST", f"{chat.path}/messages", body, expect=202)
        await chat.rest()
        address = f"{chat.path}/messages/{sent['message_id']}/images/0"
        key = (await client.ask("POST", "/keys", {"name": "stolen"}, expect=201))["key"]
        assert (await Client(client.server.app).get(address)).status == 401
        assert (await Client(client.server.app, token=key).get(address)).status == 403
        for wrong in (
            f"{other.path}/messages/{sent['message_id']}/images/0",
            f"{chat.path}/messages/{sent['message_id']}/images/1",
            f"{chat.path}/messages/nothing/images/0",
        ):
            await client.ask("GET", wrong, expect=404)
        await client.ask("GET", f"{chat.path}/messages/{sent['message_id']}/images/-1", expect=422)


@proves("SEC-2")
async def test_a_payload_that_names_images_cannot_be_sent_in(client, chat_id):
    """The server decides which bytes a message shows, by its own hash."""
    body = {"content": "Look.", "payload": {"images": [{"sha256": "0" * 64, "media_type": "image/png"}]}}
    assert (await client.post(f"/context/{chat_id}/messages", body)).status == 422
