"""The program that runs a third-party tool: started for one call, killable at any time, and never near the server's secrets.

In: one JSON object on standard input. Out: one JSON object where standard output was; what the tool prints goes elsewhere. Nothing trusts
its answer: the reader treats it as untrusted input.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from anycowork.plugins import PluginFunction, ToolError

_MAX_ERROR_CHARACTERS = 4_000


def main() -> None:
    request = json.load(sys.stdin)  # noqa: TID251  # our own process wrote it
    answers = _open_answer_descriptor()
    answer = describe(request["entries"]) if request["do"] == "describe" else call(request)
    with os.fdopen(answers, "w", encoding="utf-8", errors="replace") as out:
        json.dump(answer, out)
    sys.stdout.flush()
    os._exit(0)  # threads that the tool left running end with it


def describe(entries: Sequence[str]) -> dict[str, object]:
    """Describes every tool of these entry points, or what is wrong with one; the others are described anyway."""
    tools: list[dict[str, object]] = []
    problems: list[str] = []
    for entry in entries:
        try:
            described = [_described(entry, tool) for tool in tools_of(entry)]
            json.dumps(described)
            tools += described
        except BaseException as error:  # noqa: BLE001  # third-party code may raise anything
            problems.append(f"{entry}: {_in_words(error)}")
    return {"tools": tools, "problems": problems}


def call(request: dict[str, object]) -> dict[str, object]:
    """Returns the tool's result as text; or why there is none."""
    entry, name, parameters = request["entry"], request["tool"], request["parameters"]
    assert isinstance(entry, str) and isinstance(parameters, dict)
    try:
        tool_function = next((tool for tool in tools_of(entry) if tool.name == name), None)
        if tool_function is None:
            return {"error": f"'{entry}' has no tool '{name}' any more. Was the plugin changed? Restart the server."}
        result = tool_function.function(**parameters)
        if hasattr(result, "__await__"):
            result = _awaited(result)
        return {"content": result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=2)}
    except ToolError as error:
        return {"error": str(error)[:_MAX_ERROR_CHARACTERS] or "The tool failed and gave no reason."}
    except BaseException as error:  # noqa: BLE001  # as above
        sys.__excepthook__(*sys.exc_info())
        return {"error": f"It raised {_in_words(error)}"}


def tools_of(entry: str) -> Iterator[PluginFunction]:
    """An entry point `module:name` is a tool or a list of tools. Raises: whatever importing it raises; TypeError."""
    module, _, attribute = entry.partition(":")
    target: object = import_module(module)
    for part in attribute.split(".") if attribute else ():
        target = getattr(target, part)
    several = target if isinstance(target, list | tuple) else [target]
    for tool in several:
        if not isinstance(tool, PluginFunction):
            raise TypeError(f"'{entry}' is not a tool; decorate the function with anycowork.plugins.tool")
        yield tool


def _described(entry: str, tool: PluginFunction) -> dict[str, object]:
    return {
        "entry": entry,
        "name": tool.name,
        "description": tool.description,
        "category": tool.category,
        "permissions": list(tool.permissions),
        "requires_approval": tool.requires_approval,
        "path": tool.path,
        "network": list(tool.network),
        "schema": tool.schema,
    }


def _open_answer_descriptor() -> int:
    """Opens a descriptor for the answer, which child programs do not inherit; redirects prints to stderr."""
    answers = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return answers


def _awaited(awaitable: object) -> object:
    import asyncio  # slow to import, and few tools need it

    async def waiting() -> object:
        return await awaitable  # type: ignore[misc]  # it has `__await__`

    return asyncio.run(waiting())


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARACTERS]
