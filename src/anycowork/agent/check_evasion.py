"""Finds signs that a source could make a check pass without the work: it ends the check, knows the test runner, or changes what runs it.

Only plain forms are found. Code under test runs in the check's own process, so that nothing there can be ruled out. What stood there
before the turn, and what nothing names that the check runs, is no sign. Blocking.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from anycowork.agent import source_signs
from anycowork.agent.source_signs import (
    CHANGES,
    EXITS,
    KNOWS,
    SECONDS,
    Sign,
    SourceSigns,
    not_looked_at,
    read_signs,
    signs_in,
)
from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value

_SUSPECT = late_pattern(
    r"exit|exec|eval|quit|SystemExit|pytest|unittest|doctest|__eq__|PYTEST|builtins|setattr|getattr|__import__|ctypes|posix|settrace"
    r"|setprofile|_getframe|inspect|import \*|sys\.\w{1,60} {0,20}=|\b(?:os|sys) as\b|__ne__|__main__|__builtins__|_stack|import_module"
    r"|sys\.(?:modules|orig_argv|argv)|test_|_test\.|conftest"
)
_BY_SUFFIXES = {
    "js mjs cjs jsx ts tsx": late_pattern(
        r"process\.(?:exit\(\s{0,20}0?\s{0,20}\)|exitCode\s{0,20}=(?!=)(?!\s{0,20}[1-9])|reallyExit)"
    ),
    "rs": late_pattern(r"process::exit\(\s{0,20}0\s{0,20}\)"),
    "go": late_pattern(r"\bos\.Exit\(\s{0,20}0\s{0,20}\)"),
    "java kt scala": late_pattern(
        r"System\.exit\(\s{0,20}0\s{0,20}\)|exitProcess\(\s{0,20}0\s{0,20}\)|\.halt\(\s{0,20}0\s{0,20}\)"
    ),
    "c cc cpp h hpp": late_pattern(r"\b_?exit\(\s{0,20}(?:0|EXIT_SUCCESS)\s{0,20}\)"),
    "rb": late_pattern(r"\bexit!|\bexit\(?\s{0,20}(?:0|true)\b|\bat_exit\b"),
    "php": late_pattern(r"\b(?:exit|die)\s{0,20}(?:\(\s{0,20}0?\s{0,20}\))?\s{0,20};"),
}
_ENDS_IN = {suffix: pattern for suffixes, pattern in _BY_SUFFIXES.items() for suffix in suffixes.split()}
# To exit with success in the main function is to return from it.
_MAIN = late_pattern(
    r"\s{0,40}(?:if \(require\.main === module\)|if \(import\.meta\.main\)|func main\(\)|(?:pub )?fn main\(\)|int main\("
    r"|(?:public static void|fun|def) main\()[^{]{0,200}\{\s{0,20}$"
)
_CHANGES_JAVASCRIPT = late_pattern(
    r"[\"'](?:node:test|vitest|mocha|chai|ava|@jest/globals|@playwright/test)[\"']"
    r"|\b(?:assert|expect)(?:[\"']\))?(?:\.\w{1,60}){1,3}\s{0,20}=[^=>]|\bglobalThis\.(?:test|it|describe|expect|assert)\s{0,20}=[^=]"
)
LITERAL = late_pattern(r"[\"'`]([^\"'`\n]{1,200})[\"'`]")
_ANY_FUNCTION = frozenset({"globals", "locals", "vars", "dir", "__dict__", "getmembers"})
_MOST_ROUNDS = 50
_QUICK = 32_000  # characters that are parsed in this process; longer sources go to a separate one


@value
class Reach:
    """How a check may reach a source that the turn changed; without it, anything is reached. `before` is its text before the turn.
    `is_named` tells whether something else names this function of it, `is_named_more` whether the turn named it more often than before.
    `runs_programs`: the tests start processes. `reports_exits`: an exit inside a test counts as failed. `check_names` are the names of
    the files that the check runs."""

    before: str = ""
    is_loaded: Callable[[], bool] = lambda: True
    is_named: Callable[[str], bool] = lambda name: True
    is_named_more: Callable[[str], bool] = lambda name: True
    runs_programs: Callable[[], bool] = lambda: False
    reports_exits: Callable[[], bool] = lambda: False
    check_names: frozenset[str] = frozenset()


ANYHOW = Reach()


def evasion_in(path: str, text_of: Callable[[str], str], reach: Reach = ANYHOW) -> str:
    """Returns how this source could make a check pass without the work; empty without a sign of it."""
    suffix = path.rpartition(".")[2]
    text = text_of(path) if suffix == "py" or suffix in _ENDS_IN else ""
    if (_named_files(text) - _named_files(reach.before)) & reach.check_names:
        return KNOWS
    if suffix in _ENDS_IN:
        how = _sign_in_text(suffix, text)
        return how if how and reach.is_loaded() else ""
    signs = list(_signs_in(text, reach))
    earlier_signs = Counter(sign.content for sign in _signs_in(reach.before, ANYHOW)) if signs else Counter[str]()
    for sign in signs:
        if earlier_signs[sign.content] and not any(map(reach.is_named_more, sign.names)):
            earlier_signs[sign.content] -= 1
        else:
            return sign.how
    return ""


def _named_files(text: str) -> set[str]:
    return {literal.rpartition("/")[2] for literal in LITERAL.findall(text) if " " not in literal}


def _sign_in_text(suffix: str, text: str) -> str:
    if _ENDS_IN[suffix].search(_without_main(text)):
        return EXITS
    is_javascript = suffix.endswith(("js", "ts", "jsx", "tsx"))
    return CHANGES if is_javascript and _CHANGES_JAVASCRIPT.search(text) else ""


def _without_main(text: str) -> str:
    lines: list[str] = []
    end: str | None = None
    for line in text.split("\n"):
        if end is not None:
            end = None if line.startswith(end) else end
        elif _MAIN.match(line[:400]) and line.rstrip().endswith("{"):
            end = f"{line[: len(line) - len(line.lstrip())]}}}"
        else:
            lines.append(line)
    return "\n".join(lines) if end is None else text


def _signs_in(text: str, reach: Reach) -> Iterator[Sign]:
    if not _SUSPECT.search(text):
        return
    source = signs_in(text) if len(text) <= _QUICK else _signs_by_process(text)
    if not source.signs:
        return
    runs_programs = reach.runs_programs()
    unreached = _unreached(source, reach, runs_programs=runs_programs)
    for sign in source.signs:
        if (sign.in_main and not runs_programs) or not unreached.isdisjoint(sign.scope):
            continue
        if not (sign.how == EXITS and sign.in_function and reach.reports_exits()):
            yield sign


def _signs_by_process(text: str) -> SourceSigns:
    command = [sys.executable, "-I", "-S", source_signs.__file__]
    try:
        done = subprocess.run(
            command, input=text.encode(errors="replace"), capture_output=True, timeout=5 * SECONDS, check=True
        )
    except (subprocess.SubprocessError, OSError):
        return not_looked_at(text)
    return read_signs(done.stdout)


def _unreached(source: SourceSigns, reach: Reach, *, runs_programs: bool) -> set[int]:
    """Returns the functions that nothing names which the check could run."""
    plain = [f for f in source.functions if f.is_plain and (runs_programs or not f.in_main)]
    mentions = [(m.scope, set(m.names)) for m in source.mentions if runs_programs or not m.in_main]
    unreached = {f.id for f in plain if not reach.is_named(f.name)}
    for _ in range(_MOST_ROUNDS):
        if not unreached:
            return unreached
        mentioned_names = set[str]().union(*(names for scope, names in mentions if unreached.isdisjoint(scope)))
        if mentioned_names & _ANY_FUNCTION:
            return set()
        named_functions = {f.id for f in plain if f.id in unreached and f.name in mentioned_names}
        if not named_functions:
            return unreached
        unreached -= named_functions
    return set()
