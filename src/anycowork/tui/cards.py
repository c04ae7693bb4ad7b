"""Renders each message of a chat for a terminal. Pure: takes JSON, returns renderables.

All text comes from a model, a file or a program: control characters are removed, and it is never read as markup.
"""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from anycowork.client.console import printed_text, shortened, strip_controls
from anycowork.client.disclosures import endorsement_text, items_below_head
from anycowork.domain.messages import Json, json_object, json_objects
from anycowork.domain.person_commands import PERSON_COMMAND, CommandEnd
from anycowork.domain.tools import CallStatus
from anycowork.domain.values import value
from anycowork.domain.visible_text import bare_lines
from anycowork.tui.read_tracking_scroll import disclosed_lines

SHORT_LINES = 8
OUTPUT_LINES = 24  # of a command that a person ran
LINE_WIDTH = 160
_CHANGED = ("green", "red")  # how changed lines of a diff look
_SUBJECTS = ("command", "path", "to", "pattern", "query", "name")
_TEXTS = ("content", "edits")
_PAUSES = {"too_many_steps", "out_of_time", "limit_reached", "steps_open", "context_full"}  # F3 continues: no fault
LONGEST = 20_000  # characters of one message that are drawn; the web page shows the rest


@value
class Card:
    """`whole` is set where `short` leaves something out. `look` is a class of the style sheet."""

    look: str
    short: RenderableType
    whole: RenderableType | None = None


def card_of(message: Json) -> Card | None:
    """Returns the card of a message; None if it has none."""
    content, payload = str(message.get("content") or ""), json_object(message.get("payload"))
    match message.get("message_type"):
        case "tool_call":
            return Card("call", call_line(payload))
        case "tool_result":
            return _result_card(payload, content)
        case "question":
            return Card("question", question_text(payload))
        case "review":
            return Card("plan", _review_text(payload))
        case "role_change":
            return Card("note", Text(strip_controls(content)))
        case "text" if message.get("role") == "system" and payload.get(PERSON_COMMAND):
            return _own_command_card(json_object(payload.get(PERSON_COMMAND)))
        case "text" if message.get("role") == "user" and payload.get("plan_id"):
            return Card("note", Text("You approved the plan."))  # its text is the plan above, for the model to read
        case _:
            return _words_card(message, content, payload)


def _words_card(message: Json, content: str, payload: Json) -> Card | None:
    if not content.strip():
        return None
    if message.get("role") == "user":
        return Card("user", Text(_bounded(content)))
    if message.get("role") == "assistant":
        return Card("agent", Markdown(_bounded(content), hyperlinks=False))
    fault = json_object(payload.get("error")).get("code")
    return Card("error" if fault and fault not in _PAUSES else "note", Text(_bounded(content)))


def thought_card(message: Json) -> Card | None:
    """Shows the model's reasoning, folded."""
    reasoning = message.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        return None
    word_count = len(reasoning.split())
    return Card("thought", Text(f"thought, {word_count} words"), Text(_bounded(reasoning)))


def call_line(call: Json) -> Text:
    """Shows the tool and its target; whole files are in the diff."""
    parameters = json_object(call.get("parameters"))
    subject = [str(parameters[name]) for name in _SUBJECTS if name in parameters]
    others = [f"{name}={value!s}" for name, value in parameters.items() if name not in (*_SUBJECTS, *_TEXTS)]
    line = Text(f"→ {_own_work(call) or strip_controls(str(call.get('tool')))} ", style="bold")
    return line.append(shortened(strip_controls(" ".join([*subject, *others])), LINE_WIDTH), style="not bold dim")


def _own_work(call: Json) -> str:
    """Says what the server itself did with the call; empty if the agent made it."""
    if call.get("restores"):
        return "undid changes:"
    if not call.get("check"):
        return ""
    return "check before the work:" if call.get("baseline") else "check:"


def _result_card(result: Json, content: str) -> Card:
    status = str(result.get("status"))
    if status == CallStatus.DENIED:
        return Card("result", Text("✗ Denied.", style="bold red").append(_denial_reason(content), style="default"))
    sign = Text("✓ ", style="green") if status == "ok" else Text(f"✗ {strip_controls(status)} ", style="bold red")
    first, *more_lines = _bounded(content).strip().splitlines() or [""]
    head = sign.append(first, style="default")
    hidden, diff = _hidden_values(result), result.get("diff")
    if isinstance(diff, str):
        return _folded("result", head, [*hidden, *_new_errors(result)], [*diff_lines(diff)])
    return _folded("result", head, [*(Text(f"  {line}", style="dim") for line in more_lines), *hidden], [])


def _hidden_values(result: Json) -> list[Text]:
    """Shows which values no model is told."""
    match result.get("hidden_values"):
        case [str(), *_] as kinds:
            return [Text(f"  The agent is not shown: {strip_controls(', '.join(map(str, kinds)))}.", style="yellow")]
    return []


def _new_errors(result: Json) -> list[Text]:
    """Shows what a language server says against an edit, before the diff: the model was told of it."""
    match json_object(result.get("facts")).get("diagnostics_pending"):
        case {"server": str(server)}:
            pending = Text(
                f"  {strip_controls(server)} has not looked at it yet; errors come with a later result", "yellow"
            )
            return [pending, *_told_errors(result)]
    return _told_errors(result)


def _told_errors(result: Json) -> list[Text]:
    match json_object(result.get("facts")).get("diagnostics"):
        case {"server": str(server), "count": int(count), "errors": list(errors)}:
            head = f"  {count} new {'error' if count == 1 else 'errors'} ({strip_controls(server)})"
            diagnostics = [error for error in errors if isinstance(error, dict)]
            lines = [f"  {error.get('path')}:{error.get('line')}: {error.get('message')}" for error in diagnostics]
            return [Text(head, style="yellow"), *(Text(_bounded(line), style="yellow") for line in lines)]
    return []


def _denial_reason(content: str) -> str:
    """A denial tells the model what to do next; the person reads only the reason that was given."""
    reason = content.partition(" They said: ")[2].rpartition(" Do not try it again")[0]
    return f" Reason: {_bounded(reason)}" if reason else ""


def _own_command_card(command: Json) -> Card:
    """Shows the person's own command: when it starts its words, when it has ended the last lines that it printed and how it ended."""
    command_text = strip_controls(str(command.get("command")))
    if "ended" not in command:
        return Card("user", Text(f"$ {command_text}"))
    output, no_undo = str(command.get("output") or ""), command.get("no_undo")
    lines = [Text(f"  {line}") for line in _tail(output).splitlines()]
    fine = command.get("ended") == CommandEnd.EXITED and command.get("exit_code") == 0
    end = Text("✓ " if fine else "✗ ", style="green" if fine else "bold red")
    end.append(f"{shortened(command_text, LINE_WIDTH // 2)}: {_own_command_end(command)}", style="default")
    last = [end, *([Text(f"  It cannot be undone: {strip_controls(str(no_undo))}", style="yellow")] if no_undo else [])]
    if len(lines) <= OUTPUT_LINES:
        return Card("result", Group(*lines, *last))
    more = Text(f"  … {len(lines) - OUTPUT_LINES} earlier lines", style="dim italic")
    return Card("result", Group(more, *lines[-OUTPUT_LINES:], *last), Group(*lines, *last))


def _own_command_end(command: Json) -> str:
    code, files = command.get("exit_code"), command.get("files")
    how = f"exit code {code}" if code is not None else str(command.get("ended")).replace("_", " ")
    changed = f", {files} {'file' if files == 1 else 'files'} changed" if isinstance(files, int) and files else ""
    return f"{strip_controls(how)}{changed}"


def _tail(output: str) -> str:
    """Of a long output the end is shown: there stands what went wrong."""
    tail = printed_text(output[-LONGEST:])
    return tail if len(output) <= LONGEST else f"… {len(output) - LONGEST:,} earlier characters\n{tail}"


def _folded(look: str, head: Text, lines: list[Text], diff: list[Text]) -> Card:
    """Of a long diff the short form begins at the first changed line: the file's name stands above it."""
    all_lines = [*lines, *diff]
    if len(all_lines) <= SHORT_LINES:
        return Card(look, Group(head, *all_lines))
    changed = next((number for number, line in enumerate(diff) if line.style in _CHANGED), 0)
    short_lines = [*lines, *diff[changed:]][:SHORT_LINES]
    missing = len(all_lines) - len(short_lines)
    more = Text(f"  … {missing} more {'line' if missing == 1 else 'lines'}", style="dim italic")
    return Card(look, Group(head, *short_lines, more), Group(head, *all_lines))


def diff_lines(diff: str, *, complete: bool = False) -> Iterator[Text]:
    """Yields the coloured lines of a unified diff."""
    for line in bare_lines(strip_controls(diff) if complete else _bounded(diff)):
        heading = line.startswith(("--- ", "+++ "))
        style = "bold" if heading else {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
        yield Text(f"  {line}", style=style)


def question_text(question: Json) -> RenderableType:
    lines = [Text(f"? {strip_controls(str(question.get('question')))}", style="bold")]
    if context := question.get("context"):
        lines.append(Text(f"  {strip_controls(str(context))}", style="dim"))
    for option in json_objects(question.get("options")):
        lines.append(Text(f"  · {strip_controls(str(option.get('label')))}").append(_described(option), style="dim"))
    return Group(*lines)


def _described(option: Json) -> str:
    return f"  {strip_controls(str(option['description']))}" if option.get("description") else ""


def approval_text(approval: Json) -> RenderableType:
    """Shows one call that needs approval: what, why, network destinations, and its changes; and its risk where that is high."""
    head = Text(f"{strip_controls(str(approval.get('tool')))}  ", style="bold")
    head.append(strip_controls(_subject(str(approval.get("resource") or ""))))
    if approval.get("risk") == "high":
        head.append("  high risk", style="bold red")
    if approval.get("outside_plan"):
        head.append("  not in the plan", style="yellow")
    lines = [head]
    if approval.get("held"):
        lines.append(
            Text("It has run; its changes wait for your approval. If denied, they are discarded.", style="yellow")
        )
    lines += [Text(f"It wants to reach {host}", style="yellow") for host in _words(approval, "network")]
    if endorsement := endorsement_text(approval):
        lines += [Text(strip_controls(line), style="yellow") for line in endorsement.lines()]
    if reasons := " ".join(_words(approval, "reasons")):
        lines.append(Text(reasons, style="dim"))
    disclosure = json_object(approval.get("disclosure"))
    listed = [item for item in items_below_head(approval) if item.get("kind") != "host"]
    lines += disclosed_lines({**disclosure, "items": [*listed], "total": _missing(disclosure) + len(listed)})
    diff = approval.get("diff")
    lines += diff_lines(diff, complete=True) if isinstance(diff, str) else ()
    return Group(*lines)


def _subject(resource: str) -> str:
    """Returns a call's resource as a person writes it: `/a.txt` is in the workspace, not in the machine's root."""
    return resource.removeprefix("command:") if resource.startswith("command:") else resource.removeprefix("/")


def _missing(disclosure: Json) -> int:
    total = disclosure.get("total")
    return total - len(json_objects(disclosure.get("items"))) if isinstance(total, int) else 0


def _review_text(review: Json) -> RenderableType:
    lines = [Text(f"Review: {strip_controls(str(review.get('summary')))}", style="bold")]
    for finding in json_objects(review.get("findings")):
        location = ":".join(str(finding[part]) for part in ("path", "line") if finding.get(part))
        lines.append(
            Text(
                f" {strip_controls(str(finding.get('severity')))}  {strip_controls(location)}  ", style="yellow"
            ).append(strip_controls(str(finding.get("problem"))), style="default")
        )
        if suggestion := finding.get("suggestion"):
            lines.append(Text(f"   → {strip_controls(str(suggestion))}", style="dim"))
    return Group(*lines)


def _bounded(text: str) -> str:
    start = strip_controls(text[:LONGEST])
    return start if len(text) <= LONGEST else f"{start}\n… {len(text) - LONGEST:,} more characters"


def _words(fields: Json, name: str) -> list[str]:
    value = fields.get(name)
    return [strip_controls(str(item)) for item in value] if isinstance(value, list) else []
