"""Estimates the tokens of a text from its bytes, corrected by the usage that each model reports, and cuts a text to fit."""

import math
from collections.abc import Iterable

from anycowork.domain.model import PromptMessage

BYTES_PER_TOKEN = 4
FRAME = 4  # what a provider's chat format adds around one message

_WEIGHT = 0.3
_HIGHEST = 4.0
_TOO_LONG = 1.5


def tokens(text: str, ratio: float = 1.0) -> int:
    """An estimate that errs on the safe side in every language measured: UTF-8 bytes / 4, times the model's own ratio."""
    return math.ceil(size(text) / BYTES_PER_TOKEN * ratio)


def request_tokens(messages: Iterable[PromptMessage], ratio: float = 1.0) -> int:
    """Returns the tokens of a whole request, including the frame of each message."""
    return sum(tokens(message.content, ratio) + FRAME + image_tokens(message) for message in messages)


def image_tokens(message: PromptMessage) -> int:
    """Returns the tokens of the message's images; the text ratio does not apply to them."""
    return sum(image.tokens for part in message.parts for image in part.images)


def size(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class TokenRatios:
    """Each model's actual tokens per estimated token: a slowly changing running average of its reports."""

    def __init__(self) -> None:
        self._learnt: dict[str, float] = {}

    def of(self, model: str) -> float:
        return self._learnt.get(model, 1.0)

    def learn(self, model: str, *, estimated: float, reported: int) -> None:
        """From one more answer: `estimated` is what was sent, weighed at ratio 1, `reported` the usage's prompt tokens.

        A report below the estimate is ignored: some providers count only uncached tokens, and a prompt that is too long fails.
        """
        if estimated <= 0 or reported <= 0:
            return
        seen = min(max(reported / estimated, 1.0), _HIGHEST)
        self._learnt[model] = (1 - _WEIGHT) * self.of(model) + _WEIGHT * seen

    def learn_too_long(self, model: str) -> None:
        """Its server said that a prompt does not fit: estimate higher from now on."""
        self._learnt[model] = min(self.of(model) * _TOO_LONG, _HIGHEST)


SMALLEST = 200  # bytes; less would hold the note and nothing of the text
_HEAD = 0.6
_NEAR = 200  # a cut moves this far at most to fall on the end of a line


def cut_middle(text: str, limit: int, *, way_out: str) -> str:
    """At most `limit` bytes of this text (a limit below `SMALLEST` is taken for that), or the text itself if it fits."""
    total, limit = size(text), max(limit, SMALLEST)
    if total <= limit:
        return text
    budget = limit - size(_note(total, total, way_out))
    data = text.encode("utf-8", "surrogatepass")
    head = _to_line_end(data[: int(budget * _HEAD)])
    tail = _from_line_start(data[total - (budget - int(budget * _HEAD)) :])
    return f"{head}{_note(total - size(head) - size(tail), total, way_out)}{tail}"


def _note(cut: int, total: int, way_out: str) -> str:
    return f"\n[cut {cut} of {total} bytes; {way_out}]\n"


def _to_line_end(data: bytes) -> str:
    end = data.rfind(b"\n", max(0, len(data) - _NEAR))
    return (data[:end] if end > 0 else data).decode("utf-8", "ignore")


def _from_line_start(data: bytes) -> str:
    start = data.find(b"\n", 0, _NEAR)
    return data[start + 1 :].decode("utf-8", "ignore")
