"""Describes how a command ended and what happened to its changes: text for the model and facts for machines. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from types import MappingProxyType
from typing import assert_never

from pydantic import JsonValue

from anycowork.domain.errors import CommandFailed, ToolTimedOut
from anycowork.domain.tools import CallError, CallStatus, ToolResult
from anycowork.domain.values import value
from anycowork.domain.visible_text import bare_lines
from anycowork.sandbox.commit.delta import Delta, PathChange
from anycowork.sandbox.commit.delta_check import count_by_folder, named_always
from anycowork.sandbox.commit.delta_diff import DeltaDiff, files_below
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.network.dialer import NetworkReport
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult
from anycowork.workspace.paths import shown

_MAX_SHOWN = 40
_MOST_REFUSALS = 10
_MOST_FACTS = 500
_FIRST_OF_MANY = 100
_LAST_BYTES = 65_536
_NOT_FOUND = 127
_NOT_FOUND_TEXT = ": command not found"
# How programs report a missing network: messages of the resolver and the kernel, in C, Node, Go, Rust and Java.
_MISSES_NETWORK = re.compile(
    rb"\b(?:(?:could not|couldn't|cannot|failed to|unable to) (?:resolve|connect)|(?:failure in name|host ?name) resolution|"
    rb"failure resolving|name or service not known|network is unreachable|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|getaddrinfo|"
    rb"no such host|dns error|UnknownHost(?:Exception)?|connection refused)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"permission ?denied|PermissionError|EACCES|access ?denied|errno 13", re.IGNORECASE)
_PATH = re.compile(r"[./]\w")  # in a line of output
_HOW_TO_ASK = (
    "It ran without network. If it needs some, make the call again with 'network', a list of the hosts that it must reach, such as "
    '["example.org"]; a person may be asked. Programs then find a proxy in HTTP_PROXY and HTTPS_PROXY; nothing but http and https passes.'
)
_ON_A_COPY = "It worked on a private copy of the workspace: no overlay can be mounted over it here."
_SIGNS = {"created": "A", "modified": "M", "deleted": "D"}


@value
class CommandSummary:
    """What happened to the changes. `error` makes the whole call fail, whatever the command returned."""

    text: str = ""
    diff: str | None = None
    facts: dict[str, JsonValue] = field(default_factory=dict)
    error: CallError | None = None


def summary_text(
    child: ChildResult,
    bounds: ChildLimits,
    *,
    sandbox: str,
    layer: Layer | None = None,
    story: CommandSummary | None = None,
    network: NetworkReport | None = None,
) -> ToolResult:
    """`network` reports where it connected to, if it had network access."""
    output = child.output.decode(errors="replace").replace("\0", "�")
    closing, error = _verdict(child, bounds)
    lead = output if not output or output.endswith("\n") else output + "\n"
    if sandbox != "none":
        closing = "\n".join([closing, *_of_network(child, network)])
    result = ToolResult(
        status=CallStatus.OK if error is None else CallStatus.ERROR,
        content=lead + closing,
        error=error,
        facts={
            "exit_code": child.exit_code,
            "seconds": round(child.seconds, 3),
            "sandbox": sandbox,
            "layer": layer.value if layer else None,
            **_network_facts(network),
            **({"needs_network": True} if sandbox != "none" and network is None and _missed_network(child) else {}),
        },
    )
    return joined(result, story or CommandSummary("It ran without a sandbox: this machine gives none."))


def joined(result: ToolResult, story: CommandSummary) -> ToolResult:
    """Joins the command's output with the description of its changes."""
    error = story.error or result.error
    return ToolResult(
        status=CallStatus.OK if error is None else CallStatus.ERROR,
        content=result.content + (f"\n{story.text}" if story.text else ""),
        error=error,
        diff=story.diff,
        facts={**result.facts, **story.facts},
    )


def missing_program(child: ChildResult) -> str | None:
    """Returns the name of the program that bash did not find, if that ended the command."""
    if child.how is not ChildEnding.ITSELF or child.exit_code != _NOT_FOUND:
        return None
    for line in reversed(child.output[-_LAST_BYTES:].decode(errors="replace").splitlines()):
        if line.endswith(_NOT_FOUND_TEXT):
            name = line.removesuffix(_NOT_FOUND_TEXT).rpartition(": ")[2].strip()
            return name if name and "/" not in name else None
    return None


def exists_outside(result: ToolResult, program: str, program_path: str, refused: str | None = None) -> ToolResult:
    """Tells the model and the person that the sandbox hides the program, and which setting shows it, or why its folder is `refused`."""
    way_out = (
        f"Its folder is refused: {refused}." if refused else "A person can add its folder to the setting sandbox_paths."
    )
    sentence = (
        f"'{shown(program)}' is installed on this machine ('{shown(program_path)}'), but commands cannot see it. {way_out} "
        "`anycowork doctor` lists what commands see."
    )
    return replace(result, content=f"{result.content}\n{sentence}", facts={**result.facts, "not_visible": program_path})


def without_key_files(result: ToolResult, paths: tuple[str, ...], command: str = "") -> ToolResult:
    """Adds which files were kept from the command; says so, and how to ask for them, only if it named or failed to read one."""
    if not paths:
        return result
    facts: dict[str, JsonValue] = {**result.facts, "key_files_left_out": list(paths[:_MOST_FACTS])}
    missed = _missed(paths, command, result.content[-_LAST_BYTES:])
    if not missed:
        return replace(result, facts=facts)
    sentence = (
        f"It could not read {_named(missed)}: a person decides who reads what may hold keys or passwords, or what a rule asks about. "
        "If it needs one, make the call again with 'key_files', a list of exactly these files; a person is asked."
    )
    return replace(result, content=f"{result.content}\n{sentence}", facts=facts)


def _missed(paths: Sequence[str], command: str, output: str) -> list[str]:
    """Returns the paths that the command names, or that its output says could not be read. A denial that names no path may mean any."""
    in_command = [path for path in paths if path.rpartition("/")[2] in command]
    denials = [line for line in bare_lines(output) if _DENIED.search(line)]
    if not denials:
        return in_command
    in_output = [path for path in paths if path.rpartition("/")[2] in output]
    named = list(dict.fromkeys((*in_command, *in_output)))
    return named or ([] if all(map(_PATH.search, denials)) else list(paths))


def on_a_copy(result: ToolResult) -> ToolResult:
    return replace(result, content=f"{result.content}\n{_ON_A_COPY}")


def _of_network(child: ChildResult, network: NetworkReport | None) -> list[str]:
    if network is None:
        return [_HOW_TO_ASK] if _missed_network(child) else []
    return [f"Network: {reason}" for reason in list(network.refused.values())[:_MOST_REFUSALS]]


def _missed_network(child: ChildResult) -> bool:
    """Whether it failed, says so, and the kernel does not say otherwise: a program may print such words for any reason."""
    if child.exit_code == 0 or child.missed_network is False:
        return False
    return _MISSES_NETWORK.search(child.output[-_LAST_BYTES:]) is not None


def _network_facts(network: NetworkReport | None) -> dict[str, JsonValue]:
    if network is None:
        return {}
    return {"network": {"reached": dict(network.reached), "refused": dict(network.refused)}}


def left_alone(whose: str, *, is_check: bool) -> CommandSummary:
    reason = "It ran as a check" if is_check else f"{whose} may not change files"
    return CommandSummary(
        f"{reason}: what the command wrote was thrown away.",
        facts={"files": [], "additions": 0, "deletions": 0, "dropped": "role"},
    )


def dropped(message: str, *, code: str | None = None, paths: tuple[str, ...] = ()) -> CommandSummary:
    """`code` if the command itself succeeded and only its changes were refused."""
    facts: dict[str, JsonValue] = {"files": [], "additions": 0, "deletions": 0, "dropped": code or "not_ended"}
    if paths:
        facts["objected"] = list(paths[:_MOST_FACTS])
    error = CallError(code=code, message=message, retryable=True) if code else None
    return CommandSummary(message, facts=facts, error=error)


def partly_kept(message: str, paths: tuple[str, ...]) -> CommandSummary:
    """Changes in submodules and linked worktrees were refused and left out; the summary of the other changes follows this text."""
    error = CallError(code="left_out", message=message, retryable=True)
    return CommandSummary(message, facts={"left_out": list(paths[:_MOST_FACTS])}, error=error)


def committed(
    delta: Delta, drawn: DeltaDiff | None, conflicts: tuple[str, ...], spoilt: Mapping[str, str] = MappingProxyType({})
) -> CommandSummary:
    """`spoilt` maps files that no longer parse to the reason."""
    delta = _without(delta, conflicts)
    many = len(delta.changes) > _MOST_FACTS
    named_changes = _first_named(delta) if many else delta.changes
    files: list[JsonValue] = [{"path": change.place.path, "change": change.verb} for change in named_changes]
    facts: dict[str, JsonValue] = {
        "files": files,
        "changed": sum(len(files_below(change)) or 1 for change in delta.changes),
        "additions": drawn.additions if drawn else 0,
        "deletions": drawn.deletions if drawn else 0,
    }
    lines = [
        f"{_SIGNS[change.verb]} {shown(change.place.path)}{_with_files(change)}"
        for change in named_changes[:_MAX_SHOWN]
    ]
    if len(delta.changes) > _MAX_SHOWN:
        lines.append(f"… and {len(delta.changes) - _MAX_SHOWN} more")
    if many:
        counts = count_by_folder(delta.changes)
        facts["folders"] = [count.to_json() for count in counts]
        lines.append(f"All {len(delta.changes):,} by folder:")
        lines += [shown(count.line()) for count in counts]
    if lines:
        counted = f" in the first {drawn.drawn:,} files" if drawn and drawn.drawn < len(delta.changes) else ""
        at_least = "at least " if drawn and drawn.undrawn_below and not counted else ""
        lines.insert(0, f"Changed ({at_least}+{facts['additions']} −{facts['deletions']} lines{counted}):")
    if delta.skipped:
        lines.append(f"Not kept (not regular files): {_named([skipped_path.path for skipped_path in delta.skipped])}")
    if delta.split:
        lines.append(
            f"No longer the same file as their other names (hard links): {_named([p.path for p in delta.split])}"
        )
    if spoilt:
        lines += [f"'{shown(path)}': {reason} Correct it before going on." for path, reason in spoilt.items()]
        facts["unparsable"] = dict(spoilt)
        facts["check"] = {"ok": False, "says": " ".join(f"{path}: {reason}" for path, reason in spoilt.items())}
    if not conflicts:
        return CommandSummary("\n".join(lines), drawn.text if drawn else None, facts)
    sentence = f"Left alone, because somebody changed it at that very moment: {_named(list(conflicts))}. Look at it before going on."
    facts["conflicts"] = list(conflicts[:_MOST_FACTS])
    error = CallError(code="conflict", message=sentence, retryable=True)
    return CommandSummary("\n".join([*lines, sentence]), drawn.text if drawn else None, facts, error)


def _with_files(change: PathChange) -> str:
    number = len(files_below(change))
    return f" with {number:,} {'file' if number == 1 else 'files'} in it" if number else ""


def _without(delta: Delta, conflicts: tuple[str, ...]) -> Delta:
    """Returns what was made: a path that was left alone did not change."""
    if not conflicts:
        return delta
    conflicting_paths = set(conflicts)
    return replace(
        delta,
        changes=[change for change in delta.changes if change.place.path not in conflicting_paths],
        named_changes=None,
    )


def _first_named(delta: Delta) -> list[PathChange]:
    """Returns the first few of very many changes, and every control file and everything that looks like a secret, these first."""
    named_changes = named_always(delta)
    always = {id(change) for change in named_changes}
    return [*named_changes, *islice((change for change in delta.changes if id(change) not in always), _FIRST_OF_MANY)]


def _named(paths: list[str]) -> str:
    return ", ".join(f"'{shown(path)}'" for path in paths[:10]) + (
        f" and {len(paths) - 10} more" if len(paths) > 10 else ""
    )


def _verdict(child: ChildResult, bounds: ChildLimits) -> tuple[str, CallError | None]:
    match child.how:
        case ChildEnding.TIMED_OUT:
            sentence = (
                f"Stopped: it was still running after {bounds.seconds:g} seconds. {_more_time(bounds)} A server or a "
                "watcher never ends: start it, try it and end it within one command (`server & sleep 1; curl …; kill %1`)."
            )
            return sentence, CallError.of(ToolTimedOut(sentence))
        case ChildEnding.TOO_MUCH_OUTPUT:
            sentence = (
                f"Stopped: it printed more than {bounds.output:,} bytes. Redirect its output into a file, or filter it."
            )
            return sentence, CallError.of(CommandFailed(sentence))
        case ChildEnding.DISK_FULL:
            sentence = "Stopped: the disk was nearly full. Free some room, or make it write less."
            return sentence, CallError.of(CommandFailed(sentence))
        case ChildEnding.ITSELF:
            sentence = f"exit code {child.exit_code}"
            return sentence, CallError.of(
                CommandFailed(f"The command ended with {sentence}.")
            ) if child.exit_code else None
        case _:
            assert_never(child.how)


def _more_time(bounds: ChildLimits) -> str:
    if bounds.most_seconds is None or bounds.seconds < bounds.most_seconds:
        return "Give a longer 'timeout', or make it do less."
    return "That is the longest that the setting command_timeout allows: make it do less, or ask the person to raise the setting."
