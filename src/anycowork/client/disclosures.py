"""The words for what a decision grants and what a rule covers, the same on every screen that a person decides on. Untrusted text in part."""

import json
import re

from pydantic import JsonValue

from anycowork.domain.messages import Json, json_object, json_objects
from anycowork.domain.network import NETWORK
from anycowork.domain.rules import ACTS
from anycowork.domain.values import value

_SENTENCES = {
    "allow": "The agent may {}",
    "ask": "The agent asks first, each time it wants to {}",
    "deny": "The agent may never {}",
}
_COMMAND = "execute_command"
_SERVED = re.compile(r"mcp:([^/*?\[\]]+)/([^#*?\[\]]+)(#[0-9a-f]+|#?\*)?")
ITEM_NAMES = {
    "tool": "tool",
    "command": "$",
    "check": "checked by $",
    "call": "calls",
    "path": "file",
    "host": "reaches",
    "parameter": "with",
    "budget": "budget",
}
_ORIGIN_NAMES = {
    "workspace": "files of this folder",
    "web": "a page of {}",
    "git": "a repository of {}",
    "mcp": "the MCP server {}",
    "delegate": "the agent {}",
    "attachment": "an attached file",
    "import": "an imported or older chat",
}
_SINK_NAMES = {
    "network": "{}",
    "mcp": "the MCP tool {}",
    "push": "a push to {}",
    "control_file": "the control file {}",
    "key_file": "the key file {}",
    "task": "another agent ({})",
    "unsandboxed": "a command without the sandbox ({})",
}


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
    values = [f"{name} = {json.dumps(it, ensure_ascii=False)}" for name, it in json_object(fixed).items()]
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


@value
class EndorsementText:
    """What a person vouches for by allowing a call, in words: what was read, what it said, where the call goes. Untrusted text in part."""

    read: str
    passage: str
    target: str

    def lines(self) -> list[str]:
        return [self.read, *(f"> {line}" for line in self.passage.splitlines()), self.target]


def items_below_head(approval: Json) -> list[Json]:
    """The items that the heading of a call (its tool and what it concerns) does not show already; a held call keeps its paths."""
    listed = json_object(approval.get("disclosure")).get("items")
    items = json_objects(listed)
    others = [item for item in items if item.get("kind") != "tool"]
    if approval.get("held"):
        return others
    subject = str(approval.get("resource")).removeprefix("/")
    subject_items = [
        item for item in others if not item.get("control") and str(item.get("text")).removeprefix("/") == subject
    ]
    parameters = [item for item in others if item.get("kind") == "parameter"]
    in_head = ("path", "parameter") if len(parameters) == 1 else ("path",)  # a list of parameters names every one
    return [item for item in others if item not in subject_items or item.get("kind") not in in_head]


def endorsement_text(approval: Json) -> EndorsementText | None:
    endorsement = approval.get("endorsement")
    if not isinstance(endorsement, dict):
        return None
    origins = endorsement.get("origins")
    sinks = endorsement.get("sinks")
    origin_names = [_origin_name(str(origin)) for origin in origins] if isinstance(origins, list) else []
    sink_names = [_sink_name(sink) for sink in json_objects(sinks)]
    return EndorsementText(
        f"The agent has read what nobody vouched for: {', '.join(origin_names)}. It said:",
        str(endorsement.get("passage") or ""),
        f"With it, the call goes to: {', '.join(sink_names)}.",
    )


def saved_rules_text(approval: Json) -> str | None:
    """What a standing answer saves: the proposed rule, one for each host, and as endorsements what the call needs one for."""
    rule, network, endorsement = approval.get("proposed_rule"), approval.get("network"), approval.get("endorsement")
    if not isinstance(rule, dict):
        return None
    hosts = network if isinstance(network, list) and rule.get("tool") != NETWORK else []
    rules: list[Json] = [rule, *({"tool": NETWORK, "resource": host} for host in hosts)]
    if not isinstance(endorsement, dict):
        return "; ".join(rule_sentence(saved, "allow") for saved in rules)
    origins, sinks = endorsement.get("origins"), endorsement.get("sinks")
    subjects = [sink.get("subject") for sink in json_objects(sinks)]
    bases = [
        next((saved for saved in rules if saved["tool"] == NETWORK and saved["resource"] == subject), rule)
        for subject in subjects
    ]
    plain_texts = [rule_sentence(saved, "allow") for saved in rules if saved not in bases]
    endorsing = [
        f"{rule_sentence(base, 'allow')}, also after it read {_origin_name(str(origin))}"
        for base in bases
        for origin in (origins if isinstance(origins, list) else [])
    ]
    return "; ".join(dict.fromkeys([*plain_texts, *endorsing]))


def planned_call_text(planned: Json) -> str:
    """What a step of a plan says of a call of a server's tool."""
    texts = argument_texts({"fixed": planned.get("arguments") or {}, "text": planned.get("text") or []})
    return f"{planned.get('tool')} {'with ' + ', '.join(texts) if texts else 'without arguments'}"


def _origin_name(origin: str) -> str:
    name, _, subject = origin.partition(":")
    return _ORIGIN_NAMES.get(name, origin.replace("{", "(")).replace("{}", subject)


def _sink_name(sink: Json) -> str:
    return _SINK_NAMES.get(str(sink.get("kind")), "{}").replace("{}", str(sink.get("subject")))
