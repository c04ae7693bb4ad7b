"""Builds the complete list of what a decision grants, for a call, held changes, or a plan. Every client shows it in full. Pure.

Texts are escaped here, once. The hash of the list is part of an approval's binding, and a client may send it back.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256

import msgspec
from pydantic import JsonValue

from anycowork.domain.errors import NotAsShown
from anycowork.domain.messages import Json
from anycowork.domain.path_class import is_control_file
from anycowork.domain.plan import Budget, Plan, PlanStep
from anycowork.domain.tools import PathIntent
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, VisibleText, visible, visible_line

PAGE_ITEMS = 1_000  # sent with the decision itself, and with each page after that
_DRAWN_IN_DIFF = frozenset({"content", "edits"})
_NO_TOOLS_NAMED = VisibleText("any tool that creates or changes files; not deleting")
_NO_BUDGET = VisibleText("no limit")


class ItemKind(StrEnum):
    TOOL = "tool"
    COMMAND = "command"
    CHECK = "check"
    CALL = "call"
    PATH = "path"
    HOST = "host"
    PARAMETER = "parameter"
    STEP = "step"
    BUDGET = "budget"


@value
class DisclosedItem:
    """One granted item. `detail` names a parameter, a kind of change, a part of a budget or a step's worker; `step` is the plan
    step's id.

    `control`: a file from which editors, CI machines or agents read instructions.
    """

    kind: ItemKind
    text: VisibleText
    detail: VisibleText = VisibleText("")
    step: VisibleText = VisibleText("")
    control: bool = False

    def to_json(self) -> Json:
        body: Json = {"kind": self.kind.value, "text": self.text}
        if self.detail:
            body["detail"] = self.detail
        if self.step:
            body["step"] = self.step
        if self.control:
            body["control"] = True
        return body


@value
class Disclosure:
    """The granted items. `content` is the diff that the decision applies, or None if no diff is known."""

    items: tuple[DisclosedItem, ...]
    content: VisibleText | None = None

    @property
    def hash(self) -> str:
        disclosed = [[item.to_json() for item in self.items], self.content]
        return sha256(msgspec.json.encode(disclosed, order="sorted")).hexdigest()

    def require(self, claimed: str | None) -> None:
        """Raises: NotAsShown if the client reports a different hash. A client that sends no hash passes."""
        if claimed is not None and claimed != self.hash:
            raise NotAsShown("What was shown is not what would be granted. Reload the chat and check again.")

    def to_json(self, after: int = 0) -> Json:
        """Returns one page of items, starting after this number of items; `total` is the number of all items."""
        items: list[JsonValue] = [item.to_json() for item in self.items[after : after + PAGE_ITEMS]]
        return {"hash": self.hash, "total": len(self.items), "items": items}


def call_items(
    tool: str,
    parameters: Mapping[str, JsonValue],
    resource: str,
    *,
    network: Iterable[str] = (),
    paths: Sequence[str] = (),
    changes: Sequence[PathIntent] = (),
    drawn: bool = False,
) -> tuple[DisclosedItem, ...]:
    """Returns the items of one call, control files first among its paths. `changes` are held changes, `paths` those it would change.

    `drawn`: a diff shows what it writes, so the content is not repeated as a parameter. Nor is a list of the paths.
    """
    command = parameters.get("command")
    items = [DisclosedItem(ItemKind.TOOL, _line(tool), _line("" if resource == command else resource))]
    if isinstance(command, str):
        items.append(DisclosedItem(ItemKind.COMMAND, _text(command)))
    items += [DisclosedItem(ItemKind.HOST, _line(host)) for host in network]
    for name, argument in parameters.items():
        is_listed_below = not changes and isinstance(argument, list) and argument and argument == list(paths)
        if name != "command" and not is_listed_below and not (drawn and name in _DRAWN_IN_DIFF):
            items.append(DisclosedItem(ItemKind.PARAMETER, _text(_as_text(argument)), _line(name)))
    listed = [(change.path, _change(change)) for change in changes] or [(path, "") for path in paths]
    items += [_path(path, detail) for path, detail in sorted(listed, key=lambda entry: not is_control_file(entry[0]))]
    return tuple(items)


def disclose_plan(plan: Plan) -> Disclosure:
    """Returns everything that approving this plan allows, step by step, and the budget of its run."""
    items = [item for step in plan.steps for item in _step_items(step)]
    limits = [(name, getattr(plan.budget, name)) for name in Budget.model_fields] if plan.budget else []
    set_limits = [(name, limit) for name, limit in limits if limit is not None]
    items += [DisclosedItem(ItemKind.BUDGET, VisibleText(f"{limit:,}"), _line(name)) for name, limit in set_limits]
    if not set_limits:
        items.append(DisclosedItem(ItemKind.BUDGET, _NO_BUDGET))
    return Disclosure(tuple(items))


def _step_items(step: PlanStep) -> list[DisclosedItem]:
    step_id = _line(step.id)
    tools = [_line(tool) for tool in step.tools_needed] or ([_NO_TOOLS_NAMED] if step.paths else [])
    control_first = sorted(step.paths, key=lambda path: not is_control_file(path))
    return [
        DisclosedItem(ItemKind.STEP, _text(step.action), _worker(step), step=step_id),
        *(DisclosedItem(ItemKind.TOOL, tool, step=step_id) for tool in tools),
        *(
            DisclosedItem(ItemKind.PATH, _line(path), step=step_id, control=is_control_file(path))
            for path in control_first
        ),
        *(DisclosedItem(ItemKind.COMMAND, _text(command), step=step_id) for command in step.commands),
        *([DisclosedItem(ItemKind.CHECK, _text(step.check), step=step_id)] if step.check else []),
        *(
            DisclosedItem(ItemKind.CALL, _line(f"{planned.tool} {planned.fixed.describe(whole=True)}"), step=step_id)
            for planned in step.calls
        ),
    ]


def _worker(step: PlanStep) -> VisibleText:
    """Who carries the step out as a task of a job, where the plan says so."""
    agent = [f"agent {step.agent}"] if step.agent else []
    return _line(", ".join([*agent, *([f"role {step.role}"] if step.role else [])]))


def _path(path: str, detail: str) -> DisclosedItem:
    return DisclosedItem(ItemKind.PATH, _line(path), VisibleText(detail), control=is_control_file(path))


def _change(change: PathIntent) -> str:
    verb = "created" if change.before is None else "deleted" if change.after is None else "modified"
    return verb if change.kind == "file" else f"{verb} {change.kind}"


def _as_text(argument: JsonValue) -> str:
    return argument if isinstance(argument, str) else json.dumps(argument, ensure_ascii=False, indent=1)


def _text(raw: str) -> VisibleText:
    return visible(UntrustedText(raw))


def _line(raw: str) -> VisibleText:
    return visible_line(UntrustedText(raw))
