"""The lines of a text as files, diffs and git have them. `str.splitlines` also ends lines at form feeds, U+2028 and others."""


def bare_lines(text: str) -> list[str]:
    """The lines without their ends. Only a line feed ends one, with a carriage return before it or not."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
