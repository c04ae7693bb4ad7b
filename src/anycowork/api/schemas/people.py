"""People of the server."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.people import AccessLevel


class PersonShape(DescribedSchema):
    id: str = Field(description="`owner` for the owner of the server.")
    name: str
    access: AccessLevel
    owner: bool
    created_at: str | None = Field(description="null for the owner.")


class PeopleList(DescribedSchema):
    people: list[PersonShape]


class PersonWithToken(PersonShape):
    token: str = Field(description="Shown this once; only its digest is stored.")


class SignedInShape(DescribedSchema):
    id: str
    name: str = Field(description="The person's name, or the program's that acts for them.")
    access: AccessLevel
    owner: bool
    scopes: list[str] = Field(description="What may be done: read, send, decide, manage, passthrough.")
    shared: bool = Field(description="Whether this server has had people besides its owner.")
