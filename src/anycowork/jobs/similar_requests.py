"""Finds earlier requests that share many words with a new one. Pure, without a model; the time grows with the length of the texts."""

import re
from collections.abc import Iterable

LONGEST_REQUEST = 4_000  # characters that are compared
_WORD = re.compile(r"\w+")
_SHORTEST_WORD = 3
_ALIKE = 0.3  # the share of common words among all words of both


def similar_requests(request: str, earlier: Iterable[tuple[str, str]], *, most: int) -> list[str]:
    """Return the ids of the most similar ones, best first. `earlier` are ids and requests, newest first; of equal ones the newest wins."""
    request_words = _words(request)
    rated: dict[frozenset[str], tuple[float, str]] = {}
    for job_id, text in earlier:
        earlier_words = _words(text)
        share = (
            len(request_words & earlier_words) / len(request_words | earlier_words)
            if request_words and earlier_words
            else 0.0
        )
        if share >= _ALIKE:
            rated.setdefault(earlier_words, (share, job_id))
    best = sorted(rated.values(), key=lambda rating: -rating[0])  # stable: newer ones stay first
    return [job_id for _, job_id in best[:most]]


def _words(text: str) -> frozenset[str]:
    all_words = _WORD.findall(text[:LONGEST_REQUEST].casefold())
    return frozenset(word for word in all_words if len(word) >= _SHORTEST_WORD)
