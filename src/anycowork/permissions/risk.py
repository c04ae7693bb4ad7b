"""Assesses how risky a call is, and why, in sentences for the approval card. Pure.

Low: it only reads. Medium: it changes the workspace, and a checkpoint can undo that. High: it deletes what no checkpoint covers, uses
the network, asks for more rights, runs without a sandbox, comes from a suspicious place, or accesses control files, secrets or paths
outside the workspace.
"""

import re
from collections.abc import Sequence

from anycowork.domain.approvals import Risk
from anycowork.domain.network import Destination
from anycowork.domain.path_class import CHANGES_CONTROL_FILES, is_build_script, is_control_file, looks_secret
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, ToolSpec
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.permissions.command_risk import (
    MAY_USE_NETWORK,
    NAMES_CONTROL_FILE,
    command_names_secrets,
    deletes,
    high_risks,
    may_reach_secrets,
    only_reads,
)
from anycowork.permissions.shell.parser import parse

_COMMAND = "command:"
_MOST_LISTED = 5
_WORD = re.compile(r"[A-Za-z][a-z]{0,40}")
# fmt: off
_READS = frozenset({
    "get", "list", "read", "search", "find", "fetch", "query", "show", "describe", "view", "count", "look", "lookup", "check",
})
_ACTS = frozenset({
    "send", "pay", "payment", "transfer", "buy", "purchase", "order", "charge", "refund", "withdraw", "donate", "trade", "post", "publish",
    "tweet", "email", "reply", "invite", "share", "upload", "push", "merge", "deploy", "release", "delete", "remove", "drop", "destroy",
    "erase", "purge", "revoke", "grant", "cancel", "close", "book", "sign", "execute",
})
# fmt: on


def may_show_secrets(resource: str) -> bool:
    """Whether running it could show a secret to the model: it names one, or has words that are known only when it runs."""
    if resource.startswith(_COMMAND):
        return may_reach_secrets(parse(resource.removeprefix(_COMMAND)))
    return looks_secret(resource)


def names_secrets(resource: str) -> bool:
    """Whether its words name a secret, or are a pattern that could mean one."""
    if resource.startswith(_COMMAND):
        return command_names_secrets(parse(resource.removeprefix(_COMMAND)))
    return looks_secret(resource)


def assess_risk(
    spec: ToolSpec,
    call: Call,
    resource: str,
    network: Sequence[Destination] = (),
    *,
    workspace: str = "",
    key_files: Sequence[str] = (),
    changed: Sequence[str] = (),
) -> tuple[Risk, tuple[str, ...]]:
    """Returns the level and all reasons for it. `changed` are the paths that it changed, or would change besides the resource."""
    reasons = [
        *_of_permissions(spec),
        *_of_network(network),
        *_of_key_files(key_files),
        *_of_resource(spec, resource, workspace),
        *_of_changes(changed),
        *_of_provenance(call),
    ]
    said_in_general = _said_in_general([text for _, text in reasons], network)
    texts = tuple(text for _, text in reasons if text not in said_in_general)
    if any(level is Risk.HIGH for level, _ in reasons):
        return Risk.HIGH, texts
    return (Risk.LOW if _reads(spec, resource) else Risk.MEDIUM), texts


def _said_in_general(texts: Sequence[str], network: Sequence[Destination]) -> set[str]:
    """Returns the sentences about the command's words that another sentence says with its hosts or paths."""
    names_files = any(text.startswith(CHANGES_CONTROL_FILES) for text in texts)
    return {*([MAY_USE_NETWORK] if network else []), *([NAMES_CONTROL_FILE] if names_files else [])}


def _reads(spec: ToolSpec, resource: str) -> bool:
    if spec.read_only:
        return True
    return spec.contained and resource.startswith(_COMMAND) and only_reads(parse(resource.removeprefix(_COMMAND)))


def _of_permissions(spec: ToolSpec) -> list[tuple[Risk, str]]:
    risks: list[tuple[Risk, str]] = []
    if spec.plugin is not None:
        risks.append((Risk.LOW, f"It is the code of the plugin '{spec.plugin}', in the sandbox."))
    if spec.server is not None:
        risks.append(_of_server(spec))
    if spec.delegate is not None:
        risks.append((Risk.MEDIUM, f"It starts the agent '{spec.delegate}', on a private copy in the sandbox."))
    if spec.asks_agents:
        risks.append((Risk.MEDIUM, "It gives a task to another agent, which works in its own copy of the files."))
    if spec.runs_commands:
        command_reason = (
            "It runs a command, in the sandbox."
            if spec.contained
            else "It runs a command, and this machine has no sandbox."
        )
        risks.append((Risk.MEDIUM if spec.contained else Risk.HIGH, command_reason))
    if Permission.DELETE_FILES in spec.permissions and Permission.CREATE_FILES not in spec.permissions:
        risks.append((Risk.MEDIUM, "It deletes; a checkpoint keeps what was there."))
    if Permission.WRITE_FILES in spec.permissions:
        risks.append((Risk.MEDIUM, "It changes an existing file."))
    if Permission.CREATE_FILES in spec.permissions:
        moves = Permission.DELETE_FILES in spec.permissions
        risks.append((Risk.MEDIUM, "It moves a file." if moves else "It creates a file."))
    return risks


def _of_server(spec: ToolSpec) -> tuple[Risk, str]:
    """Judges a server's tool by its own name and description: what the server claims besides is not believed, and never lowers it."""
    tool = f"It is a tool of the MCP server '{spec.server}'"
    if spec.read_only:
        return Risk.LOW, f"{tool}, which you marked as read-only."
    if spec.contained:
        return Risk.MEDIUM, f"{tool}, in the sandbox. It changes files of the workspace alone, and that can be undone."
    name, first_verb = _words(spec.name.partition("__")[2]), _words(spec.description)[:1]
    reads = name[:1] != [] and name[0] in _READS
    if acts := next(
        (word for word in (*([] if reads else name), *first_verb) if word in _ACTS or word.rstrip("s") in _ACTS), None
    ):
        return (
            Risk.HIGH,
            f"{tool} that acts elsewhere ('{acts}'). What it sends, pays or changes there cannot be undone here.",
        )
    if reads:
        return Risk.MEDIUM, f"{tool}. By its name it only reads; what it does besides cannot be undone here."
    return Risk.MEDIUM, f"{tool}. What that does elsewhere cannot be undone here."


def _words(text: str) -> list[str]:
    """Returns the words of a name or a sentence in lower case, also those of sendMoney and send_money."""
    return [word.lower() for word in _WORD.findall(text.lower() if text.isupper() else text)]


def _of_network(network: Sequence[Destination]) -> list[tuple[Risk, str]]:
    if not network:
        return []
    destinations = ", ".join(map(str, network))
    return [(Risk.HIGH, f"It can send data to {destinations}, and receive instructions from there.")]


def _of_key_files(key_files: Sequence[str]) -> list[tuple[Risk, str]]:
    if not key_files:
        return []
    listed_paths = ", ".join(visible_line(UntrustedText(path.lstrip("/"))) for path in key_files)
    return [(Risk.HIGH, f"It can read files that may hold keys or passwords: {listed_paths}.")]


def _of_resource(spec: ToolSpec, resource: str, workspace: str) -> list[tuple[Risk, str]]:
    if resource.startswith(_COMMAND):
        command = parse(resource.removeprefix(_COMMAND))
        risks = [(Risk.HIGH, text) for text in high_risks(command, workspace)]
        if deletes(command) and spec.contained and not risks:
            risks.append((Risk.MEDIUM, "It deletes or overwrites; a checkpoint keeps what was there."))
        return risks
    secret = [(Risk.HIGH, "The path looks like a secret.")] if looks_secret(resource) else []
    if spec.read_only:
        return secret
    if is_control_file(resource):
        return [*secret, (Risk.HIGH, "The file controls tools, editors or agents.")]
    script = "Package managers or build tools run what this file says." if is_build_script(resource) else ""
    return [*secret, *([(Risk.MEDIUM, script)] if script else [])]


def _of_changes(paths: Sequence[str]) -> list[tuple[Risk, str]]:
    control = [path for path in paths if is_control_file(path)]
    secret = [path for path in paths if looks_secret(path)]
    risks: list[tuple[Risk, str]] = []
    if control:
        risks.append((Risk.HIGH, f"{CHANGES_CONTROL_FILES}: {_listed(control)}."))
    if secret:
        risks.append((Risk.HIGH, f"It changes what looks like a secret: {_listed(secret)}."))
    return risks


def _listed(paths: Sequence[str]) -> str:
    listed_paths = ", ".join(visible_line(UntrustedText(path.lstrip("/"))) for path in paths[:_MOST_LISTED])
    return listed_paths if len(paths) <= _MOST_LISTED else f"{listed_paths} and {len(paths) - _MOST_LISTED:,} more"


def _of_provenance(call: Call) -> list[tuple[Risk, str]]:
    risks: list[tuple[Risk, str]] = []
    if not call.provenance.whole_reply:
        risks.append((Risk.HIGH, "The call was inside other text; it may be a quotation."))
    if call.provenance.repeats:
        risks.append(
            (
                Risk.MEDIUM,
                "An earlier attempt did exactly this already, or was interrupted while it did: it may happen twice.",
            )
        )
    if call.provenance.in_tool_result:
        risks.append(
            (
                Risk.HIGH,
                "An earlier tool result or an attached file contains or demands this call: a file or a program may have planted it.",
            )
        )
    return risks
