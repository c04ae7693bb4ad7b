"""The requirements as data: each one's whole text, its clauses, what is not proved yet; and the page made from them and the tests."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from spec.proofs import ROOT, Proof

TABLE = ROOT / "tests" / "spec" / "requirements.toml"
PAGE = ROOT / "docs" / "requirements.md"
GAP = " … "  # in a clause: words of the requirement that belong to other clauses
_JOINS = ("and", "or")  # between clauses


class State(StrEnum):
    PROVED = "proved"
    PARTLY = "partly"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Demand:
    """What is proved or not: a requirement of one clause, or one clause of several.

    `open` says why nothing proves it yet, `partly` what is still missing; neither means proved.
    `no_sabotage` says why no entry of sabotage.toml breaks it.
    """

    id: str
    text: str
    open: str = ""
    partly: str = ""
    no_sabotage: str = ""

    @property
    def state(self) -> State:
        if self.open:
            return State.OPEN
        return State.PARTLY if self.partly else State.PROVED


@dataclass(frozen=True, slots=True)
class Requirement(Demand):
    """The whole text. With `clauses`, its state is theirs, and a test that names the requirement alone proves none of them."""

    clauses: tuple[Demand, ...] = ()

    @property
    def demands(self) -> tuple[Demand, ...]:
        return self.clauses or (self,)

    @property
    def state(self) -> State:
        states = {one.state for one in self.clauses} or {super(Requirement, self).state}
        return states.pop() if len(states) == 1 else State.PARTLY


def read_table(path: Path = TABLE) -> dict[str, Requirement]:
    """Every requirement by id, in the order of the file. Raises: TypeError for an unknown field, KeyError for a clause of no requirement."""
    found: dict[str, Requirement] = {}
    clauses: dict[str, list[Demand]] = {}
    for key, fields in tomllib.loads(path.read_text("utf-8")).items():
        whole, is_clause, _ = key.partition("/")
        if is_clause:
            clauses[whole].append(Demand(id=key, **fields))
        else:
            found[key] = Requirement(id=key, **fields)
            clauses[key] = []
    return {key: _with_clauses(one, clauses[key]) for key, one in found.items()}


def _with_clauses(one: Requirement, clauses: list[Demand]) -> Requirement:
    return Requirement(one.id, one.text, one.open, one.partly, one.no_sabotage, tuple(clauses))


# --- what does not agree


def problems(table: Mapping[str, Requirement], proofs: Iterable[Proof]) -> list[str]:
    """Every disagreement between the table and the tests, each with the way to fix it."""
    proofs = list(proofs)
    proved = Counter(proof.requirement for proof in proofs)
    return [
        *_orphans(table, proofs),
        *(found for one in table.values() for found in _misquoted(one)),
        *(found for one in table.values() for part in one.demands for found in _complaints(part, proved[part.id])),
    ]


def _orphans(table: Mapping[str, Requirement], proofs: Iterable[Proof]) -> Iterator[str]:
    known = {*table, *(part.id for one in table.values() for part in one.clauses)}
    for proof in proofs:
        if proof.requirement not in known:
            yield f"{proof.test} (line {proof.line}) proves '{proof.requirement}', which is no requirement. Correct the id."


def _misquoted(one: Requirement) -> Iterator[str]:
    """The clauses quote the text, and together they leave no word of it out but what joins them."""
    if not one.clauses:
        return
    if one.open or one.partly:
        yield f"{_entry(one)} has clauses, so its state is theirs. Move `open` or `partly` to the clauses."
    covered = [False] * len(one.text)
    for clause in one.clauses:
        at = 0
        for piece in clause.text.split(GAP):
            start = one.text.find(piece, at)
            if start < 0:
                yield f"{_entry(clause)} does not quote {one.id}: {piece!r} is not in its text, or not after what the clause quotes before."
                break
            at = start + len(piece)
            covered[start:at] = [True] * len(piece)
    for word in re.finditer(r"\w+", one.text):
        if word[0] not in _JOINS and not all(covered[word.start() : word.end()]):
            yield f"{_entry(one)}: no clause holds the word {word[0]!r} (character {word.start()})."
            return


def _complaints(one: Demand, count: int) -> Iterator[str]:
    entry = _entry(one)
    if not one.text.strip():
        yield f"{entry} has no text. Quote what it demands."
    if one.open and one.partly:
        yield f"{entry} is both open and partly. Keep the one that is true."
    elif one.open and count:
        yield f"{entry} is open, but {count} test(s) prove it. Drop `open`, or say in `partly` what is still missing."
    elif one.partly and not count:
        yield f'{entry} is partly proved, but no test names it. Write @proves("{one.id}") on one, or use `open`.'
    elif not one.open and not count:
        yield f'{entry} counts as proved, but no test names it. Write @proves("{one.id}") on one, or say in `open` why not yet.'


def _entry(one: Demand) -> str:
    return f"[{one.id}] in tests/spec/requirements.toml"


# --- the page


def page(table: Mapping[str, Requirement], proofs: Iterable[Proof]) -> str:
    """`docs/requirements.md`: every requirement, whole or by clause, with its state and tests, and totals."""
    by_id: dict[str, list[str]] = {}
    for proof in proofs:
        by_id.setdefault(proof.requirement, []).append(proof.test)
    states = Counter(one.state for one in table.values())
    clauses = Counter(clause.state for one in table.values() for clause in one.clauses)
    intro = _INTRODUCTION.format(
        count=len(table), totals=_totals(states), split=sum(bool(one.clauses) for one in table.values()),
        clauses=clauses.total(), clause_totals=_totals(clauses),
    )  # fmt: skip
    return "\n".join([intro, *(row for one in table.values() for row in _rows(one, by_id)), ""])


_INTRODUCTION = """\
# Requirements

<!-- Made by `make docs` from tests/spec/requirements.toml and the tests; do not edit. -->

What AnyCowork must do, and which tests prove it. {count} requirements: {totals}.
{split} of them are split into {clauses} clauses: {clause_totals}. A requirement with clauses is proved when each of them is.
*Partly* and *open* say what is missing. `make test-spec` breaks the code behind the clauses and shows that these tests fail.

| id | what it demands | state | tests |
|---|---|---|---|"""


def _totals(states: Counter[State]) -> str:
    return ", ".join(f"{states[state]} {state}" for state in State)


def _rows(one: Requirement, by_id: Mapping[str, list[str]]) -> Iterator[str]:
    yield _row(one, by_id.get(one.id, []))
    for clause in one.clauses:
        yield _row(clause, by_id.get(clause.id, []))


def _row(one: Demand, tests: Iterable[str]) -> str:
    missing = one.open or one.partly
    state = f"**{one.state}**: {missing}" if missing else f"**{one.state}**"
    listed = "<br>".join(f"`{test}`" for test in dict.fromkeys(tests))
    text = one.text.replace("|", "\\|")
    return f"| {one.id} | {text} | {state} | {listed} |"
