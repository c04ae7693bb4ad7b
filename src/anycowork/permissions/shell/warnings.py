"""Warns a person about a command rule before it is saved. Pure."""

from anycowork.domain.errors import Invalid
from anycowork.domain.rules import Effect, Rule
from anycowork.permissions.rule_matcher import CommandPattern, command_pattern
from anycowork.permissions.shell.options import uncovered_words, verbs
from anycowork.permissions.shell.shellwords import Word

# fmt: off
_RUN_ANYTHING = frozenset({
    "bash", "sh", "zsh", "dash", "env", "sudo", "doas", "xargs", "find", "python", "python3", "node", "perl",
    "ruby", "eval", "make", "ssh", "docker", "npx", "uvx", "awk",
})
# fmt: on


def check_command_pattern(rule: Rule) -> list[str]:
    """Return warnings about this rule. Raises: Invalid for a pattern that has no meaning."""
    pattern = command_pattern(rule.resource)
    if pattern.tail and not pattern.fixed_words:
        raise Invalid(
            f"'{rule.resource[:80]}' ends in ' *', but the part before it is not one simple command; write it like 'git log *'.",
            param="resource",
        )
    if pattern.fixed_words is None:
        return ["This rule matches only exactly the same text, because it is more than one simple command."]
    if rule.effect is Effect.ALLOW and pattern.tail and pattern.fixed_words[-1].rsplit("/", 1)[-1] in _RUN_ANYTHING:
        return [f"'{pattern.fixed_words[-1]}' can run any program, so this rule allows nearly everything."]
    return _warn_of_options(pattern) if rule.effect is Effect.ALLOW and pattern.tail else []


def _warn_of_options(pattern: CommandPattern) -> list[str]:
    argv = [Word(word, certain=True) for word in (*(pattern.fixed_words or ()), "operand")]
    name = argv[0].value
    if any(uncovered.until >= len(argv) - 1 for uncovered in uncovered_words(name, argv)):
        return [
            f"This rule matches only '{' '.join(pattern.fixed_words or ())}' itself, because more words may run any program."
        ]
    if name not in verbs():
        return [
            f"The options of '{name}' are not known: ' *' covers its operands, and options that the rule does not name ask."
        ]
    return []
