"""What operators are told of an error: its stable code, nothing of its message."""

from anycowork.domain.errors import AnyCoworkError

CANCELLED = "cancelled"


def error_type(error: BaseException) -> str:
    if isinstance(error, AnyCoworkError):
        return error.code
    return "internal_error" if isinstance(error, Exception) else CANCELLED
