"""How risky a call is, and why, in words that a person reads on the approval card. Pure."""

import re
from collections.abc import Sequence

from anycowork.domain.approvals import Risk
from anycowork.domain.network import Destination
from anycowork.domain.roles import Permission
from anycowork.domain.steering import is_build_script, path_steers
from anycowork.domain.tools import Call, ToolSpec

_SECRETS = re.compile(
    r"(^|/)(\.env[^/]*|\.ssh|\.aws|\.netrc|id_[a-z0-9]+|[^/]*(secret|credential|token|\.pem|\.key)[^/]*)(/|$)", re.I
)
_NETWORK = re.compile(
    r"\b(curl|wget|ssh|scp|rsync|nc|ncat|telnet|ftp|git\s+(push|pull|fetch|clone)|npm|pip|uv|cargo|apt(-get)?)\b"
)
_DESTRUCTIVE = re.compile(r"\b(rm|rmdir|shred|dd|mkfs\S*|truncate|git\s+(reset|clean|checkout))\b")
_PRIVILEGED = re.compile(r"\b(sudo|su|doas|pkexec|chown|setcap)\b")

_KEYS = re.compile(
    r"(^|/)(\.env(?!\.(example|sample|template)$)[^/]*|\.ssh/.*|\.aws/.*|\.netrc|\.pgpass|id_(rsa|dsa|ecdsa|ed25519)|[^/]+\.(pem|key|p12|pfx))$"
)


def holds_keys(resource: str) -> bool:
    """By its name the file holds keys or passwords: narrower than what only looks like a secret, since it makes reading ask."""
    return _KEYS.search(resource) is not None


def names_secrets(resource: str) -> bool:
    """Whether a command's words name what looks like a secret: its output would show it to the model."""
    return any(_SECRETS.search(word) for word in resource.split())


def judge(
    spec: ToolSpec, call: Call, resource: str, network: Sequence[Destination] = ()
) -> tuple[Risk, tuple[str, ...]]:
    """The level, and every reason for it."""
    reasons = [*_of_permissions(spec), *_of_network(network), *_of_resource(resource), *_of_provenance(call)]
    high = [text for level, text in reasons if level is Risk.HIGH]
    if high:
        return Risk.HIGH, tuple(text for _, text in reasons)
    return (Risk.LOW if spec.read_only else Risk.MEDIUM), tuple(text for _, text in reasons)


def _of_permissions(spec: ToolSpec) -> list[tuple[Risk, str]]:
    found: list[tuple[Risk, str]] = []
    if spec.plugin is not None:
        found.append((Risk.LOW, f"It is the code of the plugin '{spec.plugin}', in the sandbox."))
    if spec.runs_commands:
        held = (
            "It runs a command, in the sandbox."
            if spec.contained
            else "It runs a command, and this machine gives no sandbox."
        )
        found.append((Risk.MEDIUM if spec.contained else Risk.HIGH, held))
    if Permission.DELETE_FILES in spec.permissions and Permission.CREATE_FILES not in spec.permissions:
        found.append((Risk.HIGH, "It deletes."))
    if Permission.WRITE_FILES in spec.permissions:
        found.append((Risk.MEDIUM, "It changes an existing file."))
    if Permission.CREATE_FILES in spec.permissions:
        found.append((Risk.MEDIUM, "It creates or moves a file."))
    return found


def _of_network(network: Sequence[Destination]) -> list[tuple[Risk, str]]:
    if not network:
        return []
    named = ", ".join(map(str, network))
    return [(Risk.HIGH, f"It can send what it reads to, and take orders from, {named}.")]


def _of_resource(resource: str) -> list[tuple[Risk, str]]:
    if resource.startswith("command:"):
        words = resource.removeprefix("command:")
        in_words = (
            (_PRIVILEGED, "It asks for more rights (sudo or the like)."),
            (_DESTRUCTIVE, "It may delete or overwrite."),
            (_NETWORK, "It may use the network."),
            (_SECRETS, "It names what looks like a secret."),
        )
        return [(Risk.HIGH, text) for pattern, text in in_words if pattern.search(words)]
    secret = [(Risk.HIGH, "The path looks like a secret.")] if _SECRETS.search(resource) else []
    if path_steers(resource):
        return [*secret, (Risk.HIGH, "The file steers tools, editors or agents.")]
    script = "Package managers or build tools run what this file says." if is_build_script(resource) else ""
    return [*secret, *([(Risk.MEDIUM, script)] if script else [])]


def _of_provenance(call: Call) -> list[tuple[Risk, str]]:
    found: list[tuple[Risk, str]] = []
    if not call.provenance.whole_reply:
        found.append((Risk.HIGH, "The call stood inside other text; it may be quoted rather than meant."))
    if call.provenance.in_tool_result:
        found.append(
            (Risk.HIGH, "An earlier tool result holds this call or orders it: a file or a program may have planted it.")
        )
    return found
