"""The way to every screen that `scripts/screens.py` takes a picture of, and the replies of the scripted model on it."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import Page, expect
from screen_replies import (
    ANSWER,
    BATCH,
    CARRIED_OUT,
    DIAGRAM,
    EDIT,
    FETCH,
    JOB,
    PLAN,
    QUESTION,
    REVIEW,
    STEER,
    THOUGHT,
)

from e2e.browsing import PHONE, look_at_usage, read_all, start_chat
from support.scripted_model import Reply, Script, call

SCREENS = Path(__file__).resolve().parents[1] / "docs" / "screens"

Walk = Callable[[Page], Awaitable[None]]


async def first_run(page: Page) -> None:
    await expect(page.get_by_role("heading", name="You can start right away")).to_be_visible()


async def plan(page: Page) -> None:
    await start_chat(page, "Let the station write its reports as JSON", role="Planner")
    await expect(page.get_by_role("button", name="Execute plan")).to_be_visible()


async def plan_edit(page: Page) -> None:
    await plan(page)
    await page.get_by_role("button", name="Edit", exact=True).click()
    await page.get_by_label("Step 1: what should it do?").focus()


async def approval(page: Page) -> None:
    await start_chat(page, "Switch the report to JSON")
    await expect(page.get_by_label("Approvals")).to_be_visible()


async def sides(page: Page) -> None:
    """At phone width there is no room for two."""
    await approval(page)
    if page.viewport_size != PHONE:
        await page.get_by_role("button", name="Old and new side by side").click()


async def question(page: Page) -> None:
    await start_chat(page, "Clean up the reports")
    await expect(page.get_by_label("Question", exact=True)).to_be_visible()


async def answer(page: Page) -> None:
    await start_chat(page, "What changed?")
    await expect(page.get_by_text("the dashboard")).to_be_visible()


async def review(page: Page) -> None:
    await start_chat(page, "Review the change", role="Reviewer")
    await expect(page.get_by_label("Review", exact=True)).to_be_visible()


async def roles(page: Page) -> None:
    await answer(page)
    await page.get_by_role("button", name="Role: Actor. Change role").click()


async def checkpoints(page: Page) -> None:
    await approval(page)
    await page.get_by_role("button", name="Allow once").click()
    await expect(page.get_by_text("Done.")).to_be_visible()
    await page.get_by_role("button", name="More about this chat").click()
    await page.get_by_role("menuitem", name="Checkpoints").click()
    await page.get_by_role("button", name="Restore to before this").click()
    await expect(page.get_by_label("What would change", exact=True)).to_be_visible()


async def palette(page: Page) -> None:
    await answer(page)
    await page.keyboard.press("Control+k")


async def settings(page: Page) -> None:
    await page.goto(page.url.split("#")[0] + "#/settings")
    await expect(page.get_by_text("default", exact=True)).to_be_visible()


async def plan_actual(page: Page) -> None:
    await execute_plan(page)
    await page.get_by_role("button", name="Allow once").click()
    await expect(page.get_by_text("its sensor is absent")).to_be_visible()
    await page.get_by_role("button", name="More about this chat").click()
    await page.get_by_role("menuitem", name="Plan against actual").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Outside the plan")


async def execute_plan(page: Page) -> None:
    await read_plan(page)
    await page.get_by_role("button", name="Execute plan").click()


async def read_plan(page: Page) -> None:
    """A plan can be executed once both ends of each of its steps were in view."""
    await plan(page)
    await read_all(page, "[aria-label=Plan]")


async def plan_followed(page: Page) -> None:
    await execute_plan(page)
    dock = page.get_by_label("The plan so far")
    await dock.get_by_role("button", expanded=False).click()
    await expect(page.get_by_label("Approvals")).to_be_visible()


async def diagram(page: Page) -> None:
    await start_chat(page, "How does the station work?")
    await expect(page.locator("iframe[data-drawn=true]")).to_be_visible(timeout=30_000)


async def workflows(page: Page) -> None:
    await answer(page)
    await page.get_by_role("button", name="Workflows", exact=True).click()
    await expect(page.get_by_role("group", name="understand")).to_be_visible()


async def workflow_form(page: Page) -> None:
    await answer(page)
    await page.get_by_label("Message", exact=True).fill("/create")
    await expect(page.get_by_role("listbox", name="Suggestions")).to_be_visible()
    await page.keyboard.press("Enter")
    await page.get_by_role("textbox", name="name").fill("dashboard")


async def held(page: Page) -> None:
    await start_chat(page, "Write the station's rules for agents")
    await page.get_by_role("button", name="Allow once").click()
    await expect(page.get_by_text("It has run. Its changes wait for your decision")).to_be_visible()


async def usage(page: Page) -> None:
    await answer(page)
    await look_at_usage(page)


async def rules(page: Page) -> None:
    await answer(page)
    await page.goto(page.url.split("#")[0] + "#/settings/permissions")
    form = page.get_by_role("form", name="Which rule decides?")
    await form.get_by_label("Tool of the call").fill("update_file")
    await form.get_by_label("File, command, or parameters as JSON").fill("config.toml")
    await form.get_by_role("button", name="Explain").click()
    await expect(form.get_by_role("status")).to_be_visible()


async def keys(page: Page) -> None:
    await page.goto(page.url.split("#")[0] + "#/settings/api-keys")
    await page.get_by_label("What the key is for").fill("editor")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("The new key")).to_be_visible()


async def key_limits(page: Page) -> None:
    await page.goto(page.url.split("#")[0] + "#/settings/api-keys")
    await page.get_by_label("What the key is for").fill("editor")
    await page.get_by_role("button", name="Limits").click()
    await page.get_by_label("Requests per minute").fill("60")
    await page.get_by_label("US dollars per day").fill("2.50")
    await page.get_by_role("button", name="Create key").click()
    await page.get_by_role("button", name="Done").click()
    await expect(page.get_by_text("60 per minute")).to_be_visible()


async def images(page: Page) -> None:
    await start_chat(page, "Good morning")
    await expect(page.get_by_text("Good morning to you.")).to_be_visible()
    await page.locator("input[type=file]").set_input_files(SCREENS / "answer-light.png")
    await page.get_by_label("Message", exact=True).fill("Can our page look like this one?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("I see a chat")).to_be_visible()
    await page.locator("input[type=file]").set_input_files([SCREENS / "plan-light.png", SCREENS / "rules-light.png"])
    await expect(page.get_by_role("list", name="Images to send").get_by_role("listitem")).to_have_count(2)


async def shortcuts(page: Page) -> None:
    await answer(page)
    await page.get_by_role("heading", level=1).click()
    await page.keyboard.press("?")
    await page.get_by_role("button", name="Choose a role:").click()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("alert")).to_be_visible()


async def start_workflow(page: Page) -> None:
    await page.get_by_label("Message", exact=True).fill("/")
    await expect(page.get_by_role("listbox", name="Suggestions")).to_be_visible()


async def changed(page: Page) -> None:
    """The chat after a change that was allowed, with the files beside it."""
    await approval(page)
    await page.get_by_role("button", name="Allow once").click()
    await expect(page.get_by_text("Done.")).to_be_visible()
    await page.keyboard.press("Alt+F")
    await expect(page.get_by_role("tree", name="Files of the workspace")).to_be_visible()


async def files(page: Page) -> None:
    await changed(page)
    await page.get_by_role("treeitem", name="config.toml").click()
    await expect(page.get_by_label("Content of config.toml")).to_be_visible()


async def file_changes(page: Page) -> None:
    await files(page)
    await page.get_by_role("tab", name="Changes").click()
    await expect(page.get_by_role("button", name="Keep")).to_be_visible()


async def terminal(page: Page) -> None:
    await approval(page)
    await page.get_by_role("button", name="Allow once").click()
    await expect(page.get_by_text("Done.")).to_be_visible()
    await page.keyboard.press("Alt+T")
    line = page.get_by_label("Your command")
    await expect(line).to_be_visible()
    await line.fill("grep -n format config.toml")
    await line.press("Enter")
    await expect(page.get_by_role("region", name="Terminal").get_by_text("exit code 0")).to_be_visible()


async def job(page: Page) -> None:
    await read_plan(page)
    await page.get_by_role("button", name="Run as a job").click()
    dock = page.get_by_label("Jobs", exact=True)
    await expect(dock).to_contain_text("of 3 tasks done")
    await dock.get_by_role("button", expanded=False).click()
    await dock.get_by_role("link").first.click()
    await page.wait_for_url("**/#/jobs/**")


async def commands(page: Page) -> None:
    await answer(page)
    await page.get_by_label("Message", exact=True).fill("/")
    await expect(page.get_by_role("listbox")).to_be_visible()


async def agents(page: Page) -> None:
    await page.goto(page.url.split("#")[0] + "#/settings/agents")
    await expect(page.get_by_role("button", name="View explain_code")).to_be_attached()
    await expect(page.get_by_role("button", name="New role")).to_be_visible()


async def role_form(page: Page) -> None:
    await agents(page)
    await page.get_by_role("button", name="Duplicate Designer").click()
    form = page.get_by_role("form", name="New role")
    await form.get_by_label("Description").fill("Translates what it reads into new files.")
    await form.get_by_role("textbox", name="Name").fill("Translator")
    await expect(form.get_by_text("must be a lower-case letter")).to_be_visible()


async def workflow_editor(page: Page) -> None:
    await agents(page)
    await page.get_by_role("button", name="New workflow").click()
    form = page.get_by_role("form", name="New workflow")
    await form.get_by_role("textbox", name="Name").fill("explain_station")
    await expect(form.get_by_text("Valid: 1 step")).to_be_visible()


async def connect(page: Page) -> None:
    await page.get_by_role("button", name="Connect a model").click()
    await expect(page.get_by_role("dialog")).to_be_visible()


WALKS: dict[str, tuple[Walk, list[Script]]] = {
    "first-run": (first_run, []),
    "plan": (plan, [call("read_file", path="config.toml"), Reply(json.dumps(PLAN), reasoning=THOUGHT)]),
    "plan-edit": (plan_edit, [json.dumps(PLAN)]),
    "approval": (approval, [EDIT]),
    "approval-batch": (approval, [BATCH]),
    "approval-sides": (sides, [EDIT]),
    "question": (question, [json.dumps(QUESTION)]),
    "answer": (answer, [Reply(ANSWER, reasoning=THOUGHT)]),
    "review": (review, [json.dumps(REVIEW)]),
    "roles": (roles, [ANSWER]),
    "palette": (palette, [ANSWER]),
    "checkpoints": (checkpoints, [EDIT, "Done."]),
    "settings": (settings, []),
    "plan-actual": (plan_actual, [json.dumps(PLAN), *CARRIED_OUT]),
    "plan-followed": (plan_followed, [json.dumps(PLAN), *CARRIED_OUT]),
    "diagram": (diagram, [DIAGRAM]),
    "workflows": (workflows, [ANSWER]),
    "workflow-form": (workflow_form, [ANSWER]),
    "held": (held, [STEER]),
    "network": (approval, [FETCH]),
    "usage": (usage, [ANSWER]),
    "rules": (rules, [ANSWER]),
    "keys": (keys, []),
    "key-limits": (key_limits, []),
    "images": (images, ["Good morning to you.", "I see a chat with a table in it. Yes, in about an hour."]),
    "shortcuts": (shortcuts, [ANSWER]),
    "start-workflow": (start_workflow, []),
    "files": (files, [EDIT, "Done."]),
    "file-changes": (file_changes, [EDIT, "Done."]),
    "terminal": (terminal, [EDIT, "Done."]),
    "job": (job, [json.dumps(PLAN), *JOB]),
    "commands": (commands, [ANSWER]),
    "connect": (connect, []),
    "agents": (agents, []),
    "role-form": (role_form, []),
    "workflow-editor": (workflow_editor, []),
}
