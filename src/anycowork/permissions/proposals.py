"""Proposes the standing rule for "for this session" and "always": a sensible generalisation of the call that asks. Pure."""

from pathlib import PurePosixPath

from anycowork.domain.fixed_arguments import arguments_of
from anycowork.domain.key_files import is_key_file
from anycowork.domain.messages import Json
from anycowork.domain.network import NETWORK, Destination
from anycowork.domain.path_class import is_control_file
from anycowork.domain.rules import EVERYTHING, Effect, Rule, RuleScope
from anycowork.permissions.patterns import is_literal
from anycowork.permissions.resources import WEB, AccessedResources
from anycowork.permissions.rules import matches

_LONGEST = 10_000
_READ = "read_file"


def proposed_rule(touched: AccessedResources, workspace: str, key_file: str | None = None) -> Json | None:
    """Return a rule for the tool on the files' folder, or for exactly this command, in this workspace.

    If the call names neither, the rule is for the tool as a whole; for a tool of an MCP server, for the tool as
    the server describes it now, with these arguments. If a rule allows the command already and only this `key_file` asks, the rule is for
    reading that file. For a tool that reads the web, the rule is for its host. None if no rule could allow the call.
    """
    if key_file is not None and touched.command is not None:
        return _rule_json(Rule("", _READ, key_file, Effect.ALLOW, RuleScope.WORKSPACE, workspace=workspace), workspace)
    if touched.other is not None and touched.other.startswith(WEB):
        host = str(touched.network[0] if len(touched.network) == 1 else Destination(touched.network[0].host))
        return _rule_json(Rule("", NETWORK, host, Effect.ALLOW, RuleScope.WORKSPACE, workspace=workspace), workspace)
    pattern = _pattern(touched)
    if pattern is None or len(pattern) > _LONGEST:
        return None
    fixed = arguments_of(touched.arguments) if touched.arguments is not None else None
    if touched.arguments is not None and fixed is None:
        return None
    rule = Rule("", touched.tool, pattern, Effect.ALLOW, RuleScope.WORKSPACE, workspace=workspace, arguments=fixed)
    return _rule_json(rule, workspace) if matches(rule, touched) else None


def _rule_json(rule: Rule, workspace: str) -> Json:
    arguments: Json = {"arguments": rule.arguments.to_json()} if rule.arguments is not None else {}
    return {
        "tool": rule.tool,
        "resource": rule.resource,
        "effect": rule.effect.value,
        "scope": rule.scope.value,
        "workspace": workspace,
        **arguments,
    }


def _pattern(touched: AccessedResources) -> str | None:
    if touched.command:
        return _words(touched)
    if touched.other:
        return touched.other if touched.unversioned else EVERYTHING
    return _folder(touched.paths)


def _words(touched: AccessedResources) -> str | None:
    """Return the command's text. A command that ends in a lone `*` cannot become a rule, where `*` would mean any words."""
    text = touched.command.text if touched.command else ""
    return None if not text or text == EVERYTHING or text.endswith(" *") else text


def _folder(paths: tuple[str, ...]) -> str | None:
    """Return `/<folder>/*`; for a control file or key file its exact path; for several folders their common parent with `/**`."""
    if any(is_control_file(path) or is_key_file(path) for path in paths):  # a rule for the folder would not cover it
        return paths[0] if len(paths) == 1 and is_literal(paths[0]) else None
    parents = {PurePosixPath(path).parent for path in paths}
    if not parents or any("*" in str(parent) or "?" in str(parent) for parent in parents):
        return None
    if len(parents) == 1:
        return f"{str(parents.pop()).rstrip('/')}/*"
    shared = list(zip(*(parent.parts for parent in parents), strict=False))
    same = [column[0] for column in shared if len(set(column)) == 1]
    depth = next((position for position, column in enumerate(shared) if len(set(column)) > 1), len(same))
    return f"{str(PurePosixPath(*same[:depth])).rstrip('/')}/**"
