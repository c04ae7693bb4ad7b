"""Checks small sed and awk programs given as an argument: only forms that can neither run a program nor name a file pass. Pure; one pass."""

_SED_COMMANDS = frozenset("pdq=")
_SED_FLAGS = frozenset("gpiI0123456789")
_ADDRESS = frozenset("0123456789$,+~!")


def is_plain_sed(script: str) -> bool:
    """Whether the script uses only addresses with `p`, `d`, `q`, `=`, and `s/…/…/` with the flags g, p, i and numbers, separated by `;`."""
    at = _skip_blanks(script, 0)
    while at < len(script):
        at = _sed_address(script, at)
        if at >= len(script):
            return False
        if script[at] in _SED_COMMANDS:
            at += 1
        elif script[at] == "s":
            at = _sed_substitute(script, at + 1)
        else:
            return False
        if at < 0:
            return False
        at = _skip_blanks(script, at)
        if at < len(script) and script[at] not in ";\n":
            return False
        at = _skip_blanks(script, at + 1)
    return True


def is_plain_awk(program: str) -> bool:
    """Whether the program has no `system`, pipe, redirection, `getline` or `@`: without these awk only prints."""
    if any(sign in program for sign in (">", "@", "\\\n")) or "|" in program.replace("||", ""):
        return False
    return "system" not in program and "getline" not in program


def _skip_blanks(script: str, at: int) -> int:
    while at < len(script) and script[at] in " \t":
        at += 1
    return at


def _sed_address(script: str, at: int) -> int:
    """Return the position after numbers, `$`, `/…/` and the signs between them; the end of the script if one is not closed."""
    while at < len(script) and (script[at] in _ADDRESS or script[at] in "/ "):
        if script[at] == "/":
            at = _sed_end(script, at + 1, "/")
            if at < 0:
                return len(script)
            if script[at : at + 1] == "I":
                at += 1
        else:
            at += 1
    return at


def _sed_substitute(script: str, at: int) -> int:
    """Return the position after `s/…/…/flags`; -1 if it is not plain."""
    mark = script[at : at + 1]
    if not mark or mark.isalnum() or mark in " \t\n\\;":
        return -1
    middle = _sed_end(script, at + 1, mark)
    end = _sed_end(script, middle, mark) if middle > 0 else -1
    if end < 0:
        return -1
    while end < len(script) and script[end] in _SED_FLAGS:
        end += 1
    return end


def _sed_end(script: str, at: int, mark: str) -> int:
    """Return the position after the next unescaped `mark`; -1 if there is none, or if brackets make it ambiguous."""
    while at < len(script):
        if script[at] == mark:
            return at + 1
        if script[at] == "\n":
            return -1
        if script[at] == "[":
            close = script.find("]", at + 1)
            inside = script[at + 1 : close] if close > at else ""
            if inside in ("", "^") or any(sign in inside for sign in (mark, "[", "\\", "\n")):
                return -1
            at = close
        at += 2 if script[at] == "\\" else 1
    return -1
