"""Browser sessions."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class SessionShape(DescribedSchema):
    page_key: str = Field(
        description="Sent as X-AnyCowork-Page-Key with every request that uses the cookie. Kept by the page in its origin's storage."
    )


class CodeShape(DescribedSchema):
    code: str = Field(description="Works once.")
    expires_in: int = Field(description="Seconds.")
