"""Why the system refused something, in words for people: without the number that Python writes before it. Pure."""

import re

_NUMBER = re.compile(r"\[Errno -?\d{1,9}\] ")


def os_reason(error: BaseException, *, with_path: bool = False) -> str:
    """Return the reason, such as "Permission denied". `with_path` appends the file, for messages that do not name it."""
    if isinstance(error, OSError) and error.strerror:
        path = f": {error.filename}" if with_path and isinstance(error.filename, str) else ""
        return f"{error.strerror}{path}"
    return _NUMBER.sub("", str(error)) or type(error).__name__
