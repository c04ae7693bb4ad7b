"""Assesses how risky a call is, and why, in sentences for the approval card. Pure.

Low: it only reads. Medium: it changes the workspace, and a checkpoint can undo that. High: it deletes what no checkpoint covers, uses
the network, asks for more rights, runs without a sandbox, comes from a suspicious place, or accesses control files, secrets or paths
outside the workspace.
"""

from collections.abc import Sequence

from anycowork.domain.approvals import Risk
from anycowork.domain.control_files import is_build_script, is_control_file
from anycowork.domain.key_files import looks_secret
from anycowork.domain.network import Destination
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Call, ToolSpec
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.permissions.command_risk import deletes, high_risks, may_reach_secrets, only_reads
from anycowork.permissions.shell.parser import parse

_COMMAND = "command:"


def may_show_secrets(resource: str) -> bool:
    """Whether running it could show a secret to the model: it names one, or has words that are known only when it runs."""
    if resource.startswith(_COMMAND):
        return may_reach_secrets(parse(resource.removeprefix(_COMMAND)))
    return looks_secret(resource)


def assess_risk(
    spec: ToolSpec,
    call: Call,
    resource: str,
    network: Sequence[Destination] = (),
    *,
    workspace: str = "",
    key_files: Sequence[str] = (),
) -> tuple[Risk, tuple[str, ...]]:
    """Return the level and all reasons for it."""
    reasons = [
        *_of_permissions(spec),
        *_of_network(network),
        *_of_key_files(key_files),
        *_of_resource(spec, resource, workspace),
        *_of_provenance(call),
    ]
    texts = tuple(text for _, text in reasons)
    if any(level is Risk.HIGH for level, _ in reasons):
        return Risk.HIGH, texts
    return (Risk.LOW if _reads(spec, resource) else Risk.MEDIUM), texts


def _reads(spec: ToolSpec, resource: str) -> bool:
    if spec.read_only:
        return True
    return spec.contained and resource.startswith(_COMMAND) and only_reads(parse(resource.removeprefix(_COMMAND)))


def _of_permissions(spec: ToolSpec) -> list[tuple[Risk, str]]:
    found: list[tuple[Risk, str]] = []
    if spec.plugin is not None:
        found.append((Risk.LOW, f"It is the code of the plugin '{spec.plugin}', in the sandbox."))
    if spec.server is not None:
        found.append((Risk.LOW if spec.read_only else Risk.MEDIUM, _of_server(spec)))
    if spec.delegate is not None:
        found.append((Risk.MEDIUM, f"It starts the agent '{spec.delegate}', on a private copy in the sandbox."))
    if spec.runs_commands:
        held = (
            "It runs a command, in the sandbox."
            if spec.contained
            else "It runs a command, and this machine has no sandbox."
        )
        found.append((Risk.MEDIUM if spec.contained else Risk.HIGH, held))
    if Permission.DELETE_FILES in spec.permissions and Permission.CREATE_FILES not in spec.permissions:
        found.append((Risk.MEDIUM, "It deletes; a checkpoint keeps what was there."))
    if Permission.WRITE_FILES in spec.permissions:
        found.append((Risk.MEDIUM, "It changes an existing file."))
    if Permission.CREATE_FILES in spec.permissions:
        found.append((Risk.MEDIUM, "It creates or moves a file."))
    return found


def _of_server(spec: ToolSpec) -> str:
    if spec.read_only:
        return f"It is a tool of the MCP server '{spec.server}', which you marked as read-only."
    return f"It is a tool of the MCP server '{spec.server}'. What that does elsewhere cannot be undone here."


def _of_network(network: Sequence[Destination]) -> list[tuple[Risk, str]]:
    if not network:
        return []
    named = ", ".join(map(str, network))
    return [(Risk.HIGH, f"It can send data to {named}, and receive instructions from there.")]


def _of_key_files(key_files: Sequence[str]) -> list[tuple[Risk, str]]:
    if not key_files:
        return []
    named = ", ".join(visible_line(UntrustedText(path.lstrip("/"))) for path in key_files)
    return [(Risk.HIGH, f"It can read files that may hold keys or passwords: {named}.")]


def _of_resource(spec: ToolSpec, resource: str, workspace: str) -> list[tuple[Risk, str]]:
    if resource.startswith(_COMMAND):
        command = parse(resource.removeprefix(_COMMAND))
        found = [(Risk.HIGH, text) for text in high_risks(command, workspace)]
        if deletes(command) and spec.contained and not found:
            found.append((Risk.MEDIUM, "It deletes or overwrites; a checkpoint keeps what was there."))
        return found
    secret = [(Risk.HIGH, "The path looks like a secret.")] if looks_secret(resource) else []
    if spec.read_only:
        return secret
    if is_control_file(resource):
        return [*secret, (Risk.HIGH, "The file controls tools, editors or agents.")]
    script = "Package managers or build tools run what this file says." if is_build_script(resource) else ""
    return [*secret, *([(Risk.MEDIUM, script)] if script else [])]


def _of_provenance(call: Call) -> list[tuple[Risk, str]]:
    found: list[tuple[Risk, str]] = []
    if not call.provenance.whole_reply:
        found.append((Risk.HIGH, "The call was inside other text; it may be a quotation."))
    if call.provenance.in_tool_result:
        found.append(
            (
                Risk.HIGH,
                "An earlier tool result or an attached file contains or demands this call: a file or a program may have planted it.",
            )
        )
    return found
