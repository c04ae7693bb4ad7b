"""Decides which words of a command a rule with ` *` may cover: operands, and options that are known to run no other program.

The tables are in `verbs.toml`. For a program that is not listed, only operands are covered, because its options are unknown. Pure.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from anycowork.domain.values import value
from anycowork.permissions.shell.shellwords import Word

_NONE: frozenset[str] = frozenset()
_FIND_SIGNS = ("(", ")", "!", ",")
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
_SED_COMMANDS = frozenset("pdq=")
_SED_FLAGS = frozenset("gpiI0123456789")
_ADDRESS = frozenset("0123456789$,+~!")


@value
class UncoveredWord:
    """A word that ` *` does not cover. A pattern must name all words up to and including `until`. `is_known`: the program is listed."""

    until: int
    reason: str
    is_known: bool


@value
class Verb:
    """A program, or a subcommand of one, as `verbs.toml` describes it."""

    flags: frozenset[str] = _NONE
    valued: frozenset[str] = _NONE
    subs: "Mapping[str, Verb] | None" = None
    covers_any: bool = False
    is_expression: bool = False
    script: str | None = None
    scripts_in: frozenset[str] = _NONE
    module: str | None = None
    starts_program: bool = False
    takes_orders: bool = False
    counts: bool = False
    passes_on: bool = False
    without: str = ""
    bundle: str = ""


def uncovered_words(name: str, argv: Sequence[Word]) -> tuple[UncoveredWord, ...]:
    """Returns the words of this command, from the second on, that a rule with ` *` does not cover."""
    verb = verbs().get(name)
    if verb is None:
        return _uncovered_by_unknown(name, argv)
    return () if verb.covers_any else tuple(_Checker(name, verb, argv).check())


def may_run_input(name: str, argv: Sequence[Word]) -> bool:
    """Whether the program may run its input: an interpreter, or an unknown program."""
    verb = verbs().get(name)
    if verb is None or not verb.takes_orders:
        return verb is None
    values = [word.value for word in argv]
    module_index = values.index(verb.module) + 1 if verb.module in values else len(values)
    return module_index >= len(values) or may_run_input(values[module_index], argv[module_index:])


def _uncovered_by_unknown(name: str, argv: Sequence[Word]) -> tuple[UncoveredWord, ...]:
    reason = f"the options of '{name[:40]}' are not known"
    return tuple(
        UncoveredWord(index, reason, is_known=False)
        for index, word in enumerate(argv)
        if index and not _is_operand(word)
    )


@lru_cache(maxsize=1)
def verbs() -> dict[str, Verb]:
    table = tomllib.loads((files("anycowork.permissions.shell") / "verbs.toml").read_text("utf-8"))
    verbs_by_name = dict.fromkeys(table["any"]["names"].split(), Verb(covers_any=True))
    verbs_by_name.update(_verbs_in(table["verbs"]))
    return verbs_by_name


def _verbs_in(table: dict[str, dict[str, object]]) -> dict[str, Verb]:
    verbs_by_name: dict[str, Verb] = {}
    for name, entry in table.items():
        verb = _verb(entry)
        for alias in (name, *_texts(entry, "aliases")):
            verbs_by_name[alias] = verb
    return verbs_by_name


def _verb(entry: dict[str, object]) -> Verb:
    subs = entry.get("subs")
    return Verb(
        flags=_texts(entry, "flags"),
        valued=_texts(entry, "valued"),
        subs=_verbs_in(subs) if isinstance(subs, dict) else None,
        is_expression=bool(entry.get("expression")),
        script=str(entry["script"]) if "script" in entry else None,
        scripts_in=_texts(entry, "scripts_in"),
        module=str(entry["module"]) if "module" in entry else None,
        starts_program="then" in entry,
        takes_orders=bool(entry.get("orders")),
        counts=bool(entry.get("counts")),
        passes_on=bool(entry.get("passes_on")),
        without=str(entry.get("without", "")),
        bundle=str(entry.get("bundle", "")),
    )


def _texts(entry: dict[str, object], key: str) -> frozenset[str]:
    return frozenset(str(entry.get(key, "")).split())


class _Checker:
    """Checks the words once, from left to right: each is a known option, the value of one, or an operand."""

    def __init__(self, name: str, verb: Verb, argv: Sequence[Word]) -> None:
        self.name, self.verb, self.argv = name, verb, argv
        self.without, self.passes_on = verb.without, verb.passes_on
        self.uncovered: list[UncoveredWord] = []
        self.script_pending = verb.script is not None
        self.only_operands = False

    def check(self) -> list[UncoveredWord]:
        index = 1
        while index < len(self.argv):
            index = self._word(index)
        return self.uncovered

    def _word(self, index: int) -> int:
        """Checks this word and returns the position of the next one."""
        word, verb = self.argv[index], self.verb
        if word.certain and self.without and self.without in word.value:
            return self._mark_uncovered(index, f"'{word.value[:40]}' can name what '{self.name}' runs")
        if index == 1 and verb.bundle and _is_operand(word):
            all_letters_known = word.certain and set(word.value) <= set(verb.bundle)
            return (
                index + 1
                if all_letters_known
                else self._mark_uncovered(index, f"the letters '{word.value[:40]}' of '{self.name}' are not all known")
            )
        if (
            self.only_operands
            or _is_operand(word)
            or (verb.is_expression and word.certain and word.value in _FIND_SIGNS)
        ):
            return self._operand(index)
        if not word.certain:
            return self._mark_uncovered(index, f"'{word.value[:40]}' may become an option when it runs")
        if word.value == "--" and self.passes_on:
            return self._another_program(index, "the program after '--'")
        if word.value == "--":
            self.only_operands = not verb.subs
            return index + 1
        return self._option(index)

    def _operand(self, index: int) -> int:
        word, verb = self.argv[index], self.verb
        if verb.subs is not None:
            return self._subcommand(index)
        if self.script_pending:
            self._check_script(index, word.value if word.certain else None)
        elif verb.starts_program:
            return self._another_program(index, word.value)
        return index + 1

    def _another_program(self, index: int, name: str) -> int:
        """The words from here on belong to an unknown program."""
        uncovered = _uncovered_by_unknown(name, self.argv[index:])
        self.uncovered += [UncoveredWord(word.until + index, word.reason, is_known=False) for word in uncovered]
        return len(self.argv)

    def _subcommand(self, index: int) -> int:
        word = self.argv[index]
        verb = (self.verb.subs or {}).get(word.value) if word.certain else None
        if verb is None:
            self.verb = Verb()
            return self._mark_uncovered(index, f"'{self.name} {word.value[:40]}' is not known")
        self.name, self.verb = f"{self.name} {word.value}", verb
        return index + 1

    def _option(self, index: int) -> int:
        option, verb = self.argv[index].value, self.verb
        if option == verb.module:
            return self._module(index + 1)
        if verb.is_expression and option in _FIND_RUNS:
            return self._after_run(index)
        if option in verb.flags or self._is_bundle(option) or (verb.counts and option[1:].isdigit()):
            return index + 1
        if option in verb.valued or self._is_bundle_with_value(option):
            return self._value(index, option if option in verb.valued else f"-{option[-1]}")
        head, joined, tail = option.partition("=")
        if joined and option.startswith("--") and head in verb.valued:
            if head in verb.scripts_in:
                self._check_script(index, tail)
            return index + 1
        if self._has_joined_value(option):
            return index + 1
        return self._mark_uncovered(index, f"the option '{option[:40]}' of '{self.name}' is not known to be harmless")

    def _module(self, index: int) -> int:
        if index >= len(self.argv) or not self.argv[index].certain:
            return self._mark_uncovered(min(index, len(self.argv) - 1), f"which module '{self.name}' runs is not known")
        uncovered = uncovered_words(self.argv[index].value, self.argv[index:])
        self.uncovered += [UncoveredWord(word.until + index, word.reason, is_known=word.is_known) for word in uncovered]
        return len(self.argv)

    def _after_run(self, index: int) -> int:
        """Returns the position after `-exec … ;`, whose words are analyzed as a separate command."""
        while index < len(self.argv) and self.argv[index].value not in (";", "+"):
            index += 1
        return index + 1

    def _value(self, index: int, option: str) -> int:
        """Checks the next word, the option's value. An option with an optional value does not take a word that begins with '-'."""
        if index + 1 >= len(self.argv):
            return index + 1
        following = self.argv[index + 1]
        if not following.single or not (_is_operand(following) or following.value.lstrip("-+").isdigit()):
            return self._mark_uncovered(index + 1, f"'{following.value[:40]}' may be read as an option")
        if following.certain and self.without and self.without in following.value:
            return self._mark_uncovered(index + 1, f"'{following.value[:40]}' can name what '{self.name}' runs")
        if option in self.verb.scripts_in:
            self._check_script(index + 1, following.value if following.certain else None)
        return index + 2

    def _check_script(self, index: int, text: str | None) -> None:
        self.script_pending = False
        if not text or not _SCRIPTS[self.verb.script or "sed"](text):
            self._mark_uncovered(index, f"the script of '{self.name}' may run programs or write files")

    def _is_bundle(self, option: str) -> bool:
        """Whether the option is like `-la` or `-j4`: every letter is a flag, perhaps followed by a number."""
        letters = option[1:].rstrip("0123456789") if _is_short(option) else ""
        return (
            bool(letters) and not self.verb.is_expression and all(f"-{letter}" in self.verb.flags for letter in letters)
        )

    def _is_bundle_with_value(self, option: str) -> bool:
        """Whether the option is like `-ne`: flags, and a last letter that takes the next word."""
        if not _is_short(option) or f"-{option[-1]}" not in self.verb.valued:
            return False
        return not self.verb.is_expression and all(f"-{letter}" in self.verb.flags for letter in option[1:-1])

    def _has_joined_value(self, option: str) -> bool:
        """Whether the option is like `-F:` or `-k2,2`."""
        if not _is_short(option) or self.verb.is_expression or option[:2] in self.verb.scripts_in:
            return False
        return option[:2] in self.verb.valued

    def _mark_uncovered(self, index: int, reason: str) -> int:
        """Records this word as uncovered; an option may take the next word as its value."""
        until = index if _is_operand(self.argv[index]) else min(index + 1, len(self.argv) - 1)
        self.uncovered.append(UncoveredWord(until, reason, is_known=True))
        return index + 1


def _is_short(option: str) -> bool:
    return option.startswith("-") and len(option) > 2 and option[1] != "-"


def _is_operand(word: Word) -> bool:
    return word.is_operand or (word.certain and word.value == "-")


def is_plain_sed(script: str) -> bool:
    """Whether the script uses only addresses with `p`, `d`, `q`, `=`, and `s/…/…/` with the flags g, p, i and numbers, separated by `;`."""
    position = _skip_blanks(script, 0)
    while position < len(script):
        position = _sed_address(script, position)
        if position >= len(script):
            return False
        if script[position] in _SED_COMMANDS:
            position += 1
        elif script[position] == "s":
            position = _sed_substitute(script, position + 1)
        else:
            return False
        if position < 0:
            return False
        position = _skip_blanks(script, position)
        if position < len(script) and script[position] not in ";\n":
            return False
        position = _skip_blanks(script, position + 1)
    return True


def is_plain_awk(program: str) -> bool:
    """Whether the program has no `system`, pipe, redirection, `getline` or `@`: without these awk only prints."""
    if any(sign in program for sign in (">", "@", "\\\n")) or "|" in program.replace("||", ""):
        return False
    return "system" not in program and "getline" not in program


def _skip_blanks(script: str, position: int) -> int:
    while position < len(script) and script[position] in " \t":
        position += 1
    return position


def _sed_address(script: str, position: int) -> int:
    """Returns the position after numbers, `$`, `/…/` and the signs between them; the end of the script if one is not closed."""
    while position < len(script) and (script[position] in _ADDRESS or script[position] in "/ "):
        if script[position] == "/":
            position = _sed_end(script, position + 1, "/")
            if position < 0:
                return len(script)
            if script[position : position + 1] == "I":
                position += 1
        else:
            position += 1
    return position


def _sed_substitute(script: str, position: int) -> int:
    """Returns the position after `s/…/…/flags`; -1 if it is not plain."""
    mark = script[position : position + 1]
    if not mark or mark.isalnum() or mark in " \t\n\\;":
        return -1
    middle = _sed_end(script, position + 1, mark)
    end = _sed_end(script, middle, mark) if middle > 0 else -1
    if end < 0:
        return -1
    while end < len(script) and script[end] in _SED_FLAGS:
        end += 1
    return end


def _sed_end(script: str, position: int, mark: str) -> int:
    """Returns the position after the next unescaped `mark`; -1 if there is none, or if brackets make it ambiguous."""
    while position < len(script):
        if script[position] == mark:
            return position + 1
        if script[position] == "\n":
            return -1
        if script[position] == "[":
            close = script.find("]", position + 1)
            inside = script[position + 1 : close] if close > position else ""
            if inside in ("", "^") or any(sign in inside for sign in (mark, "[", "\\", "\n")):
                return -1
            position = close
        position += 2 if script[position] == "\\" else 1
    return -1


_SCRIPTS: dict[str, Callable[[str], bool]] = {"sed": is_plain_sed, "awk": is_plain_awk}
