"""A process of its own that tries to parse one text, named by its language: whatever it costs, it costs the server nothing.

Run as a script with the standard library alone. The text comes on stdin; the fault, if there is one, is said on stdout.
"""

import resource
import sys

SECONDS = 3
_MEMORY = 1 << 30


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    said = fault(sys.argv[1], sys.stdin.buffer.read().decode())
    sys.stdout.write(said or "")


def fault(language: str, text: str) -> str | None:
    """Why the text is not of this language; None if it is. Raises: RecursionError, MemoryError."""
    try:
        _parse(language, text)
    except SyntaxError as error:
        return f"It does not parse as {language}: line {error.lineno}: {error.msg}."
    except ValueError as error:  # JSONDecodeError and TOMLDecodeError are ValueErrors
        return f"It does not load as {language}: {error}."
    return None


def _parse(language: str, text: str) -> None:
    match language:
        case "Python":
            import ast

            ast.parse(text)
        case "JSON":
            import json

            json.loads(text)
        case "TOML":
            import tomllib

            tomllib.loads(text)


if __name__ == "__main__":
    main()
