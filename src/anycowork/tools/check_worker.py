"""A separate process that parses one text in a given language, so that parsing never burdens the server.

Run as a script with only the standard library. The text comes on stdin; the error, if any, is written to stdout.
"""

import resource
import sys

SECONDS = 1
_MEMORY = 1 << 30


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    problem = fault(sys.argv[1], sys.stdin.buffer.read().decode())
    sys.stdout.write(problem or "")


def fault(language: str, text: str) -> str | None:
    """Returns why the text is not of this language; None if it is. Raises: RecursionError, MemoryError."""
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

            json.loads(text)  # noqa: TID251  # a process of its own, with a deadline
        case "TOML":
            import tomllib

            tomllib.loads(text)


if __name__ == "__main__":
    main()
