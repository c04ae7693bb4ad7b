"""Checks small sed and awk programs given as an argument: only forms that can neither run a program nor name a file pass. Pure; one pass."""

_SED_COMMANDS = frozenset("pdq=")
_SED_FLAGS = frozenset("gpiI0123456789")
_ADDRESS = frozenset("0123456789$,+~!")


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
    """Return the position after numbers, `$`, `/…/` and the signs between them; the end of the script if one is not closed."""
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
    """Return the position after `s/…/…/flags`; -1 if it is not plain."""
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
    """Return the position after the next unescaped `mark`; -1 if there is none, or if brackets make it ambiguous."""
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
