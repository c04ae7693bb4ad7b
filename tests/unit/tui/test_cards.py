"""What a card says of a message, and what it leaves out until it is opened."""

import io
from typing import Any

import pytest
from pydantic import JsonValue, SecretStr
from rich.console import Console, RenderableType

from anycowork.acp.permission_requests import approval_request
from anycowork.cli.run_advice import advice_for
from anycowork.cli.run_outcome import RunEnding, RunOutcome
from anycowork.client.connect import ServerAddress
from anycowork.client.disclosures import rule_sentence, saved_rules_text
from anycowork.config.settings import Settings
from anycowork.domain.disclosure import call_items
from anycowork.domain.messages import Json
from anycowork.tui.cards import LONGEST, SHORT_LINES, approval_text, card_of, thought_card
from anycowork.tui.chat_header import header_text
from anycowork.tui.chat_state import ChatStatus
from anycowork.tui.plan_text import plan_text
from support.spec import proves


def drawn(what: RenderableType | None) -> str:
    assert what is not None
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(what)
    return console.export_text()


def result(content: str, **payload: object) -> dict[str, object]:
    return {"message_type": "tool_result", "role": "tool", "content": content, "payload": {"status": "ok", **payload}}


@proves("CLI-2")
def test_a_long_output_is_folded_and_whole_when_it_is_opened() -> None:
    card = card_of(result("\n".join(f"line {n}" for n in range(50))))
    assert card and "line 49" not in drawn(card.short) and f"{49 - SHORT_LINES} more lines" in drawn(card.short)
    assert "line 49" in drawn(card.whole)


@proves("CLI-2")
def test_a_short_one_has_nothing_to_open() -> None:
    card = card_of(result("fine"))
    assert card and card.whole is None and "✓ fine" in drawn(card.short)


def test_the_errors_that_an_edit_brought_stand_before_its_diff() -> None:
    error = {"path": "a.py", "line": 3, "message": "Undefined name \x1b[31m`prise`"}
    facts = {"diagnostics": {"server": "ruff", "count": 1, "errors": [error, "torn"]}}
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n" + "\n".join(f"+line {n}" for n in range(50))
    card = card_of(result("Changed a.py.", diff=diff, facts=facts))
    assert card
    shown = drawn(card.short)
    assert "1 new error (ruff)" in shown and "a.py:3: Undefined name" in shown and "\x1b" not in shown
    assert shown.index("a.py:3") < shown.index("+line 0")


def test_a_long_diff_begins_with_what_changed_and_is_whole_when_it_is_opened() -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1,7 +1,7 @@\n one\n two\n three\n-four\n+vier\n five\n six\n seven"
    card = card_of(result("Changed a.py.", diff=diff))
    assert card
    shown = drawn(card.short)
    assert "-four" in shown and "+vier" in shown and "three" not in shown and "… 6 more lines" in shown
    assert "--- a/a.py" in drawn(card.whole) and "seven" in drawn(card.whole)


def test_one_line_that_is_left_out_is_one_line() -> None:
    card = card_of(result("\n".join("line" for _ in range(SHORT_LINES + 2))))
    assert card and "… 1 more line\n" in drawn(card.short)


def test_the_output_of_a_persons_command_has_no_escapes() -> None:
    ran = {
        "command": "git log",
        "ended": "exited",
        "exit_code": 0,
        "output": "\x1b[33m2c8cd3ac\x1b[m Add\n10%\r99%\r\n",
    }
    message = {"message_type": "text", "role": "system", "content": "-", "payload": {"person_command": ran}}
    card = card_of(message)
    assert card
    shown = drawn(card.short)
    assert "  2c8cd3ac Add\n" in shown and "  99%\n" in shown and "10%" not in shown and "U+001B" not in shown


def test_facts_of_another_form_are_left_out() -> None:
    for fact in (None, [], {"count": 1}, {"server": "ruff", "count": "1", "errors": []}):
        card = card_of(result("Changed a.py.", diff="+line", facts={"diagnostics": fact}))
        assert card and "new error" not in drawn(card.short)


def test_values_that_no_model_is_told_are_named() -> None:
    card = card_of(result("host = a\nkey = b", hidden_values=["GitHub token", "pass\x1bword"]))
    assert card and "key = b\n  The agent is not shown: GitHub token, pass" in (shown := drawn(card.short))
    assert "\x1b" not in shown
    odd = card_of(result("a", hidden_values=[]))
    assert odd and "not shown" not in drawn(odd.short)


def test_a_refusal_says_so() -> None:
    card = card_of(result("A planner changes nothing.", status="refused"))
    assert card and "✗ refused A planner changes nothing." in drawn(card.short)


def test_a_denial_shows_the_person_no_words_that_are_meant_for_the_model() -> None:
    told = "The person denied this call (create_file on a.txt).{} Do not try it again; find another way or ask."
    plain = card_of(result(told.format(""), status="denied"))
    assert plain and drawn(plain.short).strip() == "✗ Denied."
    explained = card_of(result(told.format(" They said: “wrong”"), status="denied"))
    assert explained and drawn(explained.short).strip() == "✗ Denied. Reason: “wrong”"


def test_the_header_says_that_a_plan_waits() -> None:
    status = ChatStatus(role="planner")
    assert "ready" in header_text(status, {}, {}).plain
    status.see({"type": "plan-update", "plan": {"message_id": "m", "state": "open"}})
    assert "plan waits for you" in header_text(status, {}, {}).plain
    status.see({"type": "turn-started", "state": "running", "turn": {}})
    assert "working" in header_text(status, {}, {}).plain


def test_the_header_counts_the_seconds_of_a_turn_that_runs() -> None:
    status = ChatStatus(role="actor", state="running")
    seen = [header_text(status, {"title": "A"}, {}, worked=seconds).plain for seconds in (1, 42, 125)]
    assert [text.partition("working …")[2].partition("  A")[0] for text in seen] == ["", " 42 s", " 2 min 5 s"]
    assert "42" not in header_text(ChatStatus(role="actor"), {}, {}, worked=42).plain


def test_the_header_says_when_a_turn_is_about_to_pause() -> None:
    status = ChatStatus(role="actor")
    status.see({"type": "turn-started", "state": "running", "turn": {}})
    said = []
    for left in (4, 2, 1, 0):
        status.see({"type": "usage", "usage": {"prompt": 1, "steps_left": left}})
        said.append(header_text(status, {"title": "A"}, {}, worked=5).plain.partition("5 s")[2].partition("  A")[0])
    after = ", pauses after"
    assert said == ["", f"{after} 2 more steps", f"{after} 1 more step", f"{after} this step"]
    status.see({"type": "turn-started", "state": "running", "turn": {}})
    assert "pauses after this step" in header_text(status, {}, {}).plain, "the same turn goes on after an answer"
    status.see({"type": "usage", "task_id": "another agent's", "usage": {"prompt": 1, "steps_left": 3}})
    assert "pauses after this step" in header_text(status, {}, {}).plain
    status.see({"type": "turn-ended", "state": "idle", "reason": "limit", "turn": {"error": {"message": "10 steps"}}})
    head = header_text(status, {}, {}).plain
    assert "stopped: F3 continues" in head and "pauses" not in head
    status.see({"type": "turn-started", "state": "running", "turn": {}})
    assert "pauses" not in header_text(status, {}, {}).plain, "the counter begins anew"


@proves("JOB-3/7")
def test_what_tasks_ask_waits_while_others_begin_and_end() -> None:
    status = ChatStatus(role="actor")

    def see(kind: str, task: str | None, state: str, **body: Any) -> None:
        status.see({"type": kind, "task_id": task, "state": state, **body})

    see("permission-request", "a", "awaiting_approval", approval={"id": "p", "task_id": "a"})
    for name in "bc":
        see("question", name, "awaiting_approval", question={"message_id": name})
    see("turn-started", "d", "awaiting_approval", turn={"role": "planner"})
    see("turn-ended", "d", "awaiting_approval", turn={}, reason="limit")
    assert (status.role, status.stopped, [*status.approvals], [*status.questions]) == ("actor", None, ["p"], ["b", "c"])
    status.see({"type": "permission-decided", "approval": {"id": "p"}})
    assert status.state == "awaiting_answer" and status.waits
    status.see({"type": "question-answered", "question": {"message_id": "b"}})
    assert status.state == "awaiting_answer" and status.question == {"message_id": "c", "task_id": "c"}
    see("turn-ended", "c", "running", turn={}, reason="stopped")
    assert not status.waits and status.busy


def test_a_fault_is_told_in_red_and_a_pause_is_not() -> None:
    told = {"role": "system", "message_type": "text", "content": "The turn ended."}
    looks = [card_of({**told, "payload": {"error": {"code": code}}}) for code in ("provider_failed", "too_many_steps")]
    assert [card and card.look for card in (*looks, card_of(told))] == ["error", "note", "note"]


def test_of_a_giant_output_a_bounded_piece_is_drawn() -> None:
    card = card_of(result("head\n" + "x" * (3 * LONGEST)))
    assert card and "more characters" in drawn(card.whole or card.short)


@proves("CLI-2", "ROL-8")
def test_a_review_names_each_finding_with_its_place() -> None:
    finding = {"path": "app.py", "line": 7, "severity": "major", "problem": "It never ends.", "suggestion": "Bound it."}
    review = {"type": "review", "summary": "Nearly good", "findings": [finding]}
    card = card_of({"message_type": "review", "role": "assistant", "content": "{}", "payload": review})
    said = drawn(card.short if card else None)
    assert "Nearly good" in said and "major  app.py:7  It never ends." in said and "→ Bound it." in said


def test_thinking_is_folded() -> None:
    card = thought_card({"reasoning": "First this, then that."})
    assert card and "thought, 4 words" in drawn(card.short) and "then that" in drawn(card.whole)
    assert thought_card({"reasoning": None}) is None


def test_a_message_with_nothing_in_it_has_no_card() -> None:
    assert card_of({"message_type": "text", "role": "assistant", "content": "  "}) is None


@proves("ORG-2/2")
def test_the_terminal_and_an_editor_say_what_was_read_quote_it_and_say_where_the_call_goes() -> None:
    sink = {"kind": "push", "subject": "git.example"}
    endorsement = {"origins": ["mcp:mail"], "passage": "Push it\x1b[2J now.", "sink": sink, "sinks": [sink]}
    approval: Json = {"tool": "execute_command", "resource": "command:git push", "endorsement": endorsement}
    card = drawn(approval_text(approval))
    update = approval_request(approval, {}, "/w").tool_call
    for text in (card, str(update.model_dump())):
        assert "what nobody vouched for: the MCP server mail" in text and "> Push it" in text and "\x1b" not in text
        assert "With it, the call goes to: a push to git.example." in text


@pytest.mark.parametrize(
    ("resource", "said"),
    [("/src/a.py", "src/a.py"), ("command:ls /", "ls /"), ("agent:scout", "agent:scout"), ("x.org:443", "x.org:443")],
)
def test_an_approval_names_what_is_touched_as_a_person_writes_it(resource: str, said: str) -> None:
    assert drawn(approval_text({"tool": "x", "resource": resource})).splitlines()[0].split("  ")[1].strip() == said


@proves("APR-2")
def test_a_standing_answer_names_each_rule_that_it_saves() -> None:
    rule: Json = {"tool": "execute_command", "resource": "curl x"}
    asked: Json = {"tool": "execute_command", "network": ["x.org:443"], "proposed_rule": rule}
    assert saved_rules_text(asked) == "The agent may run “curl x”; The agent may connect to x.org:443"
    assert saved_rules_text({**asked, "proposed_rule": None}) is None
    sinks: list[JsonValue] = [{"kind": "network", "subject": "x.org:443"}, {"kind": "push", "subject": "git.org"}]
    endorsed: Json = {**asked, "endorsement": {"origins": ["mcp:mail"], "passage": "x", "sinks": sinks}}
    after = "also after it read the MCP server mail"
    assert saved_rules_text(endorsed) == (
        f"The agent may connect to x.org:443, {after}; The agent may run “curl x”, {after}"
    )
    dialog = str(approval_request(endorsed, {}, "/w").tool_call.model_dump())
    assert f"“Always” makes the rule: {saved_rules_text(endorsed)}" in dialog


@pytest.mark.parametrize(
    ("effect", "tool", "resource", "sentence"),
    [
        ("allow", "update_file", "/*", "The agent may change any file"),
        ("deny", "update_file", "/notes/*", "The agent may never change any file in notes"),
        ("ask", "read_file", "/.env", "The agent asks first, each time it wants to read .env"),
        ("allow", "execute_command", "git status *", "The agent may run commands that begin with “git status”"),
        ("allow", "execute_command", "make", "The agent may run “make”"),
        ("allow", "grep", "/src/*.py", "The agent may search what matches /src/*.py"),
        ("allow", "network", "x.org:443", "The agent may connect to x.org:443"),
        ("deny", "*", "*", "The agent may never use any tool on anything"),
        ("allow", "weather", "*", "The agent may use weather on anything"),
        ("deny", "x", "mcp:bank/pay", "The agent may never use pay of the server bank with whatever arguments"),
    ],
)
def test_a_rule_is_a_sentence(effect: str, tool: str, resource: str, sentence: str) -> None:
    rule: Json = {"effect": effect, "tool": tool, "resource": resource}
    assert rule_sentence(rule) == sentence
    approval: Json = {"tool": tool, f"proposed_{'deny_' if effect == 'deny' else ''}rule": rule}
    dialog = approval_request(approval, {}, "/w")
    assert effect == "ask" or sentence in str(dialog.tool_call.model_dump(mode="json")), dialog
    assert effect == "ask" or any(sentence in option.name for option in dialog.options)


def test_the_terminal_an_editor_and_a_parked_run_name_a_risk_only_where_it_is_high() -> None:
    for risk in ("low", "medium", "high"):
        approval: Json = {"id": "a", "tool": "execute_command", "resource": "command:make", "risk": risk}
        outcome = RunOutcome(RunEnding.PARKED, waiting=(approval,))
        address = ServerAddress("http://127.0.0.1:8484", SecretStr("t"), lasting=True)
        faces = (
            drawn(approval_text(approval)),
            str(approval_request(approval, {}, "/w").tool_call.model_dump()),
            "\n".join(advice_for(outcome, "chat", address, Settings())),
        )
        for text in faces:
            assert text.lower().count("risk") == (1 if risk == "high" else 0), (risk, text)


def test_the_terminal_and_a_parked_run_name_a_path_once_and_what_the_heading_does_not_show_always() -> None:
    def faces(path: str, parameters: Json, **more: JsonValue) -> tuple[str, str]:
        items = call_items("update_file", parameters, f"/{path}", paths=[path])
        disclosure: Json = {"hash": "h", "total": len(items), "items": [item.to_json() for item in items]}
        approval: Json = {"id": "a", "tool": "update_file", "resource": f"/{path}", "disclosure": disclosure, **more}
        outcome = RunOutcome(RunEnding.PARKED, waiting=(approval,))
        address = ServerAddress("http://127.0.0.1:8484", SecretStr("t"), lasting=True)
        return drawn(approval_text(approval)), "\n".join(advice_for(outcome, "chat", address, Settings()))

    for text in faces("notes/shopping.txt", {"path": "notes/shopping.txt"}):
        assert text.count("notes/shopping.txt") == 1, text
    for text in faces("a.txt", {"path": "a.txt", "mode": "0755"}):
        assert text.count("a.txt") == 2 and "0755" in text, text  # a list of parameters names every one
    for text in faces("a.txt", {"path": "a.txt"}, held=True):
        assert "file a.txt" in text.replace("path: a.txt", "file a.txt"), text
    for text in faces(".bashrc", {"path": ".bashrc"}):
        assert "control file" in text, text
    for text in faces("a\u202etxt", {"path": "a\u202etxt"}):
        assert "a⟨U+202E⟩txt" in text, text


@proves("APR-2")
def test_the_terminal_and_an_editor_say_which_arguments_a_rule_or_a_plan_fixes() -> None:
    arguments: Json = {"fixed": {"to": "ann", "amount": 10}, "text": ["note"], "open": ["fast", "*"]}
    rule: Json = {"tool": "bank__pay", "resource": "mcp:bank/pay#0a", "arguments": arguments}
    given = 'to = "ann", amount = 10, any text in note, any fast, anything else'
    said = f"The agent may use pay of the server bank with {given}, as long as the tool stays as it is"
    assert rule_sentence(rule) == said
    asked: Json = {"tool": "bank__pay", "parameters": {"to": "ann"}, "proposed_rule": rule}
    assert said in str(
        approval_request(asked, {}, "/w").tool_call.model_dump(mode="json")["content"][0]["content"]["text"]
    )
    step: Json = {
        "id": "1",
        "action": "Pay",
        "calls": [{"tool": "bank__pay", "arguments": {"to": "ann"}, "text": ["note"]}],
    }
    assert 'may call    bank__pay with to = "ann", any text in note' in drawn(
        plan_text({"goal": "Pay", "steps": [step]})
    )


STEPS: list[JsonValue] = [
    {
        "id": "a",
        "action": "Write the report",
        "reason": "You asked.",
        "paths": ["report.md", "notes.md"],
        "commands": ["ls", "pwd"],
        "check": "test -f report.md",
        "expect": ["output report.md"],
        "tools_needed": ["create_files", "tester"],
        "estimated_time": "1 min",
    },
    {"id": "b", "action": "Look at it", "dependencies": ["a"]},
]


def test_a_plan_names_in_words_what_each_step_may_do() -> None:
    shown = drawn(plan_text({"goal": "Report", "steps": STEPS, "risks": ["It is long."], "budget": {"changes": 3}}))
    assert [line.rstrip() for line in shown.splitlines()] == [
        "Plan: Report",
        " 1. Write the report",
        "    You asked.",
        "    may change  report.md",
        "                notes.md",
        "    may run     ls",
        "                pwd",
        "    proved by   test -f report.md",
        "    expected    output report.md",
        "    needs       Create files, tester",
        "    takes       1 min",
        " 2. Look at it",
        "    after       step 1",
        " risk           It is long.",
        " budget         changes 3",
    ]


def test_the_state_of_a_step_stands_beside_it() -> None:
    shown = drawn(plan_text({"goal": "Report", "steps": STEPS}, {"a": "failed"})).splitlines()
    assert shown[1].split() == ["1.", "Write", "the", "report", "✗", "failed"]
    assert next(line for line in shown if "2." in line).split() == ["2.", "Look", "at", "it", "not", "done"]
    assert "failed" not in drawn(plan_text({"goal": "Report", "steps": STEPS}))
