"""One job from the request to the audit in a real browser: twelve tasks, four writers side by side, a conflict that a person decides."""

import asyncio
import json
import re

from playwright.async_api import Page, expect

from e2e.browsing import DESKTOP, PHONE, at_the_page, read_all, violations
from e2e.test_web_jobs import look
from e2e.test_web_people import signed_in
from support.jobs import (
    LINES,
    SHARED,
    by_task,
    bytes_of,
    plan,
    question_about,
    report,
    state_of,
    twelve_answers,
    twelve_tasks,
    until,
    until_task,
    writing,
)
from support.live_server import LiveChat, LiveServer
from support.scripted_model import Reply, call
from support.spec import proves


@proves("JOB-3/6", "JOB-3/7", "JOB-10", "PLN-5/1", "UI-4/1", "UI-4/2", "UI-4/3")
async def test_job_of_twelve_tasks_is_walked_from_the_request_to_the_audit(tmp_path):
    async with at_the_page(tmp_path, files={"shared.txt": SHARED}) as (page, client):
        chat = await client.chat()
        await page.goto(page.url.split("#")[0] + f"#/chat/{chat.id}")
        before = state_of(client.workspace)
        await to_the_conflict(page, client, chat)
        await page.get_by_role("button", name="Keep the task's version").click()
        await expect(page.get_by_role("log").get_by_text("The guide is written.")).to_be_visible()
        await look(page, "walk-final-response")
        await review(page)
        await audit(page)
        assert state_of(client.workspace) == before, "nothing is there before a person kept it"
        await page.get_by_role("button", name="Drop all changes").click()
        await page.get_by_role("dialog").get_by_role("button", name="Drop all changes").click()
        await expect(page.get_by_role("region", name="Changes of the job")).not_to_be_visible()
        await expect(page.get_by_role("main").get_by_text("cancelled", exact=True)).to_be_visible()
        assert state_of(client.workspace) == before, "dropped without a trace"


async def to_the_conflict(page: Page, client: LiveServer, chat: LiveChat) -> None:
    others_done = asyncio.Event()
    lead = [json.dumps({"type": "plan", **twelve_tasks()}), "The guide is written."]
    client.model.mind = by_task(twelve_answers(others_done), lambda told: lead.pop(0))
    await start_reviewed(page, writers="4")
    dock = page.get_by_label("Jobs", exact=True)
    await expect(dock).to_contain_text("waits for your approval")
    await expect(dock).to_contain_text("Up to 4 tasks at the same time; 4 of them may write.")
    await approve(page, "walk-approval")
    await until_task(chat, "right")  # everything that does not wait for b is done
    await expect(dock).to_contain_text("7 of 12 tasks done")
    await dock.get_by_role("button", expanded=False).click()
    await dock.get_by_role("link", name="See the job").click()
    graph = page.get_by_role("navigation", name="Which task waits for which")
    await expect(graph.get_by_role("link", name="running: set the title in b's words")).to_be_visible()
    await expect(graph.get_by_role("link")).to_have_count(12)
    assert await violations(page) == []
    await look(page, "walk-running")
    await page.get_by_role("link", name="Open the chat").click()
    others_done.set()
    question = page.get_by_role("group", name="Question").last
    await expect(question.get_by_label("The task's version")).to_have_text("title: by b\n")
    await expect(question.get_by_label("The version that is there now")).to_have_text("title: by a\n")
    assert await violations(page) == []
    await look(page, "walk-conflict")


async def start_reviewed(page: Page, *, writers: str) -> None:
    """A job from the words in the composer, whose changes wait for a review."""
    message = page.get_by_label("Message", exact=True)
    await expect(message).to_be_visible()
    await message.fill("Write the guide")
    await page.get_by_role("button", name="Run as a job").click()
    asked = page.get_by_role("dialog", name="Run as a job")
    await asked.get_by_label("Tasks that may write at the same time, each in its own copy").fill(writers)
    await asked.get_by_label("Show me all changes before any of them reaches my workspace").check()
    await asked.get_by_role("button", name="Start").click()
    await expect(page.get_by_label("Jobs", exact=True)).to_contain_text("waits for your approval")


async def approve(page: Page, picture: str) -> None:
    """The newest plan, once all of it was in view."""
    run = page.get_by_role("group", name="Plan", exact=True).last.get_by_role("button", name="Run as a job")
    await expect(run).to_be_visible()
    async with asyncio.timeout(60):
        while not await run.is_enabled():
            await read_all(page, "main [role=group][aria-label=Plan]")
    await look(page, picture)
    await run.click()


async def review(page: Page) -> None:
    dock = page.get_by_label("Jobs", exact=True)
    await expect(dock).to_contain_text("waits for your review")
    await dock.get_by_role("button", expanded=False).click()
    await dock.get_by_role("link", name="See the job").click()
    changes = page.get_by_role("region", name="Changes of the job")
    await expect(changes.get_by_label("shared.txt", exact=True)).to_be_checked()
    await expect(changes.get_by_role("checkbox")).to_have_count(11)
    await look(page, "walk-review")


async def audit(page: Page) -> None:
    table = page.get_by_role("table")
    await expect(table.get_by_role("row")).to_have_count(14)  # the titles, twelve tasks, the total
    row = table.get_by_role("row", name="write index.txt")
    for words in ("worker", "the agent says it is done", "index.txt"):
        await expect(row).to_contain_text(words)
    await table.scroll_into_view_if_needed()
    assert await violations(page) == []
    await look(page, "walk-audit")
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await look(page, "walk-audit-phone")
    await page.set_viewport_size(DESKTOP)


@proves("JOB-3/7", "OPS-3/2")
async def test_conflict_is_merged_by_hand_while_a_viewer_sees_it_and_cannot_answer(tmp_path):
    async with at_the_page(tmp_path, files={"f.txt": LINES}) as (page, client):
        vic = await client.ask("POST", "/people", {"name": "Vic", "access": "viewer"}, expect=201)
        chat, job, question = await question_about(client, asyncio.Event(), "task")
        address = f"{client.url}/#/chat/{chat.id}"
        browser = page.context.browser
        assert browser is not None
        async with signed_in(browser, address, vic["token"]) as watching:
            shown = watching.get_by_role("group", name="Question").last
            await expect(shown).to_contain_text("Task 'do b' and task 'do a' changed")
            await expect(shown.get_by_label("The task's version")).to_contain_text("two by b")
            for name in ("Keep the task's version", "Keep the version that is there now", "Merge by hand"):
                await expect(shown.get_by_role("button", name=name)).to_be_disabled()
            assert await violations(watching) == []
            await look(watching, "walk-conflict-viewer")
            headers = {"Authorization": f"Bearer {vic['token']}"}
            path = f"{client.url}{chat.path}/questions/{question['id']}/answer"
            async with client.session.post(path, json={"value": "task"}, headers=headers) as refused:
                assert refused.status == 403
            await page.goto(address)
            await merge_by_hand(page)
            await expect(shown).not_to_contain_text("The agent asks")
        done = await until(client, chat, job["id"], "completed", "failed")
        assert done["status"] == "completed", done
        merged = LINES.replace("two", "two by a and b").replace("seven", "seven by b")
        assert (client.workspace / "f.txt").read_text() == merged


async def merge_by_hand(page: Page) -> None:
    question = page.get_by_role("group", name="Question").last
    await question.get_by_role("button", name="Merge by hand").click()
    keep = question.get_by_role("button", name="Keep the merged file")
    file = question.get_by_role("textbox")
    await expect(keep).to_be_disabled()
    await expect(file).to_have_value(re.compile("<<<<<<< the task\ntwo by b\n=======\ntwo by a\n>>>>>>> there now"))
    assert await violations(page) == []
    await look(page, "walk-merge")
    draft = await file.input_value()
    await file.fill(re.sub(r"(?s)<<<<<<<.*>>>>>>> there now", "two by a and b", draft))
    await expect(keep).to_be_enabled()
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await look(page, "walk-merge-phone")
    await page.set_viewport_size(DESKTOP)
    await keep.click()


def _edits(*edits: tuple[str, str]) -> str:
    return call("update_file", path="f.txt", edits=[{"find": find, "replace": new} for find, new in edits])


@proves("JOB-3/7", "JOB-5/3", "JOB-5/5", "JOB-10", "UI-4/1", "UI-4/2")
async def test_job_is_merged_by_hand_planned_anew_given_more_budget_kept_and_undone_in_part(tmp_path):
    """The whole way of a job in which everything happens that needs a person."""
    first = [{"id": name, "action": f"set line two in {name}'s words", "paths": ["f.txt"]} for name in "ab"]
    first.append({"id": "c", "action": "write the outline", "paths": ["outline.txt"]})
    again = [
        {"id": "d", "action": "write the outline anew", "dependencies": ["a"], "paths": ["d.txt"]},
        writing("e", "d"),
    ]
    lead = [json.dumps(plan(*first)), json.dumps(plan(*again)), "The guide is written."]
    used = {"prompt_tokens": 30_000, "completion_tokens": 100}
    gate = asyncio.Event()
    answers = {
        "a": [_edits(("two", "two by a")), report("line two is a's")],
        "b": [_edits(("two", "two by b"), ("seven", "seven by b")), Reply(report("line two is b's"), hold=gate)],
        "c": [report("the disk is on fire", "failure")] * 3,
        "d": [call("create_file", path="d.txt", content="d\n"), Reply(report("d is there"), usage=used)],
        "e": [call("create_file", path="e.txt", content="e\n"), report("e is there")],
    }
    async with at_the_page(tmp_path, files={"f.txt": LINES}) as (page, client):
        client.model.mind = by_task(answers, lambda told: lead.pop(0))
        chat = await client.chat()
        await page.goto(page.url.split("#")[0] + f"#/chat/{chat.id}")
        await start_reviewed(page, writers="2")
        await approve(page, "full-plan")
        await until_task(chat, "a")
        gate.set()
        await expect(page.get_by_role("button", name="Merge by hand")).to_be_visible()
        await look(page, "full-conflict")
        await until_task(chat, "c", status="failed")  # while the question waits
        await merge_by_hand(page)
        dock = page.get_by_label("Jobs", exact=True)
        await expect(dock).to_contain_text("waits for your review")
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await expect(page.get_by_text("Actor is working")).not_to_be_visible()
        await expect(page.get_by_role("button", name="Restore", exact=True)).not_to_be_visible()
        await look(page, "full-waits")
        await dock.get_by_role("button", expanded=False).click()
        await dock.get_by_role("link", name="See the job").click()
        await expect(page.get_by_text("A task did not complete.")).to_be_visible()
        await look(page, "full-failed")
        await page.get_by_role("button", name="Limits").click()
        limits = page.get_by_role("dialog", name="Limits")
        await limits.get_by_label("Tokens").first.fill("40000")
        await look(page, "full-limits")
        await limits.get_by_role("button", name="Save the limits").click()
        await expect(limits).not_to_be_visible()
        await page.get_by_role("button", name="Plan the rest anew").click()
        await page.get_by_role("link", name="Read and approve the plan in the chat").click()
        await expect(page.get_by_role("log").get_by_text("after “set line two in a's words”")).to_be_visible()
        await look(page, "full-replanned")
        await approve(page, "full-new-plan")
        await expect(dock).to_contain_text("waits for your review")
        await dock.get_by_role("button", expanded=False).click()
        await dock.get_by_role("link", name="See the job").click()
        await expect(page.get_by_role("note").filter(has_text="Raise the limit to go on.")).to_be_visible()
        await look(page, "full-spent")
        await page.get_by_role("button", name="Limits").click()
        await limits.get_by_label("Tokens").first.fill("400000")
        await limits.get_by_role("button", name="Save the limits").click()
        changes = page.get_by_role("region", name="Changes of the job")
        await expect(page.get_by_role("region", name="Answer")).to_contain_text("The guide is written.")
        await expect(changes.get_by_label("e.txt", exact=True)).to_be_checked()
        await look(page, "full-review")
        assert bytes_of(client.workspace) == {"f.txt": LINES.encode()}
        await changes.get_by_role("button", name="Keep all changes").click()
        await expect(changes).not_to_be_visible()
        merged = LINES.replace("two", "two by a and b").replace("seven", "seven by b").encode()
        assert bytes_of(client.workspace) == {"f.txt": merged, "d.txt": b"d\n", "e.txt": b"e\n"}
        await page.get_by_role("list", name="Tasks").get_by_role("link", name="write the outline anew").click()
        await page.get_by_role("button", name="Undo this task").click()
        undo = page.get_by_role("dialog", name="Undo this task")
        await look(page, "full-undo")
        await undo.get_by_role("button", name="Undo this task").click()
        await expect(page.get_by_role("list", name="Tasks")).to_contain_text("undone")
        await look(page, "full-undone")
        assert bytes_of(client.workspace) == {"f.txt": merged, "e.txt": b"e\n"}
        row = page.get_by_role("table").get_by_role("row", name="write the outline anew")
        await expect(row).to_contain_text("undone")
        await row.scroll_into_view_if_needed()
        await look(page, "full-audit")
