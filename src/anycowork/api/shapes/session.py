"""Browser sessions."""

from pydantic import Field

from anycowork.api.shapes.base import Described


class SessionShape(Described):
    page_key: str = Field(
        description="Sent as X-AnyCowork-Page-Key with every request that uses the cookie. Kept by the page in its origin's storage."
    )


class CodeShape(Described):
    code: str = Field(description="Works once.")
    expires_in: int = Field(description="Seconds.")
