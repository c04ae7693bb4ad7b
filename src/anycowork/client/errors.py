"""What a request to the server can end with. Apart from the HTTP client, whose libraries take a while to load."""

from anycowork.domain.errors import AnyCoworkError


class ServerRefused(AnyCoworkError):
    """The server answered a request with an error. `specific` is its code, `status` the HTTP status."""

    code = "house_answered"

    def __init__(self, status: int, specific: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.specific = specific


class ServerUnreachable(AnyCoworkError):
    code = "house_gone"
