"""The guide's moves besides text: a call or a question. And the replay that finds the next move. Pure.

A script is a generator that yields moves and receives the outcome of each. The guide keeps no state between requests: it runs the script
from the start each time, feeds it the outcomes so far, and sends the first move that has no outcome yet.
"""

import json
import re
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import field
from typing import assert_never

from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.providers.guide.conversation import AnsweredQuestion, CallOutcome, Observation


@value
class GuideCall:
    tool: str
    parameters: Json = field(hash=False)

    def as_text(self) -> str:
        return _json({"tool": self.tool, "parameters": self.parameters, "terminate": False})


@value
class GuideChoice:
    value: str
    label: str
    description: str


@value
class GuideQuestion:
    """A question with a few answers; the last choice is the safe one and the default."""

    question: str
    context: str
    choices: tuple[GuideChoice, ...]
    severity: str = "major"

    def as_text(self) -> str:
        return _json(
            {
                "type": "question",
                "format_version": "1.0",
                "question": self.question,
                "context": self.context,
                "severity": self.severity,
                "options": [{"label": c.label, "value": c.value, "description": c.description} for c in self.choices],
                "default": self.choices[-1].value,
                "allow_custom": False,
            }
        )

    def chosen(self, answer: str) -> str:
        """Returns the value of the choice that these words name by value or label; the default if they name none, or several."""
        lowered = answer.lower()
        matches = [c.value for c in self.choices if c.value.lower() in lowered or c.label.lower() in lowered]
        return matches[0] if len(matches) == 1 else self.choices[-1].value


@value
class GuideDocument:
    """A plan or a review: a reply that is only JSON."""

    content: Json = field(hash=False)

    def as_text(self) -> str:
        return _json(self.content)


Move = GuideCall | GuideQuestion
Script = Generator[Move, Observation, str | GuideDocument]


def next_words(script: Script, inputs: Sequence[Observation]) -> str:
    """Returns the next reply: the script's first move that has no outcome yet, or its final text."""
    waiting = deque(inputs)
    try:
        move = next(script)
        while (outcome := _outcome(move, waiting)) is not None:
            move = script.send(outcome)
    except StopIteration as end:
        return end.value.as_text() if isinstance(end.value, GuideDocument) else inert(end.value)
    return move.as_text()


def inert(text: str) -> str:
    """Breaks every JSON object in the text visibly, so that text from a file or a person is not read as a call by the guide."""
    return re.sub(r"\{(?=\s*\")", "{…", text)


def _outcome(move: Move, waiting: deque[Observation]) -> Observation | None:
    """Returns the next outcome that belongs to this move; skips outcomes of other calls."""
    while waiting:
        inputs = waiting.popleft()
        match move:
            case GuideCall():
                if (
                    isinstance(inputs, CallOutcome)
                    and inputs.tool == move.tool
                    and inputs.parameters in (None, move.parameters)
                ):
                    return inputs
            case GuideQuestion():
                if isinstance(inputs, AnsweredQuestion):
                    return inputs
            case _:
                assert_never(move)
    return None


def _json(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False)
