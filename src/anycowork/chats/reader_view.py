"""Leaves out of answers, events and exports what a reader who decides nothing may not be told: the content of key files, and of
files that rules keep from being read or ask about, and values that look like secrets. Whoever may decide in chats reads them."""

import re
from collections.abc import Callable, Iterator, Mapping

from pydantic import JsonValue

from anycowork.domain.messages import Json, Message
from anycowork.domain.person_commands import PERSON_COMMAND
from anycowork.domain.ports import ContentReader, Telling
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.secret_values import REVEALED, SecretHider, as_exported
from anycowork.domain.values import replace
from anycowork.permissions.rules import RuleIndex
from anycowork.store.sql.rules import Rules

WITHHELD = "Not shown: only people who may decide in chats read this file."
WITHHELD_OUTPUT = "Not shown: only people who may decide in chats read what a person's own command printed."
WITHHELD_PASSAGE = "Not shown: only people who may decide in chats read what the agent had read."
_PATHS = ("path", "to", "key_files", "resource", "key_files_read", "protected_paths")
_TELLS_NOTHING = frozenset({*_PATHS, "command", "timeout", "network", "start_line", "end_line", "depth"})
_HOOK_RUN = frozenset({"decision", "reason", "failed", "adds", "checks"})
_OF_FILE: Json = {"content": WITHHELD, "about": "", "description": "", "hooks": [], "sha256": ""}
"""What answers about instructions, hooks, workflows and skills tell of their file."""
_HASHES = frozenset({"sha256", "before", "after"})  # of a short content: who guesses it can tell
_DIFFS = frozenset({"diff", "text"})
_SIDES = ("--- ", "+++ ")
_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")


class ReaderViews:
    """Says what each reader is shown. The rules of all workspaces count together: a path that is kept back in one of them is kept back."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._known: tuple[tuple[str, ...], RuleIndex] = ((), RuleIndex(()))

    async def of(self, principal: Principal) -> "ReaderView | None":
        """Returns the view of a reader who may not be told everything; None for everybody else."""
        if Scope.DECIDE in principal.scopes or Scope.READ not in principal.scopes:
            return None
        rules = tuple(await self._rules.all())
        if self._known[0] != (state := tuple(map(repr, rules))):
            self._known = state, RuleIndex(rules)
        hidden = self._known[1].hidden_from()
        return ReaderView(lambda path: hidden.may_be_told(path, ContentReader.VIEWER) is not Telling.TOLD)


class ReaderView:
    """`protects` decides about a path from the root of its workspace."""

    def __init__(self, protects: Callable[[str], bool]) -> None:
        self._protects = protects

    def message(self, message: Message) -> Message:
        """Returns the message without contents that its reader may not be told."""
        payload = message.payload or {}
        content = WITHHELD if self._is_about_protected(payload) else message.content
        return as_exported(
            replace(message, content=content, payload=self.json(payload) if payload else message.payload)
        )

    def json(self, value: Json) -> Json:
        """Returns the object as `body` does."""
        body = self.shown(value)
        assert isinstance(body, dict)
        return body

    def shown(self, json_value: JsonValue) -> JsonValue:
        """Returns JSON without contents that its reader may not be told, in any call, result, approval, message and difference."""
        if isinstance(json_value, list):
            return [self.shown(item) for item in json_value]
        if not isinstance(json_value, dict):
            return SecretHider().json(json_value)
        body = self._without_contents(json_value) if self._is_about_protected(json_value) else json_value
        if isinstance(command := body.get(PERSON_COMMAND), dict) and "output" in command:
            body = {**body, PERSON_COMMAND: {**command, "output": WITHHELD_OUTPUT}}
        if isinstance(endorsement := body.get("endorsement"), dict):
            body = {**body, "endorsement": {**endorsement, "passage": WITHHELD_PASSAGE}}
        if body.keys() >= _HOOK_RUN:  # a hook is told what calls read and write
            body = {**body, "reason": WITHHELD_PASSAGE, "adds": "", "checks": []}
        if "tool" not in body and isinstance(path := body.get("path"), str) and self._protects(path.lstrip("/")):
            body = {**body, **{name: nothing for name, nothing in _OF_FILE.items() if name in body}}
        body = self._without_versions(body)
        payload = body.get("payload")
        if "message_type" in body and isinstance(payload, dict) and self._is_about_protected(payload):
            body = {**body, "content": WITHHELD}
        return {
            name: self._difference(value) if name in _DIFFS and isinstance(value, str) else self.shown(value)
            for name, value in body.items()
        }

    def _is_about_protected(self, body: Mapping[str, JsonValue]) -> bool:
        conflict = body.get("conflict")
        if isinstance(conflict, dict):
            return any(map(self._protects, _paths_in(conflict)))
        if REVEALED in body:
            return True
        if body.get("tool") == "reply":  # what is wrong with a reply may quote the call that failed before it
            return True
        return "tool" in body and any(map(self._protects, _paths_in(body)))

    def _without_versions(self, body: Json) -> Json:
        """Returns a conflict of versions without them if its file is protected, and an answer without a file that was merged by hand."""
        if {"path", "state", "workspace"} <= body.keys() and any(map(self._protects, _paths_in(body))):
            return {**body, "task": WITHHELD, "workspace": WITHHELD, "draft": None}
        return {**body, "content": WITHHELD} if "question_id" in body and "content" in body else body

    def _without_contents(self, body: Json) -> Json:
        """Returns a call, result or approval with its paths and its command, but without texts."""
        changed = dict(body)
        if isinstance(parameters := body.get("parameters"), dict):
            changed["parameters"] = {
                name: value if name in _TELLS_NOTHING else WITHHELD for name, value in parameters.items()
            }
        for name in ("diff", "content", "output", "question"):
            if isinstance(body.get(name), str):
                changed[name] = WITHHELD
        if isinstance(facts := body.get("facts"), dict):
            changed["facts"] = {name: fact for name, fact in facts.items() if name not in _HASHES}
        if isinstance(error := body.get("error"), dict):
            changed["error"] = {**error, "message": WITHHELD}
        if isinstance(body.get("reasons"), list):  # a hook that asks may quote the call
            changed["reasons"] = [WITHHELD]
        if isinstance(disclosure := body.get("disclosure"), dict):
            changed["disclosure"] = {**disclosure, "items": []}
        return changed

    def _difference(self, text: str) -> str:
        """Returns a unified difference without the lines of protected files."""
        if not any(side in text for side in _SIDES):
            return text
        lines: list[str] = []
        is_withheld, hunk = False, _HunkLines()
        for line in text.split("\n"):
            if hunk.takes(line):  # a line of a file may look like the beginning of another file's difference
                is_withheld = is_withheld or (line.startswith(_SIDES) and self._protects(_path_of_side(line)))
                if not is_withheld:
                    lines.append(line)
            elif line.startswith(_SIDES):
                is_withheld = (is_withheld and line.startswith("+++ ")) or self._protects(_path_of_side(line))
                lines.append(line)
                if is_withheld and line.startswith("+++ "):
                    lines.append(f"@@ {WITHHELD} @@")
            elif not is_withheld:
                lines.append(line)
        return "\n".join(lines)


class _HunkLines:
    """Counts the lines that belong to the hunk of a unified difference, by the numbers in its head."""

    def __init__(self) -> None:
        self._old = self._new = 0

    def takes(self, line: str) -> bool:
        """Whether this line is one of a hunk; a head begins the next one."""
        if self._old > 0 or self._new > 0:
            self._old -= not line.startswith(("+", "\\"))
            self._new -= not line.startswith(("-", "\\"))
            return True
        if head := _HUNK.match(line):
            self._old, self._new = (1 if count is None else int(count) for count in head.groups())
        return False


def _path_of_side(line: str) -> str:
    path = line[4:].split("\t", 1)[0].strip('"')
    return path[2:] if path.startswith(("a/", "b/")) else path


def _paths_in(body: Mapping[str, JsonValue]) -> Iterator[str]:
    for part in (body, body.get("parameters"), body.get("facts")):
        for name in _PATHS if isinstance(part, dict) else ():
            value = part.get(name) if isinstance(part, dict) else None
            for path in value if isinstance(value, list) else [value]:
                if isinstance(path, str):
                    yield path.lstrip("/")
