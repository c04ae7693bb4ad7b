"""A job in a real browser: started from a plan's card, followed in the chat and on its own page, paused, cancelled, tried again."""

import json
import os
import re

from playwright.async_api import expect

from e2e.browsing import DESKTOP, PHONE, at_the_page, start_chat, violations
from support.jobs import approved, plan, report, writing
from support.scripted_model import call
from support.spec import proves

PLAN = json.dumps({"type": "plan", **plan(writing("a"), writing("b", "a"))})


def file(name: str) -> str:
    return call("create_file", path=f"{name}.txt", content=f"{name}\n")


@proves("UI-4/1", "UI-4/2", "UI-4/3", "UI-4/4", "UI-4/5", "JOB-1/2", "JOB-1/4")
async def test_a_plan_runs_as_a_job_that_is_followed_task_by_task(tmp_path):
    replies = [PLAN, file("a"), report("a.txt is there"), file("b"), report("b.txt is there"), "Both are written."]
    async with at_the_page(tmp_path, replies=replies) as (page, _):
        await start_chat(page, "plan two files", role="Planner")
        await page.get_by_role("button", name="Run as a job").click()
        await expect(page.get_by_text("Both are written.")).to_be_visible()
        dock = page.get_by_label("Jobs", exact=True)
        await expect(dock).to_contain_text("2 of 2 tasks done")
        conversation = page.get_by_role("log")
        await expect(conversation).not_to_contain_text("a.txt is there")  # what workers report stands on the job's page
        assert await violations(page) == []

        await dock.get_by_role("button", expanded=False).click()
        await dock.get_by_role("link", name="write b.txt").click()
        await page.wait_for_url("**/#/jobs/*/b")
        await expect(page.get_by_role("main").get_by_text("Write the files")).to_have_count(1)  # the request, once
        await expect(page.get_by_role("heading", name="Write the files", level=1)).to_be_visible()
        details = page.get_by_role("region", name="write b.txt")
        await expect(details).to_contain_text("b.txt is there")
        await expect(details).to_contain_text("Only the agent says so")
        await expect(details.get_by_text("Created b.txt")).to_be_visible()
        await expect(
            page.get_by_role("navigation", name="Which task waits for which").get_by_role("link")
        ).to_have_count(2)
        await expect(page.get_by_role("region", name="Answer")).to_contain_text("Both are written.")
        assert await violations(page) == []
        await look(page, "job")

        await page.reload()  # a task has an address of its own
        await expect(details).to_contain_text("b.txt is there")
        await page.set_viewport_size(PHONE)
        await expect(details).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await look(page, "job-phone")
        await page.goto(page.url.split("#")[0] + "#/jobs")
        await expect(page.get_by_role("main").get_by_role("listitem")).to_contain_text(["completed"])
        assert await violations(page) == []


@proves("UI-4/1", "UI-4/3", "JOB-5/1")
async def test_a_failed_task_is_shown_with_its_reason_and_tried_again(tmp_path):
    replies = [
        PLAN,
        *[report("the disk is on fire", "failure")] * 3,
        file("a"),
        report("ok"),
        file("b"),
        report("ok"),
        "All.",
    ]
    async with at_the_page(tmp_path, replies=replies, dark=True) as (page, _):
        await start_chat(page, "plan two files", role="Planner")
        await page.get_by_role("button", name="Run as a job").click()
        dock = page.get_by_label("Jobs", exact=True)
        await expect(dock).to_contain_text("failed")
        await dock.get_by_role("button", expanded=False).click()
        await dock.get_by_role("link", name="write a.txt").click()
        details = page.get_by_role("region", name="write a.txt")
        await expect(details).to_contain_text("the disk is on fire")
        await expect(details).not_to_contain_text(
            re.compile(r'[{}]|"status"|\bjson\b')
        )  # what was reported stands there in words
        assert await violations(page) == []
        await details.get_by_role("button", name="Try again").click()
        await expect(page.get_by_role("region", name="Answer")).to_contain_text("All.")


@proves("UI-4/1")
async def test_a_job_is_cancelled_from_its_page_after_a_question(tmp_path):
    async with at_the_page(tmp_path, replies=[]) as (page, client):
        chat = await client.chat()
        job = await client.ask("POST", f"{chat.path}/jobs", {"plan": plan(writing("a"))}, expect=202)
        await page.goto(page.url.split("#")[0] + f"#/jobs/{job['id']}")
        await expect(page.get_by_role("link", name="Read and approve the plan in the chat")).to_be_visible()
        await page.get_by_role("button", name="Cancel the job").click()
        asked = page.get_by_role("dialog", name="Cancel this job?")
        await asked.get_by_role("button", name="Keep it running").click()
        await page.get_by_role("button", name="Cancel the job").click()
        await asked.get_by_role("button", name="Cancel the job").click()
        await expect(page.get_by_role("main").get_by_text("cancelled", exact=True)).to_be_visible()
        assert (await client.ask("GET", f"/jobs/{job['id']}"))["status"] == "cancelled"


@proves("JOB-10", "UI-4/1")
async def test_changes_of_a_job_are_reviewed_then_kept_in_part_or_dropped_whole(tmp_path):
    run = [PLAN, file("a"), report("a is there"), file("b"), report("b is there"), "Both are written."]
    async with at_the_page(tmp_path, replies=[*run, *run]) as (page, client):
        chat = await client.chat()
        await page.goto(page.url.split("#")[0] + f"#/chat/{chat.id}")
        for kept in ([], ["b.txt"]):
            before = names(client.workspace)
            await page.get_by_label("Message", exact=True).fill("write two files")
            await page.get_by_role("button", name="Run as a job").click()
            asked = page.get_by_role("dialog", name="Run as a job")
            await asked.get_by_label("Show me all changes before any of them reaches my workspace").check()
            assert await violations(page) == []
            await look(page, "new-job")
            await asked.get_by_role("button", name="Start").click()
            dock = page.get_by_label("Jobs", exact=True)
            await expect(dock).to_contain_text("waits for your approval")
            plan = page.get_by_role("group", name="Plan", exact=True).last
            await plan.get_by_role("button", name="Run as a job").click()
            await expect(dock).to_contain_text("waits for your review")
            chats = page.get_by_role("navigation").first
            await expect(chats.get_by_role("link", name="Jobs 1 waiting for you")).to_be_visible()
            await expect(chats.get_by_role("link", name="write two files waiting for you")).to_be_visible()
            assert names(client.workspace) == before
            await dock.get_by_role("button", expanded=False).click()
            await dock.get_by_role("link", name="See the job").click()
            changes = page.get_by_role("region", name="Changes of the job")
            await expect(changes.get_by_text("b.txt").first).to_be_visible()
            assert await violations(page) == []
            await look(page, f"job-changes-{len(kept)}")
            if kept:
                await changes.get_by_label("a.txt", exact=True).press("Space")
                await changes.get_by_role("button", name="Keep 1 of 2 files").press("Enter")
            else:
                await page.set_viewport_size(PHONE)
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                await look(page, "job-changes-phone")
                await changes.get_by_role("button", name="Drop all changes").click()
                await page.get_by_role("dialog").get_by_role("button", name="Drop all changes").click()
                await page.set_viewport_size(DESKTOP)
            await expect(changes).not_to_be_visible()
            assert names(client.workspace) == sorted([*before, *kept])
            await page.get_by_role("link", name="Open the chat").click()


@proves("JOB-11")
async def test_candidates_of_a_race_stand_side_by_side_and_one_is_kept(tmp_path):
    agents = {name: {"role": "actor", "prompt": f"You are {name}."} for name in ("fast", "thorough")}

    def answer(body):
        told = str(body["messages"])
        name = "thorough" if "race@thorough" in told else "fast"
        done = "Result of create_file" in told
        return report(f"{name} wrote it") if done else call("create_file", path="out.txt", content=f"{name}\n")

    async with at_the_page(tmp_path, agents=agents, dark=True) as (page, client):
        client.model.mind = answer
        rule = {"tool": "create_file", "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        await approved(client, await client.chat(), request="Write out.txt", race=["fast", "thorough"])
        chats = page.get_by_role("navigation").first
        await expect(chats.get_by_role("link", name="Jobs 1 waiting for you")).to_be_visible()
        await expect(chats.get_by_role("listitem").first).to_have_text("Waiting for you")
        await chats.get_by_role("listitem").nth(1).get_by_role("link", name="Write out.txt waiting for you").click()
        candidates = page.get_by_role("region", name="Candidates")
        await expect(candidates.get_by_text("thorough wrote it")).to_be_visible()
        await expect(candidates.get_by_role("button", name="Keep this one")).to_have_count(2)
        assert await violations(page) == []
        await look(page, "race")
        await candidates.get_by_role("button", name="Keep this one: the work of thorough").click()
        await expect(page.get_by_role("region", name="Answer")).to_contain_text("Kept the work of thorough.")
        await expect(chats.get_by_text("waiting for you")).to_have_count(0)
        assert (client.workspace / "out.txt").read_text() == "thorough\n"


def names(folder):
    return sorted(one.name for one in folder.iterdir())


async def look(page, name):
    if folder := os.environ.get("ANYCOWORK_TEST_SCREENS"):
        await page.screenshot(path=f"{folder}/{name}.png")
