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


LISTED_BY = {
    "chat_not_found": "anycowork chats",
    "job_not_found": "anycowork jobs list",
    "task_not_found": "anycowork jobs show JOB",
    "role_not_found": "anycowork role list",
    "provider_not_found": "anycowork model list",
    "mcp_server_not_found": "anycowork mcp list",
}


def with_way_out(error: AnyCoworkError) -> str:
    """Returns the error's message; of a thing that does not exist, with the command that lists those that do."""
    listed_by = LISTED_BY.get(error.specific.lower()) if isinstance(error, ServerRefused) else None
    return f"{error.message} `{listed_by}` lists them." if listed_by else error.message
