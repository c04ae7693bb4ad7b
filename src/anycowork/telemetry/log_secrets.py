"""Removes secrets from lines of the log: those that this server knows, and what looks like a key or token."""

import re
from collections.abc import Callable, Iterable
from itertools import chain

HIDDEN = "***"
SHORTEST = (
    8  # characters; a shorter secret may be an ordinary word, such as the key that a local server wants to be given
)

_KEY_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:pt-ac|sk|glpat|xox[abeprs])-[A-Za-z0-9_\-]{12,}+"
    r"|(?:gh[opsur]|github_pat|gsk|hf)_[A-Za-z0-9_]{12,}+"
    r"|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_\-]{30,}+"
    r")"
)
_AUTHORIZATION = re.compile(r"(?i)\b(bearer)\s{1,9}+[A-Za-z0-9._~+/=\-]{8,}+|\b(basic)\s{1,9}+[A-Za-z0-9+/]{16,}+=*+")
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^\s/@:]*+:[^\s/@]++(?=@)")

SecretSource = Callable[[], Iterable[str]]


class LogSecrets:
    """Knows secrets by value, asked anew for every line: keys are pasted and replaced while the server runs.

    People's tokens and client keys are stored as digests only, and a key may be pasted that is never kept: these are known by their shape.
    """

    def __init__(self, *values: str) -> None:
        self._sources: list[SecretSource] = [lambda: values]

    def add(self, source: SecretSource) -> None:
        """Adds a source. It is called on any thread and must not raise."""
        self._sources.append(source)

    def star_out(self, text: str) -> str:
        known = {secret.strip() for secret in chain.from_iterable(source() for source in self._sources)}
        for secret in sorted(known, key=len, reverse=True):  # one may be the beginning of another
            if len(secret) >= SHORTEST:
                text = text.replace(secret, HIDDEN)
        text = _PASSWORD_IN_URL.sub(HIDDEN, text)
        text = _AUTHORIZATION.sub(lambda found: f"{found[1] or found[2]} {HIDDEN}", text)
        return _KEY_SHAPES.sub(HIDDEN, text)
