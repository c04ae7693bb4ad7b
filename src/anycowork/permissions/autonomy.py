"""Decides what each autonomy level of a chat allows without asking. Pure; the gate checks role, rules, plan and provenance before."""

from anycowork.domain.approvals import Risk
from anycowork.domain.chats import Autonomy
from anycowork.domain.control_files import is_control_file
from anycowork.domain.key_files import looks_secret
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, ToolSpec
from anycowork.permissions.policy import PolicyResult
from anycowork.permissions.resources import COMMAND_TOOL
from anycowork.permissions.risk import assess_risk, may_show_secrets

_EDITS = frozenset({"create_file", "update_file", "move_file"})


def covers(autonomy: Autonomy, spec: ToolSpec, call: Call, prepared: Prepared, policy: PolicyResult) -> bool:
    """Whether this level allows the call. `edits`: create, change and move files. `sandboxed`: also commands, if the sandbox
    contains them and they use no network.

    Control files and secrets ask at every level, and so does every command that is risky or cannot be analyzed.
    """
    if autonomy is Autonomy.ASK or spec.foreign or prepared.network or prepared.key_files:
        return False
    if any(is_control_file(path) or looks_secret(path) for path in policy.touched.paths):
        return False
    if spec.name in _EDITS:
        return bool(policy.touched.paths)
    if autonomy is not Autonomy.SANDBOXED or spec.name != COMMAND_TOOL or not spec.contained:
        return False
    risk, _ = assess_risk(spec, call, prepared.resource, workspace=policy.workspace)
    return risk is not Risk.HIGH and not may_show_secrets(prepared.resource)
