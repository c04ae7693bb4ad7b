"""How long a text is for a model: estimated from its bytes, and corrected by what each model's answers report."""

import math
from collections.abc import Iterable

from anycowork.domain.asking import Said
from anycowork.domain.values import value

BYTES_PER_TOKEN = 4
FRAME = 4  # what a provider's chat format adds around one message

_WEIGHT = 0.3
_LOWEST, _HIGHEST = 0.25, 4.0


def tokens(text: str, ratio: float = 1.0) -> int:
    """An estimate that errs on the safe side in every language measured: UTF-8 bytes / 4, times the model's own ratio."""
    return math.ceil(size(text) / BYTES_PER_TOKEN * ratio)


def request_tokens(messages: Iterable[Said], ratio: float = 1.0) -> int:
    """What a whole request weighs, each message with the frame around it."""
    return sum(tokens(said.content, ratio) + FRAME + image_tokens(said) for said in messages)


def image_tokens(said: Said) -> int:
    """What its images weigh; text's own ratio says nothing about them."""
    return sum(image.tokens for part in said.parts for image in part.images)


def size(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@value
class TokenRatio:
    """One model's true tokens per estimated token, as learnt so far: a running average that forgets slowly."""

    value: float = 1.0

    def fed(self, *, estimated: int, reported: int) -> "TokenRatio":
        """The ratio after one more answer: `estimated` is `request_tokens` of what was sent at ratio 1, `reported` the usage's prompt tokens."""
        if estimated <= 0 or reported <= 0:
            return self
        seen = min(max(reported / estimated, _LOWEST), _HIGHEST)
        return TokenRatio((1 - _WEIGHT) * self.value + _WEIGHT * seen)
