"""Says how to continue when a run waits for a person: everything that is asked, and where to answer. Text only.

The output may be pasted into a shell: every part of a command line is quoted, and no hidden character is printed.
"""

import json
import shlex
from collections.abc import Iterator

from anycowork.cli.run_outcome import RunEnding, RunOutcome
from anycowork.client.chat_client import chat_page
from anycowork.client.connect import ServerAddress
from anycowork.client.console import strip_controls
from anycowork.client.disclosures import endorsement_text, items_below_head
from anycowork.config.settings import Settings
from anycowork.domain.errors import ContextFull, LimitReached
from anycowork.domain.messages import Json, json_object


def advice_for(
    outcome: RunOutcome, chat_id: str | None, address: ServerAddress, settings: Settings, *, job: Json | None = None
) -> list[str]:
    """Returns an empty list unless a person is needed. `job` is the job that the run started."""
    if outcome.ending is RunEnding.LIMIT and chat_id is not None and job is None:
        return _continue_lines(outcome, chat_id, address, settings)
    if job is not None and not outcome.waiting:
        return next_job_commands({**job, "status": outcome.code}, settings)
    if outcome.ending is not RunEnding.PARKED or chat_id is None:
        return []
    url, start = _server(address, settings)
    then = [] if job is None else [_job_line("Then follow the job", ("follow", str(job["id"])), settings)]
    return [
        *(line for waiting in outcome.waiting for line in _asked(waiting)),
        *start,
        *_places("Decide", url, chat_id, settings),
        *(_curl(waiting, f"{url}/context/{chat_id}", settings) for waiting in outcome.waiting),
        *then,
    ]


def next_job_commands(job: Json, settings: Settings | None = None) -> list[str]:
    """Returns what a person can do with a job of this status, a line each; with settings, for their data folder."""
    job_id = str(job.get("id"))
    return [_job_line(title, (command, job_id, *flags), settings) for title, (command, *flags) in _job_commands(job)]


def _job_commands(job: Json) -> Iterator[tuple[str, tuple[str, ...]]]:
    match job.get("status"):
        case "awaiting_approval":
            yield "Approve the plan and carry it out", ("approve",)
        case "awaiting_commit":
            race = job.get("race")
            agents = [str(agent) for agent in race] if isinstance(race, list) else []
            yield "See the changes", ("diff",)
            for agent in agents:
                yield f"Keep those of {agent}", ("commit", "--agent", agent)
            if not agents:
                yield "Keep them", ("commit",)
            yield "Or drop them" if not agents else "Or drop all", ("drop",)
        case "paused":
            yield "Go on", ("resume",)
        case "planning" | "running":
            yield "Follow it", ("follow",)
        case "failed":
            ways = [("Raise the limit and go on", ("limits", *flags)) for flags in _raised_limits(job)]
            ways += [(f"Try task {name} again", ("retry", "--task", name)) for name in _failed_tasks(job)]
            yield from ways
            if not job.get("race"):
                yield "Or plan what is left anew" if ways else "Plan it anew", ("replan",)


def _raised_limits(job: Json) -> Iterator[tuple[str, ...]]:
    """Yields flags that double the limits of a job that stopped at one."""
    by_owner = json_object(job.get("limits"))
    for owner, flags in (("job", ()), ("task", ("--each-task",))):
        amounts = by_owner.get(owner)
        if isinstance(amounts, dict) and _reached_limit(job, owner):
            doubled = [(f"--{name}", str(n * 2)) for name, n in amounts.items() if isinstance(n, int | float)]
            if doubled:
                yield (*(word for pair in doubled for word in pair), *flags)


def _reached_limit(job: Json, owner: str) -> bool:
    tasks = job.get("tasks")
    holders = [job] if owner == "job" else tasks if isinstance(tasks, list) else []
    errors = (holder.get("error") for holder in holders if isinstance(holder, dict))
    return any(isinstance(error, dict) and error.get("code") == LimitReached.code for error in errors)


def _failed_tasks(job: Json) -> list[str]:
    tasks = job.get("tasks")
    return [
        str(task["id"])
        for task in (tasks if isinstance(tasks, list) else [])
        if isinstance(task, dict) and task.get("status") == "failed"
    ]


def _job_line(title: str, arguments: tuple[str, ...], settings: Settings | None) -> str:
    data_dir = ["--data-dir", str(settings.data_dir)] if settings else []
    return f"{title}: {strip_controls(shlex.join(['anycowork', 'jobs', *arguments, *data_dir]))}"


def _continue_lines(outcome: RunOutcome, chat_id: str, address: ServerAddress, settings: Settings) -> list[str]:
    """Says how to go on after a limit: nothing is sent again. A full context can be compacted first."""
    url, start = _server(address, settings)
    acts = ["compact", "continue"] if outcome.code == ContextFull.code else ["continue"]
    title = "Compact and continue it" if len(acts) > 1 else "Continue it"
    return [
        *start,
        *_places(title, url, chat_id, settings),
        *(_curl_line(f"{url}/context/{chat_id}/{act}", {}, settings) for act in acts),
    ]


def _places(title: str, url: str, chat_id: str, settings: Settings) -> list[str]:
    """Says where a person can do it: on the page, in a terminal, or with the lines that follow."""
    chat = shlex.join(["anycowork", "chat", chat_id, "--data-dir", str(settings.data_dir)])
    return [
        strip_controls(f"{title} on the page: {chat_page(url, chat_id)}"),
        strip_controls(f"Or in a terminal: {chat}"),
        "Or in a script:",
    ]


def _server(address: ServerAddress, settings: Settings) -> tuple[str, list[str]]:
    """Returns the server's address, and how to start it if it does not run any more."""
    if address.lasting:
        return address.url, []
    serve = shlex.join(["anycowork", "serve", "--data-dir", str(settings.data_dir)])
    return f"http://{settings.host}:{settings.port}", [f"The chat is kept. Start the server: {strip_controls(serve)}"]


def _asked(waiting: Json) -> list[str]:
    """Prints all of it: pasting a printed command must not allow anything that was not printed."""
    if "question" in waiting:
        choices = ", ".join(_options(waiting))
        return _lines(f"Asks: {waiting['question']}" + (f" ({choices})" if choices else ""))
    risk = " (high risk)" if waiting.get("risk") == "high" else ""
    lines = _lines(f"Needs approval: {waiting.get('tool')} {waiting.get('resource')}{risk}")
    if endorsement := endorsement_text(waiting):
        lines += [line for text in endorsement.lines() for line in _lines(f"  {text}")]
    reasons = waiting.get("reasons")
    for reason in reasons if isinstance(reasons, list) else []:
        lines += _lines(f"  {reason}")
    for item in items_below_head(waiting):
        labels = [str(item[name]) for name in ("kind", "detail") if item.get(name)]
        control = " (control file)" if item.get("control") else ""
        lines += _lines(f"  {' '.join(labels)}{control}: {item.get('text')}")
    diff = waiting.get("diff")
    return [*lines, *(_lines(f"  diff:\n{diff}") if isinstance(diff, str) else [])]


def _lines(text: str) -> list[str]:
    """Indents lines after the first, so that none of them looks like one of ours."""
    first, *following = strip_controls(text).rstrip("\n").split("\n")
    return [first, *(f"    {line}" for line in following)]


def _options(waiting: Json) -> list[str]:
    """Returns the values that this question accepts, its proposal first."""
    options = waiting.get("options")
    values = (
        [str(option["value"]) for option in options if isinstance(option, dict) and "value" in option]
        if isinstance(options, list)
        else []
    )
    return sorted(values, key=lambda value: value != waiting.get("default"))


def _curl(waiting: Json, chat: str, settings: Settings) -> str:
    if "question" in waiting:
        answer: Json = {"value": _options(waiting)[0]} if _options(waiting) else {"custom": "your own words"}
        path, body = f"questions/{waiting.get('message_id')}/answer", answer
    else:
        disclosure = waiting.get("disclosure")
        disclosure_hash = disclosure.get("hash") if isinstance(disclosure, dict) else None
        decision: Json = {
            "id": waiting.get("id"),
            "decision": "allow_once",
            **({"disclosure": disclosure_hash} if disclosure_hash else {}),
        }
        path, body = "approvals", {"decisions": [decision]}
    return _curl_line(f"{chat}/{path}", body, settings)


def _curl_line(address: str, body: Json, settings: Settings) -> str:
    token = f'-H "Authorization: Bearer $(cat {shlex.quote(str(settings.data_dir / "token"))})"'
    # In ASCII, so that no character of the body is hidden or changed by making it visible.
    arguments = shlex.join(["-H", "Content-Type: application/json", "-d", json.dumps(body), address])
    return strip_controls(f"  curl {token} {arguments}")
