"""Derives what a turn is expected to do: from the person's request, from what the person states, and from an approved plan. Pure.

Where the wording is not clear, nothing is expected.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from pydantic import JsonValue

from anycowork.agent.request_classifier import OTHER_PATH, PathUse, SentenceKind, path_use, sentence_kind
from anycowork.agent.request_paths import Sentence, commands_in, is_path, sentences_of
from anycowork.domain.evidence import (
    EXPECT,
    MAY_CHECK,
    Expectation,
    ExpectationKind,
    ExpectationSource,
    read_step_expectation,
)
from anycowork.domain.messages import Json
from anycowork.domain.plan import PlanStep
from anycowork.domain.values import value
from anycowork.permissions.patterns import is_literal, path_matches, plain

_SURE, _PERHAPS = 0.6, 0.5
_PLAIN_QUESTION, _HARDLY = 0.8, 0.15
_PART_ASKS_CHANGE = 0.2
_PART_ENDS = re.compile(r"[,;:]|\b(?:and|then|und|dann|et|puis|y|e|luego)\b", re.I)
_CLEARLY, _MAY_ASK = 0.7, 0.3
_ONLY_MENTIONED = 0.75
_PROTECTED = 0.75  # a path that is held by mistake keeps the agent from what it was asked for
_MOST_READ = 20
_MOST_CLAUSES = 20
_EMPTY = re.compile(r"\b(?:empty|blank|leere?[mnrs]?|vides?|vac[ií][oa]s?)\b", re.I)
_USUALLY_EMPTY = frozenset({"__init__.py", "py.typed", ".gitkeep", ".nojekyll"})
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]+|[^/]+_test)\.py$")


@value
class RequestExpectations:
    """`asks_change`: the request plainly asks for a change."""

    expectations: tuple[Expectation, ...] = ()
    asks_change: bool = False


def of_request(request: str, existed: Callable[[str], bool]) -> RequestExpectations:
    """Derives the expectations of a request. `existed` tells whether something was at a path when the turn began."""
    if _is_data(request):
        return RequestExpectations((), asks_change=False)
    sentences = sentences_of(request, existed)
    kinds = [sentence_kind(sentence.text) for sentence in sentences]
    uses = [(sentence, _uses_in(sentence)) for sentence in sentences]
    asks_change = any(_asks_change(sentence, kind) for sentence, kind in zip(sentences, kinds, strict=True))
    if asks_change:
        derived = [*_outputs(uses, kinds, existed), *_protected(uses, kinds), *_checks(request, uses, existed)]
    else:
        derived = [*_questions(sentences, kinds, existed), *_protected(uses, kinds)]
    return RequestExpectations(_each_once(derived), asks_change)


def clause_kinds(request: str) -> tuple[SentenceKind, ...]:
    """Returns what the sentences of a request plainly ask for, in their order. Of their clauses, only the wish to run something counts.
    What stands before a question that ends the request may merely describe what is there: no change is plainly asked for."""
    kinds: list[SentenceKind] = []
    sentences = sentences_of(request)[:_MOST_CLAUSES] if not _is_data(request) else []
    ends_with_question = bool(sentences) and _asks_plainly(sentences[-1])
    for sentence in sentences:
        kind = sentence_kind(sentence.text)
        if _asks_change(sentence, kind):
            kinds += [] if ends_with_question else [SentenceKind.CHANGE]
        else:
            kinds += [likely for likely, share in kind.items() if likely is not SentenceKind.CHANGE and share >= _SURE]
        clauses = re.split("[,;:]", sentence.text)[:_MOST_CLAUSES]
        runs = [clause for clause in clauses[1:] if sentence_kind(clause.strip())[SentenceKind.RUN] >= _PLAIN_QUESTION]
        kinds += [SentenceKind.RUN] if runs else []
    return tuple(kinds)


def _asks_change(sentence: Sentence, kind: Mapping[SentenceKind, float]) -> bool:
    """A sentence that ends with a question mark must be clearer: an honest answer to a question changes nothing."""
    return kind[SentenceKind.CHANGE] >= (_CLEARLY if _is_question(sentence) else _PERHAPS)


def _asks_plainly(sentence: Sentence) -> bool:
    kind = sentence_kind(sentence.text)
    return _is_question(sentence) and _about_files(kind) + kind[SentenceKind.ADVICE] >= _PLAIN_QUESTION


def _is_question(sentence: Sentence) -> bool:
    return sentence.text.endswith("?")


def _is_data(request: str) -> bool:
    """Tells whether the whole request is a JSON document: its words are no sentences of the person."""
    return bool(re.match(r"\s*[\[{]", request)) and request.rstrip().endswith(("]", "}"))


_Kinds = list[Mapping[SentenceKind, float]]
_Uses = list[tuple[Sentence, list[Mapping[PathUse, float]]]]


def _uses_in(sentence: Sentence) -> list[Mapping[PathUse, float]]:
    return [path_use(surroundings) for surroundings in sentence.around_groups()]


def _outputs(uses: _Uses, kinds: _Kinds, existed: Callable[[str], bool]) -> Iterable[Expectation]:
    for (sentence, of_groups), kind in zip(uses, kinds, strict=True):
        asks_something = _about_files(kind) + kind[SentenceKind.ADVICE]
        if asks_something >= (_MAY_ASK if _is_question(sentence) else _SURE):
            continue
        for group, use in zip(sentence.groups, of_groups, strict=True):
            if use[PathUse.MENTION] >= _ONLY_MENTIONED or use[PathUse.PROTECT] >= _PERHAPS:
                continue
            for path in group.paths:
                is_named_as_new = not path.endswith("/") and path not in group.pointed_at and not existed(path)
                if is_named_as_new and not _leads_outside(path):
                    empty = _EMPTY.search(sentence.text) is not None or path.rpartition("/")[2] in _USUALLY_EMPTY
                    reason = "The request names it."
                    yield Expectation(
                        ExpectationKind.OUTPUT, path, ExpectationSource.REQUEST, why=reason, may_be_empty=empty
                    )


def _protected(uses: _Uses, kinds: _Kinds) -> Iterable[Expectation]:
    only: list[str] = []
    worked_on: list[str] = []
    for sentence, of_groups in uses:
        for group, use in zip(sentence.groups, of_groups, strict=True):
            if use[PathUse.PROTECT] >= _PROTECTED:
                for path in group.paths:
                    reason = "The request says that it stays as it is."
                    yield Expectation(ExpectationKind.PROTECTED, path, ExpectationSource.REQUEST, why=reason)
            elif use[PathUse.ONLY] >= _SURE:
                only += group.paths
            elif use[PathUse.WORK] + use[PathUse.ONLY] >= _PERHAPS:
                worked_on += group.paths
    nothing_else = any(
        _ends_with_rest(sentence) if sentence.groups else kind[SentenceKind.REST] >= _SURE
        for (sentence, _), kind in zip(uses, kinds, strict=True)
    )
    allowed = [*only, *(worked_on if nothing_else else ())]
    if allowed:
        yield everything_but(allowed, ExpectationSource.REQUEST)


def _ends_with_rest(sentence: Sentence) -> bool:
    """Whether a clause without a path says that nothing else may change: `Fix a.py; everything else stays as it is`."""
    clauses = (clause.strip() for clause in re.split("[,;:—–]", sentence.text)[1:_MOST_CLAUSES])
    long_enough = (clause for clause in clauses if OTHER_PATH not in clause and " " in clause)
    return any(sentence_kind(clause)[SentenceKind.REST] >= _PROTECTED for clause in long_enough)


def everything_but(allowed: Iterable[str], source: ExpectationSource) -> Expectation:
    paths = tuple(dict.fromkeys(allowed))
    reason = "The request says that nothing else changes."
    return Expectation(
        ExpectationKind.PROTECTED, f"everything except {', '.join(paths)}", source, why=reason, only=paths
    )


def _checks(request: str, uses: _Uses, existed: Callable[[str], bool]) -> Iterable[Expectation]:
    commands = commands_in(request)
    for command in commands:
        yield Expectation(ExpectationKind.CHECK, command, ExpectationSource.REQUEST, why="The request names it.")
    if commands:
        return
    tests = [
        path for sentence, _ in uses for group in sentence.groups for path in group.paths if _TEST_FILE.search(path)
    ]
    if tests and len(tests) <= _MOST_READ and all(map(existed, tests)) and not any(" " in path for path in tests):
        command = f"python3 -m pytest -q {' '.join(dict.fromkeys(tests))}"
        yield Expectation(ExpectationKind.CHECK, command, ExpectationSource.REQUEST, why="The request names its tests.")


def _questions(sentences: list[Sentence], kinds: _Kinds, existed: Callable[[str], bool]) -> Iterable[Expectation]:
    if any(kind[SentenceKind.CHANGE] >= _HARDLY for kind in kinds) or any(map(_may_ask_change_later, sentences)):
        return
    keeps = [kind[SentenceKind.KEEP] >= _SURE and not s.groups for s, kind in zip(sentences, kinds, strict=True)]
    asks = [_about_files(kind) + kind[SentenceKind.ADVICE] >= _PLAIN_QUESTION for kind in kinds]
    may_run = any(kind[SentenceKind.RUN] >= _HARDLY for kind in kinds)  # what it runs may write
    if not any(keeps) and (may_run or not any(asks)):
        return
    reason = "The request asks for no change." if any(keeps) else "The request is a question."
    yield Expectation(ExpectationKind.NO_CHANGE, "the workspace", ExpectationSource.REQUEST, why=reason)
    about = [s for s, kind in zip(sentences, kinds, strict=True) if _about_files(kind) >= _SURE]
    # What is pointed at with an @ is brought to the model, or the person is told why not: the model need not read it.
    path_groups = (set(group.paths) - set(group.pointed_at) for sentence in about for group in sentence.groups)
    paths = dict.fromkeys(path for group in path_groups for path in sorted(group))
    for path in list(paths)[:_MOST_READ]:
        if not path.endswith("/") and not _leads_outside(path) and existed(path):
            yield Expectation(ExpectationKind.READ, path, ExpectationSource.REQUEST, why="The request asks about it.")


def _may_ask_change_later(sentence: Sentence) -> bool:
    """Tells whether the sentence may go on with a request for a change: "Look up how options are declared and add a module." """
    later_parts = [] if _is_question(sentence) else _PART_ENDS.split(sentence.text)[1:_MOST_CLAUSES]
    return any(sentence_kind(part.strip())[SentenceKind.CHANGE] >= _PART_ASKS_CHANGE for part in later_parts)


def _about_files(kind: Mapping[SentenceKind, float]) -> float:
    return kind[SentenceKind.CONTENT] + kind[SentenceKind.COUNT]


def of_steps(
    steps: Iterable[PlanStep], source: ExpectationSource, existed: Callable[[str], bool]
) -> tuple[Expectation, ...]:
    """Derives the expectations of approved steps: their checks, what they state, and files that they name
    and that did not exist. Such a name is the planner's guess: the work may rightly stand elsewhere."""
    expectations: list[Expectation] = []
    plan_steps = list(steps)
    for step in plan_steps:
        reason = f"Step {step.id[:80]} names it."
        if step.check:
            expectations.append(Expectation(ExpectationKind.CHECK, step.check, source, why=reason))
        expectations += _stated_by_step(step, plan_steps, source)
        new_paths = [path for path in step.paths if is_literal(path) and is_path(path) and not existed(plain(path))]
        expectations += [
            Expectation(ExpectationKind.OUTPUT, plain(path), source, why=reason, guessed=True) for path in new_paths
        ]
    return _each_once(expectations)


def _stated_by_step(step: PlanStep, steps: list[PlanStep], source: ExpectationSource) -> Iterable[Expectation]:
    """Yields what the step states. What other steps of the same turn may change is not held by it."""
    others = [other for other in steps if other is not step]
    changed_by_others = {plain(path) for other in others for path in other.paths}
    for stated in map(read_step_expectation, step.expect):
        if stated.kind is ExpectationKind.PROTECTED and plain(stated.subject) in changed_by_others:
            continue
        if stated.kind is ExpectationKind.NO_CHANGE and any(stated.kind not in other.expect for other in others):
            continue
        yield Expectation(stated.kind, stated.subject, source, why=f"Step {step.id[:80]} states it.")


def of_person(payload: Json | None) -> tuple[Expectation, ...]:
    """Reads what a person stated with the message, or the file of the workflow that it runs."""
    stated = (payload or {}).get(EXPECT)
    source = ExpectationSource.WORKFLOW if "workflow" in (payload or {}) else ExpectationSource.PERSON
    return (
        tuple(_stated(entry, source) for entry in stated if isinstance(entry, dict)) if isinstance(stated, list) else ()
    )


def allowed_checks(payload: Json | None) -> frozenset[str]:
    """Returns the checks that a person stated who may approve: they run without asking."""
    if not payload or payload.get(MAY_CHECK) is not True:
        return frozenset()
    return frozenset(
        expectation.subject for expectation in of_person(payload) if expectation.kind is ExpectationKind.CHECK
    )


def _stated(stated: Mapping[str, JsonValue], source: ExpectationSource) -> Expectation:
    kind, subject = ExpectationKind(str(stated.get("kind"))), str(stated.get("subject"))
    reason = "The person said so." if source is ExpectationSource.PERSON else "The workflow says so."
    return Expectation(kind, subject, source, why=reason)


def reason_for_protection(expectations: Iterable[Expectation], path: str, existed: Callable[[str], bool]) -> str | None:
    """Returns why this path must stay as it is in this turn; None if it may change."""
    for expectation in expectations:
        if expectation.kind is ExpectationKind.NO_CHANGE:
            return f"'{path}' is to stay as it is in this turn. {expectation.why}"
        if expectation.kind is not ExpectationKind.PROTECTED:
            continue
        if expectation.only and not any(names_path(allowed, path, existed) for allowed in expectation.only):
            return f"'{path}' is to stay as it is: only {', '.join(expectation.only)} may change in this turn. {expectation.why}"
        if not expectation.only and names_path(expectation.subject, path, existed):
            return f"'{path}' is to stay as it is in this turn. {expectation.why}"
    return None


def names_path(subject: str, path: str, existed: Callable[[str], bool]) -> bool:
    """Whether the subject names this path: exactly, as a folder around it, as a pattern, or by its bare name if nothing of that name lies
    at the root."""
    subject, path = plain(subject), plain(path)
    if not is_literal(subject) and not subject.endswith("/"):
        return path_matches(subject, path)
    folder = subject.rstrip("/")
    if path == folder or path.startswith(f"{folder}/"):
        return True
    is_bare = "/" not in folder and not existed(folder)
    return is_bare and (path.endswith(f"/{folder}") or f"/{folder}/" in path)


def _leads_outside(path: str) -> bool:
    return path.startswith(("/", "~", "../")) or "/../" in path


def _each_once(expectations: Iterable[Expectation]) -> tuple[Expectation, ...]:
    return tuple(
        {(expectation.kind, expectation.subject): expectation for expectation in reversed(list(expectations))}.values()
    )[::-1]
