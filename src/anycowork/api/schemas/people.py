"""People of the server."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.people import AccessLevel
from anycowork.domain.people_changes import PeopleChangeType


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


class NamedAccess(DescribedSchema):
    name: str
    access: AccessLevel


class ChangedPerson(NamedAccess):
    id: str


class PeopleChangeShape(DescribedSchema):
    seq: int
    type: PeopleChangeType
    at: str
    principal: str = Field(description="Who made the change: `person:owner`, or `person:<id>:<name>`.")
    by: str | None = Field(description="The name of who made it, as it was then; null for the owner.")
    person: ChangedPerson = Field(description="Whom it was about, with name and access after the change.")
    before: NamedAccess | None = Field(description="Name and access before it; null for a person who was added.")


class PeopleChangeList(DescribedSchema):
    changes: list[PeopleChangeShape]
    next: int | None = Field(description="`before` of the next page; null on the last one.")


class SignedInShape(DescribedSchema):
    id: str
    name: str = Field(description="The person's name, or the program's that acts for them.")
    access: AccessLevel
    owner: bool
    scopes: list[str] = Field(description="What may be done: read, send, decide, manage, passthrough.")
    shared: bool = Field(description="Whether this server has had people besides its owner.")
