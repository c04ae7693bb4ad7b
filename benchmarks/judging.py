"""Targets and verdicts. Pure: figures in, judgements out. A target compares two figures of one run, or one figure with a number."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

Figures = Mapping[str, Sequence[float]]
"""What was measured, by name (`benchmark.leg.unit`): one value per round, the same rounds in the same order everywhere."""


class BadTarget(ValueError):
    """A target that cannot be judged as it is written."""


class Op(StrEnum):
    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Target:
    """`ratio` names the figure that is judged; `vs` the one it is divided by, or `minus` the one that is taken off it.

    With neither the figure itself is held against the bound.
    """

    name: str
    ratio: str
    vs: str | None
    op: Op
    bound: float
    minus: str | None = None

    @property
    def benchmark(self) -> str:
        return self.ratio.partition(".")[0]


class Verdict(StrEnum):
    MET = "met"
    MISSED = "MISSED"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Judgement:
    target: Target
    verdict: Verdict
    value: float | None


def read_targets(text: str) -> list[Target]:
    """Raises: BadTarget."""
    return [_target(entry) for entry in tomllib.loads(text).get("target", [])]


def judge(target: Target, figures: Figures) -> Judgement:
    """By the median of the rounds; a ratio or a difference is taken inside each round, where both sides had the same machine."""
    values = _values(target, figures)
    if not values:
        return Judgement(target, Verdict.NOT_MEASURED, None)
    value = median(values)
    met = value <= target.bound if target.op is Op.AT_MOST else value >= target.bound
    return Judgement(target, Verdict.MET if met else Verdict.MISSED, value)


def breached(judgements: Sequence[Judgement]) -> bool:
    return any(judgement.verdict is Verdict.MISSED for judgement in judgements)


def _values(target: Target, figures: Figures) -> list[float]:
    judged = figures.get(target.ratio, ())
    if target.minus is not None:
        return [ours - theirs for ours, theirs in zip(judged, figures.get(target.minus, ()), strict=False)]
    if target.vs is None:
        return list(judged)
    return [ours / theirs for ours, theirs in zip(judged, figures.get(target.vs, ()), strict=False)]


def _target(entry: Mapping[str, object]) -> Target:
    unknown = entry.keys() - {"name", "ratio", "vs", "minus", "op", "bound"}
    if unknown:
        raise BadTarget(f"a target has no {', '.join(sorted(unknown))}")
    name, ratio, bound = entry.get("name"), entry.get("ratio"), entry.get("bound")
    vs, minus = entry.get("vs"), entry.get("minus")
    if not isinstance(name, str) or not isinstance(ratio, str):
        raise BadTarget(f"name and ratio of a target are words: {dict(entry)}")
    if not isinstance(vs, str | None) or not isinstance(minus, str | None) or (vs and minus):
        raise BadTarget(f"'{name}' has one figure beside it, 'vs' or 'minus', or none")
    if not isinstance(bound, int | float) or isinstance(bound, bool):
        raise BadTarget(f"the bound of '{name}' is not a number")
    try:
        op = Op(str(entry.get("op")))
    except ValueError:
        raise BadTarget(f"the op of '{name}' is neither '<=' nor '>='") from None
    return Target(name, ratio, vs, op, float(bound), minus)
