"""Notifications in a real browser: the settings, and what a pushed message shows and opens."""

import json

from playwright.async_api import expect

from e2e.browsing import PHONE, ROOT, at_the_page, violations
from support.spec import proves
from support.webhook_receiver import receiving


async def test_a_webhook_is_added_tested_and_removed_on_a_phone(tmp_path):
    async with receiving() as receiver, at_the_page(tmp_path, viewport=PHONE) as (page, client):
        await page.goto(f"{client.url}/#/settings/notifications")
        await page.get_by_label("Address").fill(receiver.url)
        await page.get_by_role("button", name="Add target").click()
        secret = await page.get_by_label("The webhook's secret").inner_text()
        assert await violations(page) == []
        await page.get_by_role("button", name="Done").click()
        await page.get_by_role("button", name=f"Send a test to Webhook {receiver.url}").click()
        await expect(page.get_by_text("The test was delivered.")).to_be_visible()
        [sent] = await receiver.until(1)
        assert sent.is_signed_with(secret)
        await page.get_by_role("button", name=f"Remove Webhook {receiver.url}").click()
        await expect(page.get_by_text("No targets yet.")).to_be_visible()


@proves("OPS-7/2")
async def test_a_pushed_message_is_shown_by_kind_and_leads_to_its_chat(tmp_path):
    async with at_the_page(tmp_path) as (page, client):
        await page.context.grant_permissions(["notifications"], origin=client.url)
        chat = await client.chat(title="The merger")
        await page.goto(f"{client.url}/#/settings/notifications")
        await expect(page.get_by_role("button", name="Turn on here")).to_be_visible()
        script = next(path.name for path in (ROOT / "src/anycowork/api/static/dist/assets").glob("push.worker-*.js"))
        session = await page.context.new_cdp_session(page)
        registrations: list[dict[str, str]] = []
        session.on("ServiceWorker.workerRegistrationUpdated", lambda told: registrations.extend(told["registrations"]))
        await session.send("ServiceWorker.enable")
        await page.evaluate(
            "async (script) => { const made = await navigator.serviceWorker.register(script + '?language=en');"
            " const worker = made.installing ?? made.waiting ?? made.active;"
            " if (worker.state !== 'activated') await new Promise(done => worker.addEventListener('statechange',"
            " () => worker.state === 'activated' && done())) }",
            f"/assets/{script}",
        )
        [worker] = page.context.service_workers
        # This Chromium has no notifications to show them with.
        await worker.evaluate(
            "() => { self.shown = []; self.registration.showNotification = async (...all) => { self.shown.push(all) } }"
        )
        content = {"kind": "approval", "count": 1, "chat_id": chat.id, "url": "https://evil.example/"}
        pushed = {"registrationId": registrations[0]["registrationId"], "data": json.dumps(content)}
        await session.send("ServiceWorker.deliverPushMessage", {"origin": client.url, **pushed})
        [[title, options]] = await worker.evaluate(
            "async () => { while (!self.shown.length) await new Promise(done => setTimeout(done, 20)); return self.shown }"
        )
        assert (title, options["body"]) == ("AnyCowork", "An approval waits for you.")
        assert (options["tag"], options["data"]) == (chat.id, f"#/chat/{chat.id}")
        await worker.evaluate(
            "data => { const tap = new ExtendableEvent('notificationclick');"
            " tap.notification = { data, close() {} }; self.dispatchEvent(tap) }",
            options["data"],
        )
        await page.wait_for_url(f"{client.url}/#/chat/{chat.id}")
