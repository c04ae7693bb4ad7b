"""Derives a chat's title from its first message, without a model. Pure."""

NEW_CHAT = "New chat"
TITLE_LENGTH = 60
_SHORTEST_SENTENCE = 12
_READ = 4_000  # characters: a message can have millions of lines
_FENCES = ("```", "~~~")
_MARKERS = "#>*-+•|= \t"
_OPENINGS = (
    "hi", "hello", "hey", "hallo", "good morning", "please", "pls", "bitte", "can you", "could you", "would you",
    "kannst du", "könntest du", "i want you to", "i would like you to", "i'd like you to", "i need you to", "ok", "okay",
)  # fmt: skip


def title_from(content: str) -> str:
    """Returns the first sentence that says something: without code blocks, markup, greetings and "could you please"."""
    content = content.lstrip()[:_READ]
    lines = [line for line in map(_plain, _prose(content)) if line]
    line = next((_without_openings(line) for line in lines if _without_openings(line)), None)
    if line is None:  # only code or only a greeting: better than nothing
        code = (_plain(line) for line in content.splitlines() if not line.lstrip().startswith(_FENCES))
        line = next((text for text in (*lines, *code) if text), NEW_CHAT)
    return _shortened(_capitalised(_first_sentence(line)))


def _prose(content: str) -> list[str]:
    """Returns the lines outside of fenced code."""
    lines, fenced = list[str](), False
    for line in content.splitlines():
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
        elif not fenced:
            lines.append(line)
    return lines


def _plain(line: str) -> str:
    text = " ".join(line.strip().strip(_MARKERS).replace("`", "").replace("**", "").replace("__", "").split())
    return "".join(character for character in text if character.isprintable())


def _without_openings(line: str) -> str:
    remaining = line
    while opening := next((phrase for phrase in _OPENINGS if _opens(remaining, phrase)), None):
        remaining = remaining[len(opening) :].lstrip(" ,.!:;–-")
    return remaining


def _opens(line: str, opening: str) -> bool:
    following = line[len(opening) : len(opening) + 1]
    return line.lower().startswith(opening) and not following.isalnum() and following not in ("'", "’", "_", "/")


def _first_sentence(line: str) -> str:
    ends = [position + 1 for mark in ".?!" if (position := line.find(f"{mark} ", _SHORTEST_SENTENCE)) >= 0]
    sentence = line[: min(ends)] if ends else line
    return sentence.rstrip(".:! ") or line


def _capitalised(line: str) -> str:
    """Capitalises a plain word; the name of a file or a command keeps its spelling."""
    first = line.split(" ", 1)[0]
    return line[:1].upper() + line[1:] if first.isalpha() and first.islower() else line


def _shortened(line: str) -> str:
    if len(line) <= TITLE_LENGTH:
        return line
    return line[:TITLE_LENGTH].rsplit(" ", 1)[0] + "…"
