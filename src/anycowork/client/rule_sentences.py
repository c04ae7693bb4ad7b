"""A rule as a sentence, in the words of the page. Untrusted text in part."""

import json
import re

from pydantic import JsonValue

from anycowork.domain.messages import Json
from anycowork.domain.network import NETWORK
from anycowork.domain.rules import ACTS

_SENTENCES = {
    "allow": "The agent may {}",
    "ask": "The agent asks first, each time it wants to {}",
    "deny": "The agent may never {}",
}
_COMMAND = "execute_command"
_SERVED = re.compile(r"mcp:([^/*?\[\]]+)/([^#*?\[\]]+)(#[0-9a-f]+|#?\*)?")


def rule_sentence(rule: Json, effect: str | None = None) -> str:
    """Says what a rule lets the agent do. `effect` stands in for the rule's own."""
    effect = effect or str(rule.get("effect", "allow"))
    tool, resource, arguments = str(rule.get("tool")), str(rule.get("resource")), rule.get("arguments")
    sentence = _SENTENCES.get(effect, _SENTENCES["ask"])
    if served := _SERVED.fullmatch(resource):
        server, name, version = served.groups()
        stated = sentence.format(f"use {name} of the server {server} {_arguments_of(arguments, effect)}")
        return f"{stated}, as long as the tool stays as it is" if _is_one_version(version) else stated
    clause = f" {_arguments_of(arguments, effect)}" if arguments else ""
    return sentence.format(f"{_act(tool, resource)}{clause}")


def argument_texts(arguments: JsonValue) -> list[str]:
    """Says of each argument which value it has, or that it is left open."""
    if not isinstance(arguments, dict):
        return []
    fixed, text, free = arguments.get("fixed"), arguments.get("text"), arguments.get("open")
    values = [f"{name} = {json.dumps(it, ensure_ascii=False)}" for name, it in _mapping(fixed).items()]
    texts = [f"any text in {name}" for name in text] if isinstance(text, list) else []
    others = [f"any {name}" if name != "*" else "anything else" for name in free] if isinstance(free, list) else []
    return [*values, *texts, *others]


def _arguments_of(arguments: JsonValue, effect: str) -> str:
    """A rule that asks or denies is about its fixed values alone, whatever else a call names."""
    if not isinstance(arguments, dict):
        return "with whatever arguments"
    if effect != "allow":
        arguments = {"fixed": arguments.get("fixed"), "open": ["*"]} if arguments.get("fixed") else {"open": ["*"]}
    texts = argument_texts(arguments)
    return f"with {', '.join(texts)}" if texts else "without arguments"


def _act(tool: str, resource: str) -> str:
    if tool == "*":
        return f"use any tool on {_where(tool, resource)}"
    return f"{ACTS.get(tool, f'use {tool} on')} {_where(tool, resource)}"


def _where(tool: str, resource: str) -> str:
    if resource in ("*", "/*", "/**"):
        return "any command" if tool == _COMMAND else "any file" if tool in ACTS and tool != NETWORK else "anything"
    if tool == _COMMAND:
        start = resource.removesuffix(" *")
        is_start = start != resource and not _has_pattern(start)
        return f"commands that begin with “{start}”" if is_start else f"“{resource}”"
    folder = resource.rstrip("*").removeprefix("/").removesuffix("/")
    if resource.startswith("/") and resource.endswith(("/*", "/**")) and folder and not _has_pattern(folder):
        return f"any file in {folder}"
    return f"what matches {resource}" if _has_pattern(resource) else resource.removeprefix("/")


def _has_pattern(text: str) -> bool:
    return any(sign in text for sign in "*?[]")


def _is_one_version(version: str | None) -> bool:
    return version is not None and version.startswith("#") and version != "#*"


def _mapping(entry: JsonValue) -> Json:
    return entry if isinstance(entry, dict) else {}
