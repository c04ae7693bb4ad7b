"""Estimates the tokens of a text from its bytes, corrected by the usage that each model reports."""

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
    """Return the tokens of a whole request, including the frame of each message."""
    return sum(tokens(message.content, ratio) + FRAME + image_tokens(message) for message in messages)


def image_tokens(message: PromptMessage) -> int:
    """Return the tokens of the message's images; the text ratio does not apply to them."""
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
