"""What a card says of a message, and what it leaves out until it is opened."""

import io

from rich.console import Console, RenderableType

from anycowork.tui.cards import LONGEST, SHORT_LINES, card_of, thought_card
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


def test_a_refusal_says_so() -> None:
    card = card_of(result("A planner changes nothing.", status="refused"))
    assert card and "✗ refused A planner changes nothing." in drawn(card.short)


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
