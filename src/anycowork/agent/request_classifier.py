"""Classifies sentences of a request and the paths that they name, in English, German, French and Spanish. Pure.

A linear model over words, beginnings and endings of words, and pairs of words. `scripts/fit_request_classifier.py` fits the weights from
the sentences in `request_wording/` and prints the score on sentences that it never saw. Where it is unsure, callers claim nothing.
"""

import math
import re
import sys
import unicodedata
from array import array
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any  # the stored weights are JSON that `fit_request_classifier.py` wrote

import msgspec

from anycowork.domain.values import value

TARGET, OTHER_PATH = "\x01", "\x02"  # the path that is classified, and other paths, in a sentence
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_TOKEN = re.compile(r"[\x01\x02]|[^\W\d_]+|\d+|[?!,;:()¿]")
_BOUNDARIES = frozenset(",;:()" + OTHER_PATH)
_NEAR, _FAR = 8, 10  # words beside a path that are read: of its clause, and beyond it
_SCALE = 100  # weights are stored as hundredths
_LONGEST = 60  # words of a sentence that are read


class SentenceKind(StrEnum):
    """What a sentence asks: a change, a command to be run, what is in files, a number that must be counted or computed, another question,
    or nothing. `KEEP`: what is there must stay; `REST`: nothing but what was named may change."""

    CHANGE = "change"
    RUN = "run"
    CONTENT = "content"
    COUNT = "count"
    ADVICE = "advice"
    OTHER = "other"
    KEEP = "keep"
    REST = "rest"


class PathUse(StrEnum):
    """What is to happen to a named path: worked on or made, left as it is, changed as the only one, or it is merely mentioned."""

    WORK = "work"
    PROTECT = "protect"
    ONLY = "only"
    MENTION = "mention"


@lru_cache(maxsize=2_048)  # a list of a thousand files is one sentence a thousand times
def sentence_kind(sentence: str) -> Mapping[SentenceKind, float]:
    """Returns the probability of each kind. Paths in the sentence are replaced by `OTHER_PATH`."""
    return {SentenceKind(name): share for name, share in _probabilities("sentence", sentence_features(sentence))}


@lru_cache(maxsize=2_048)
def path_use(sentence: str) -> Mapping[PathUse, float]:
    """Returns the probability of each use of the path that `TARGET` stands for."""
    return {PathUse(name): share for name, share in _probabilities("path", path_features(sentence))}


@value
class _Weights:
    """The weights of one classifier: `numbers` holds, for each feature, as many as there are classes; `starts` says where."""

    classes: tuple[str, ...]
    starts: dict[str, int]
    numbers: Sequence[int]

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> "_Weights":
        classes, features = tuple(packed["classes"]), packed["features"].split("\n")
        numbers = array("h", b64decode(packed["weights"]))
        if sys.byteorder == "big":
            numbers.byteswap()
        starts = dict(zip(features, range(0, len(numbers), len(classes)), strict=True))
        return cls(classes, starts, numbers)


def _probabilities(part: str, features: Sequence[str]) -> list[tuple[str, float]]:
    model = _model()[part]
    names, starts, numbers = model.classes, model.starts, model.numbers
    sums = [0.0] * len(names)
    for feature in features:
        if (start := starts.get(feature)) is not None:
            for index in range(len(names)):
                sums[index] += numbers[start + index]
    top = max(sums)
    powers = [math.exp((total - top) / _SCALE) for total in sums]
    return [(name, power / sum(powers)) for name, power in zip(names, powers, strict=True)]


@cache
def _model() -> dict[str, _Weights]:
    """Reads the weights, once in a process: packed, because reading them as plain JSON held up the first turn for 90 ms."""
    stored = msgspec.json.decode(resources.files(__package__).joinpath("request_wording/weights.json").read_bytes())
    return {part: _Weights.unpacked(stored[part]) for part in ("sentence", "path")}


def tokens_of(sentence: str) -> list[str]:
    """Returns the sentence's words without case and accents, numbers as 0, and the signs that part clauses. `ä` is `ae`, as it is typed
    where there is no `ä`: `ändere` (change) is another word than `andere` (others)."""
    plain = sentence.lower()
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", plain).translate(_UMLAUTS))
        plain = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    return ["0" if token.isdigit() else token for token in _TOKEN.findall(plain)]


def sentence_features(sentence: str) -> list[str]:
    tokens = tokens_of(sentence)[:_LONGEST]
    features = [
        "bias",
        *(f"^{index}{token}" for index, token in enumerate(tokens[:3])),
        f"${tokens[-1] if tokens else ''}",
    ]
    for index, token in enumerate(tokens):
        features += _word("", token)
        features += [f"{token}_{after}" for after in tokens[index + 1 : index + 2]]
        features += [f"{token}~{after}" for after in tokens[index + 2 : index + 4]]
    features += _class_patterns("", classes_of(tokens))
    features += ["path?" if OTHER_PATH in tokens else "no path", "asks" if "?" in tokens else "tells"]
    return list(dict.fromkeys(features))


def path_features(sentence: str) -> list[str]:
    tokens = tokens_of(sentence)
    index = tokens.index(TARGET)
    near_left, far_left = _clause(tokens[:index][::-1])
    right, far_right = _clause(tokens[index + 1 :])
    features = ["bias", f"<{near_left[0] if near_left else '|'}", f">{right[0] if right else '|'}"]
    for side, tokens_there in (("l", near_left), ("r", right), ("L", far_left), ("R", far_right)):
        for token in tokens_there:
            features += _word(side, token)
    for side, tokens_there in (("l", near_left), ("r", right)):
        features += [f"{side}{a}_{b}" for a, b in pairwise(tokens_there)]
        features += [f"{side}{a}~{b}" for i, a in enumerate(tokens_there[:6]) for b in tokens_there[i + 2 : 6]]
    features += [f"{a}><{b}" for a in near_left[:5] for b in right[:5]]
    features += [f"{a}<<{b}" for a in far_left[:5] for b in near_left[:3]]
    before, after = classes_of(near_left), classes_of(right)
    features += [*_class_patterns("l", before), *_class_patterns("r", after)]
    features += [*_class_patterns("L", classes_of(far_left)), *_class_patterns("R", classes_of(far_right))]
    features += [f"#{a}><{b}" for a in before[:3] for b in after[:4]]
    return list(dict.fromkeys(features))


def _clause(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part the words beside a path, nearest first, into those of its clause and those beyond."""
    end = next((index for index, token in enumerate(tokens) if token in _BOUNDARIES), len(tokens))
    return list(tokens[: min(end, _NEAR)]), list(tokens[end : end + _FAR])


def classes_of(tokens: Sequence[str]) -> list[str]:
    """Returns the classes of those words that have one, in their order: `don't touch` and `ne modifie pas` look alike."""
    return [name for name in map(_class_of, tokens) if name is not None]


def _class_patterns(side: str, classes: Sequence[str]) -> Iterator[str]:
    """Yields the classes on one side of a path, or in a sentence, and how they follow one another."""
    yield f"{side}#^{classes[0] if classes else '|'}"
    for index, name in enumerate(classes):
        yield f"{side}#{name}"
        for distance, joint in ((1, "_"), (2, "~")):
            if index + distance < len(classes):
                yield f"{side}#{name}{joint}{classes[index + distance]}"
        if index + 2 < len(classes):
            yield f"{side}#{name}_{classes[index + 1]}_{classes[index + 2]}"


@lru_cache(maxsize=4_096)
def _class_of(token: str) -> str | None:
    words = _classes()
    if (name := words.get(token)) is not None:
        return name
    beginnings = (f"{token[:length]}-" for length in range(len(token), 2, -1))
    return next((words[beginning] for beginning in beginnings if beginning in words), None)


@cache
def _classes() -> dict[str, str]:
    """Reads which class each word, or beginning of words, has: the first that names it."""
    text = resources.files(__package__).joinpath("request_wording/words.txt").read_text("utf-8")
    lines = (line.partition(":") for line in text.split("\n") if not line.startswith("#"))
    return {word: name for name, _, words in reversed(list(lines)) for word in words.split()}


def _word(side: str, token: str) -> Iterator[str]:
    yield f"{side}{token}"
    if len(token) > 4:
        yield f"{side}{token[:4]}-"
        yield f"{side}-{token[-3:]}"
    if len(token) > 6:
        yield f"{side}{token[:6]}-"
