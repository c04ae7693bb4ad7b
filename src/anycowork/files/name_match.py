"""Ranks paths by how well they match what a person typed. Pure, in time linear in the paths."""

import heapq
from collections.abc import Iterable

from anycowork.domain.files import FoundPath

_NAME_STARTS, _IN_NAME, _IN_PATH, _IN_ORDER = range(4)


def best_matches(paths: Iterable[FoundPath], query: str, limit: int) -> list[FoundPath]:
    """Return the best matches first: names that start with the query, that contain it, then paths that contain it, and last paths
    with all its letters in order. Of equal matches the shorter path is better. Every word of the query must match."""
    words = query.casefold().split()
    ranked = (
        (rank, len(found.path), found.path, found) for found in paths if (rank := _rank(found.path, words)) is not None
    )
    return [found for *_, found in heapq.nsmallest(limit, ranked, key=lambda one: one[:3])]


def _rank(path: str, words: list[str]) -> int | None:
    """Return the worst rank of all words; None if one does not match."""
    folded = path.casefold()
    worst = _NAME_STARTS
    for word in words:
        rank = _rank_of_word(folded, word)
        if rank is None:
            return None
        worst = max(worst, rank)
    return worst


def _rank_of_word(path: str, word: str) -> int | None:
    if word in path:
        name = path[path.rfind("/") + 1 :]
        if name.startswith(word):
            return _NAME_STARTS
        return _IN_NAME if word in name else _IN_PATH
    return _IN_ORDER if _has_in_order(path, word) else None


def _has_in_order(path: str, letters: str) -> bool:
    at = 0
    for letter in letters:
        at = path.find(letter, at) + 1
        if not at:
            return False
    return True
