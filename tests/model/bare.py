"""The bare loop to compare with: the same model, the same tools by name and schema, and nothing that helps.

Tools do at once what they are told. Commands are held in bubblewrap, for this machine's sake, not the model's.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any  # JSON that a model wrote

import aiohttp

from anycowork.permissions.roles import BUILT_IN
from anycowork.prompts.reply_schema import reply_schema
from anycowork.prompts.tool_list import signature
from anycowork.server.machine import find_bubblewrap
from anycowork.tools.toolbox import built_in_tools
from model.tasks import Outcome, Task

STEPS = 10
CALLING = (
    "You are an agent that works on files in a folder. Reply with one JSON object: "
    '{"tool": ..., "parameters": {...}, "terminate": false} to call a tool, or {"answer": "..."} when you are done.'
)
Parameters = Mapping[str, Any]


async def bare_loop(
    task: Task, folder: Path, *, url: str, key: str, model: str, session: aiohttp.ClientSession, constrained: bool
) -> Outcome:
    """`constrained` lends it the workplace's schema of replies, so that it cannot get the form wrong."""
    before = Outcome(folder, {}, "").files()
    role = next(one for one in BUILT_IN if one.name == task.role)
    specs = [spec for spec in built_in_tools(None, lambda: 60.0).specs() if role.grants(spec.permissions)]
    tools = "\n".join(f"- {spec.name}({signature(spec.schema)}): {spec.description}" for spec in specs)
    said = [
        {"role": "system", "content": f"{CALLING}\nYour role: {task.role}. {role.tooltip}\nTools:\n{tools}"},
        {"role": "user", "content": task.request},
    ]
    commands: list[str] = []
    schema = reply_schema(role, specs) if constrained else None
    for _ in range(STEPS):
        text = await _ask(session, url, key, model, said, schema)
        reply = _read(text)
        if "tool" not in reply:
            kind = str(reply.get("type", "text"))
            return Outcome(
                folder,
                before,
                str(reply.get("answer", text)),
                kind,
                tuple(commands),
                tuple(one["content"][:300] for one in said[1:]),
            )
        given = reply.get("parameters")
        given = given if isinstance(given, dict) else {}
        if reply["tool"] == "execute_command":
            commands.append(str(given.get("command")))
        result = _do(str(reply["tool"]), given, folder)
        if reply.get("terminate"):
            return Outcome(
                folder, before, result, "text", tuple(commands), tuple(one["content"][:300] for one in said[1:])
            )
        said += [{"role": "assistant", "content": text}, {"role": "user", "content": f"Result: {result[:4000]}"}]
    return Outcome(folder, before, "", "text", tuple(commands), tuple(one["content"][:300] for one in said[1:]))


async def _ask(
    session: aiohttp.ClientSession,
    url: str,
    key: str,
    model: str,
    said: list[dict[str, str]],
    schema: Parameters | None,
) -> str:
    body: dict[str, Any] = {
        "model": model,
        "messages": said,
        "temperature": 0,
        "max_tokens": 1_024,
    }
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    async with session.post(f"{url}/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"}) as answer:
        found = await answer.json()
    if "choices" not in found:
        raise RuntimeError(f"the model's server says: {found}")
    return str(found["choices"][0]["message"]["content"])


def _read(text: str) -> dict[str, Any]:
    """A call in a fence is still one; anything else that is no JSON is the answer."""
    fenced = re.search(r"```(?:json)?\n(.*?)```", text, re.DOTALL)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except ValueError:
        return {"answer": text}
    return found if isinstance(found, dict) else {"answer": text}


def _do(tool: str, given: Parameters, folder: Path) -> str:
    try:
        return _TOOLS[tool](given, folder)
    except (OSError, KeyError, ValueError, re.error, TypeError, AttributeError, subprocess.TimeoutExpired) as error:
        return f"Error: {error!r}"


def _inside(folder: Path, path: object) -> Path:
    found = (folder / str(path)).resolve()
    if not found.is_relative_to(folder.resolve()):
        raise ValueError("outside the folder")
    return found


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def _read_file(given: Parameters, folder: Path) -> str:
    lines = _inside(folder, given["path"]).read_text().splitlines(keepends=True)
    return "".join(lines[int(given.get("start_line", 1)) - 1 : int(given.get("end_line", len(lines)))])


def _list(given: Parameters, folder: Path) -> str:
    return "\n".join(sorted(path.name for path in _inside(folder, given.get("path", ".")).iterdir()))


def _grep(given: Parameters, folder: Path) -> str:
    wanted = re.compile(str(given.get("pattern") or given.get("query") or given.get("name")))
    found = [
        f"{path.relative_to(folder)}:{number}: {line}"
        for path in _files(folder)
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if wanted.search(line)
    ]
    return "\n".join(found) or "no match"


def _create(given: Parameters, folder: Path) -> str:
    path = _inside(folder, given["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(given["content"])
    return "ok"


def _update(given: Parameters, folder: Path) -> str:
    path = _inside(folder, given["path"])
    text = path.read_text()
    for edit in given.get("edits") or ():
        if edit["find"] not in text:
            return "Error: text not found"
        text = text.replace(edit["find"], edit["replace"], 1)
    if "content" in given and "start_line" in given:
        lines = text.splitlines(keepends=True)
        lines[int(given["start_line"]) - 1 : int(given["end_line"])] = [given["content"] + "\n"]
        text = "".join(lines)
    elif "content" in given:
        text = given["content"]
    path.write_text(text)
    return "ok"


def _move(given: Parameters, folder: Path) -> str:
    to = _inside(folder, given["to"])
    to.parent.mkdir(parents=True, exist_ok=True)
    _inside(folder, given["path"]).rename(to)
    return "ok"


def _delete(given: Parameters, folder: Path) -> str:
    _inside(folder, given["path"]).unlink()
    return "ok"


def _command(given: Parameters, folder: Path) -> str:
    box = find_bubblewrap()
    assert box is not None, "the bare loop runs commands in bubblewrap only"
    held = [box.path, "--ro-bind", "/", "/", "--dev", "/dev", "--bind", str(folder), str(folder)]
    held += ["--chdir", str(folder), "--unshare-all", "--die-with-parent", "bash", "-c", str(given["command"])]
    done = subprocess.run(held, capture_output=True, text=True, timeout=60, check=False)
    return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


_TOOLS = {
    "read_file": _read_file,
    "list_directory": _list,
    "get_file_info": lambda given, folder: str(_inside(folder, given["path"]).stat()),
    "grep": _grep,
    "search_code": _grep,
    "search_symbol": _grep,
    "create_file": _create,
    "update_file": _update,
    "move_file": _move,
    "delete_file": _delete,
    "execute_command": _command,
}
