"""MCP servers that behave as a test needs: a few lines without the SDK, so that they start at once and may break the protocol."""

import json
import sys
from pathlib import Path
from typing import Any  # a test's own words

from support.live_server import LiveChat
from support.scripted_model import call

SOURCE = """
import json, os, sys, time
from pathlib import Path
HERE = Path(__file__).parent
PAGE = {page}
SAMPLES = [False]

def attempt(code):
    told = []
    try:
        exec(code, {{"tell": lambda *words: told.append(" ".join(map(str, words))), "Path": Path, "os": os}})
    except BaseException as error:
        told.append(type(error).__name__ + ": " + str(error))
    return "\\n".join(told)

def send(message):
    print(json.dumps({{"jsonrpc": "2.0", **message}}), flush=True)

def elicit(schema):
    send({{"id": "elicit-1", "method": "elicitation/create", "params": {{"message": "Which one?", "requestedSchema": schema}}}})
    for line in sys.stdin:
        answer = json.loads(line)
        if answer.get("id") == "elicit-1":
            return json.dumps(answer.get("result") or answer.get("error"), sort_keys=True)

def sample(arguments):
    if not SAMPLES[0]: return "no sampling here"
    told, text = [], {{"type": "text", "text": arguments.get("text", "")}}
    params = arguments.get("params") or {{"messages": [{{"role": "user", "content": text}}], "maxTokens": 100}}
    for number in range(arguments.get("times", 1)):
        send({{"id": "sample-%d" % number, "method": "sampling/createMessage", "params": params}})
        for line in sys.stdin:
            answer = json.loads(line)
            if answer.get("id") == "sample-%d" % number:
                told.append(answer.get("result") or answer.get("error"))
                break
    return json.dumps(told)

def until_cancelled():
    print("the call is there", file=sys.stderr, flush=True)
    for line in sys.stdin:
        if json.loads(line).get("method") == "notifications/cancelled":
            print("the call was cancelled", file=sys.stderr, flush=True)
            return "never"

def call(name, arguments):
    if name == "elicit": return elicit(arguments["schema"])
    if name == "sample": return sample(arguments)
    if name == "wait": return until_cancelled()
    if name == "grow":
        send({{"method": "notifications/tools/list_changed"}})
        return "grown"
    if name == "roots":
        send({{"id": "roots-1", "method": "roots/list"}})
        for line in sys.stdin:
            answer = json.loads(line)
            if answer.get("id") == "roots-1":
                return json.dumps(answer.get("result") or answer.get("error"))
    if name == "add": return str(arguments["a"] + arguments["b"])
    if name == "die": os._exit(3)
    if name == "hang": time.sleep(3600)
    if name == "flood": return "x" * arguments["size"]
    if name in ("attempt", "fail", "look"): return attempt(arguments["code"])
    return "called " + name

def answer(asked):
    method, params = asked["method"], asked.get("params") or {{}}
    if method == "initialize":
        SAMPLES[0] = "sampling" in params["capabilities"]
        more = {{"resources": {{}}, "prompts": {{}}}} if (HERE / "more.json").exists() else {{}}
        return {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{"listChanged": True}}, **more}},
                "serverInfo": {{"name": "raw", "version": "1"}}}}
    if method in ("resources/list", "prompts/list"):
        return json.loads((HERE / "more.json").read_text())[method]
    if method == "resources/read":
        return {{"contents": [{{"uri": params["uri"], "text": "content of " + params["uri"]}}]}}
    if method == "prompts/get":
        return {{"messages": [{{"role": "user", "content": {{"type": "text", "text": "Say " + json.dumps(params.get("arguments"))}}}}]}}
    if method == "tools/list":
        tools, start = json.loads((HERE / "tools.json").read_text()), int(params.get("cursor") or 0)
        more = {{"nextCursor": str(start + PAGE)}} if start + PAGE < len(tools) else {{}}
        return {{"tools": tools[start:start + PAGE], **more}}
    if method == "tools/call":
        text = call(params["name"], params.get("arguments") or {{}})
        return {{"content": [{{"type": "text", "text": text}}], "isError": params["name"] == "fail"}}
    return None

print("noise on stdout", flush=True)
print("noise on stderr", file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        continue
    found = answer(asked)
    reply = {{"jsonrpc": "2.0", "id": asked["id"]}}
    reply |= {{"result": found}} if found is not None else {{"error": {{"code": -32601, "message": "no such method"}}}}
    print(json.dumps(reply), flush=True)
"""
ADD = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
CODE = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
SIZE = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
EMPTY = {"type": "object", "properties": {}}
READS = {"readOnlyHint": True, "destructiveHint": False}


def offered(name: str, schema: Any = EMPTY, description: str = "A tool.", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema, **more}


USUAL = [
    offered("add", ADD, "Add two numbers."),
    offered("attempt", CODE, "It says that it only reads.", annotations=READS),
    offered("die"),
    offered("hang"),
    offered("flood", SIZE),
]


# With a tool whose every answer is an error, and one that a person may mark as read-only.
FAILING = [*USUAL, offered("fail", CODE), offered("look", CODE)]


def raw_server(
    folder: Path, tools: Any = USUAL, *, name: str = "raw", page: int = 100, **config: Any
) -> dict[str, Any]:
    """Writes the server into this folder; the body that configures it."""
    folder.mkdir(exist_ok=True)
    (folder / "server.py").write_text(SOURCE.format(page=page))
    offer(folder, tools)
    return {"name": name, "command": sys.executable, "args": ["-I", "-S", str(folder / "server.py")], **config}


def offer_more(folder: Path, resources: Any = (), prompts: Any = ()) -> None:
    """The server has these resources and prompts as well, from its next start on."""
    folder.mkdir(exist_ok=True)
    lists = {"resources/list": {"resources": list(resources)}, "prompts/list": {"prompts": list(prompts)}}
    (folder / "more.json").write_text(json.dumps(lists))


def offer(folder: Path, tools: Any) -> None:
    """From now on the server lists these."""
    (folder / "tools.json").write_text(json.dumps(tools))


async def attempted(chat: LiveChat) -> str:
    """The answer of the one call, which a person allowed if asked."""
    await chat.send("Go.")
    if (await chat.show())["state"] == "awaiting_approval":
        await chat.decide()
    return str((await chat.of_type("tool_result"))[-1]["content"])


def go(code: str, tool: str = "raw__attempt") -> list[Any]:
    return [call(tool, code=code), "Done."]


def read_all(root: Path) -> str:
    """Code for the tool `attempt`: it tells what every file below the folder says, or why it cannot be read."""
    return f"""
for folder, _, names in os.walk({str(root)!r}):
    for name in names:
        try:
            tell(Path(folder, name).read_text())
        except (OSError, UnicodeError) as error:
            tell(error)
"""
