"""Output of a headless run while it works: compact lines for people, or one event per line for programs."""

import json
from dataclasses import field
from typing import Protocol

from anycowork.cli.job_tables import task_outcome
from anycowork.cli.run_outcome import RunEnding, RunOutcome
from anycowork.client.console import Console, shortened, strip_controls
from anycowork.client.progress_lines import progress_line
from anycowork.domain.errors import NotVerified
from anycowork.domain.evidence import evidence_line
from anycowork.domain.messages import Json, json_object
from anycowork.domain.values import mutable_value
from anycowork.domain.visible_text import bare_lines

DIFF_LINES = 12
LINE_WIDTH = 110


class Reporter(Protocol):
    def show(self, data: bytes, event: Json) -> None:
        """Shows one event: as it was sent, and parsed."""

    def note(self, text: str) -> None:
        """Shows something that a person should know before the run starts."""

    def finish(self, outcome: RunOutcome, *, chat_id: str | None, advice: list[str]) -> None:
        """Shows the end. `advice` says how to continue if a person is needed."""


@mutable_value
class JsonReporter:
    """Prints every event as it came, then one line of type `result`."""

    out: Console
    _notes: list[str] = field(default_factory=list)

    def show(self, data: bytes, event: Json) -> None:
        self.out.json(data.decode())

    def note(self, text: str) -> None:
        self._notes.append(text)

    def finish(self, outcome: RunOutcome, *, chat_id: str | None, advice: list[str]) -> None:
        result: Json = {
            "type": "result",
            "status": outcome.ending.value,
            "exit_code": outcome.exit_code,
            "context_id": chat_id,
            "text": outcome.text,
            "error": outcome.error,
            "plan": outcome.plan,
            "evidence": outcome.evidence,
            "waiting_for": list(outcome.waiting),
            "advice": list(advice),
            "notes": list(self._notes),
        }
        self.out.json(json.dumps(result, ensure_ascii=False))


@mutable_value
class TextReporter:
    """Progress on stderr, only the answer on stdout, so that `anycowork run … > answer.txt` holds the answer and nothing else.

    A plan goes to stdout as JSON: the input of `--approved-plan`.
    """

    out: Console
    progress: Console
    _role: str = field(default="")
    _task: str = field(default="")  # the task that the shown message belongs to: tasks of a job run side by side

    def show(self, data: bytes, event: Json) -> None:
        if event.get("type") == "turn-started" and isinstance(turn := event.get("turn"), dict):
            self._show_role(str(turn.get("role") or ""))  # at once: a slow model may take long with everything else
        elif event.get("type") == "message" and isinstance(message := event.get("message"), dict):
            self._show_message(message)
        elif event.get("type") == "workflow-progress" and isinstance(run := event.get("workflow"), dict):
            self._show_step(event, run)
        elif event.get("type") in ("model-retry", "mcp-wait"):
            self._show_wait(event)
        elif event.get("type") in ("task-started", "task-completed") and isinstance(task := event.get("task"), dict):
            self._show_task(task)

    def note(self, text: str) -> None:
        self.progress.line(self.progress.paint(strip_controls(text), "yellow"))

    def finish(self, outcome: RunOutcome, *, chat_id: str | None, advice: list[str]) -> None:
        if outcome.ending is not RunEnding.DONE:
            cause = "anycowork" if outcome.ending is RunEnding.USAGE else outcome.ending.value
            self.progress.line(self.progress.paint(f"{cause}: ", "red") + strip_controls(outcome.error or ""))
        if outcome.evidence is not None and outcome.code != NotVerified.code:  # of which the error tells the evidence
            self.progress.line(self.progress.paint(strip_controls(evidence_line(outcome.evidence)), "dim"))
        for line in advice:
            self.progress.line(line)
        if outcome.plan is not None:
            self.out.json(json.dumps(outcome.plan, indent=2, ensure_ascii=False))
        elif outcome.text:
            self.out.line(strip_controls(outcome.text) if self.out.stream.isatty() else outcome.text)

    def _show_message(self, message: Json) -> None:
        self._task = f"[{task}] " if (task := message.get("task_id")) else ""
        self._show_role(str(message.get("agent_role") or ""))
        fields = json_object(message.get("payload"))
        match message.get("message_type"):
            case "tool_call":
                self._show_call(fields)
            case "tool_result" if fields.get("tool") != "tasks":  # which is what a job tells its agents
                self._show_result(fields, str(message.get("content") or ""))
            case "role_change":
                self.progress.line(shortened(strip_controls(str(message.get("content"))), LINE_WIDTH))
            case _:
                pass  # the answer itself goes to stdout at the end

    def _show_step(self, event: Json, run: Json) -> None:
        if run.get("status") == "running":
            step = shortened(strip_controls(progress_line(event)), LINE_WIDTH)
            self.progress.line(self.progress.paint(step, "bold"))

    def _show_wait(self, event: Json) -> None:
        task = f"[{task}] " if (task := event.get("task_id")) else ""
        if line := progress_line(event):
            self.progress.line(self.progress.paint(shortened(strip_controls(f"{task}{line}"), LINE_WIDTH), "yellow"))

    def _show_task(self, task: Json) -> None:
        line = f"Task {task.get('id')} ({task.get('status')}): {task_outcome(task)}"
        self.progress.line(self.progress.paint(shortened(strip_controls(line), LINE_WIDTH), "bold"))

    def _show_role(self, role: str) -> None:
        if role and role != self._role:
            self._role = role
            self.progress.line(self.progress.paint(f"[{role}]", "cyan"))

    def _show_call(self, call: Json) -> None:
        parameters = call.get("parameters")
        arguments = parameters.items() if isinstance(parameters, dict) else ()
        subject_first = sorted(arguments, key=lambda parameter: parameter[0] in ("content", "edits"))
        subject = ", ".join(_named_value(name, value) for name, value in subject_first)
        self._line(shortened(strip_controls(f"→ {call.get('tool')} {subject}"), LINE_WIDTH))

    def _show_result(self, result: Json, content: str) -> None:
        fine = result.get("status") == "ok"
        sign = self.progress.paint("✓", "green") if fine else self.progress.paint(f"✗ {result.get('status')}", "red")
        self._line(f"  {sign} {shortened(strip_controls(content), LINE_WIDTH - 6)}")
        if isinstance(diff := result.get("diff"), str):
            self._show_diff(diff)

    def _show_diff(self, diff: str) -> None:
        changed = [line for line in bare_lines(diff) if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
        for line in changed[:DIFF_LINES]:
            style = "green" if line.startswith("+") else "red"
            self._line("    " + self.progress.paint(strip_controls(line)[:LINE_WIDTH], style))
        if len(changed) > DIFF_LINES:
            self._line(f"    … {len(changed) - DIFF_LINES} more changed lines")

    def _line(self, text: str) -> None:
        self.progress.line(f"{strip_controls(self._task)}{text}")


def _named_value(name: str, value: object) -> str:
    """Returns a text as it is, and of a list of objects how many there are: what edits do is in the diff."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return f"{name}={len(value)}"
    return f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
