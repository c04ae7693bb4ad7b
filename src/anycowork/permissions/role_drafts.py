"""Checks a role that a person writes in the settings, before it is saved. Pure; every fault is reported at its field."""

from collections.abc import Collection, Mapping
from typing import Annotated

import msgspec
from pydantic import Field, Strict, ValidationError

from anycowork.domain.boundary import Boundary, reason_of
from anycowork.domain.chats import role_named
from anycowork.domain.errors import Invalid
from anycowork.domain.roles import OutputFormat, Permission, RoleDefinition
from anycowork.permissions.roles import BUILT_IN, RoleFile, definition_of

_MADE_OF = {"name": "must be a lower-case letter, then lower-case letters, digits, _ and - (at most 40)"}
_BUILT_IN_NAMES = frozenset(definition.name for definition in BUILT_IN)


class RoleDraft(Boundary):
    """A role as a person is writing it: of the right types, but not yet checked."""

    permissions: list[Annotated[Permission, Strict(False)]] = Field(default_factory=list, max_length=20)
    prompt: Annotated[str, Field(max_length=60_000)] = ""
    colour: Annotated[str, Field(max_length=40)] = "grey"
    icon: Annotated[str, Field(max_length=40)] = "person"
    tooltip: Annotated[str, Field(max_length=500)] = ""
    output: Annotated[OutputFormat, Strict(False)] = OutputFormat.TEXT
    delegates: list[str] = Field(default_factory=list, max_length=20)


class BadRoleDraft(Invalid):
    """`faults` maps each field to what is wrong with it; all are reported at once."""

    code = "bad_role"

    def __init__(self, message: str, faults: Mapping[str, str] | None = None) -> None:
        self.faults = dict(faults or {})
        super().__init__(message, param=next(iter(self.faults), None))

    @classmethod
    def of(cls, name: str, faults: Mapping[str, str]) -> "BadRoleDraft":
        reasons = " ".join(f"'{field}' {reason}." for field, reason in faults.items())
        return cls(f"The role '{name[:80]}' cannot be saved: {reasons}", faults)


def checked_role(name: str, draft: RoleDraft, role_names: Collection[str]) -> RoleDefinition:
    """Return the role that this draft defines. `role_names` are the names of all roles. Raises: BadRoleDraft."""
    faults: dict[str, str] = {}
    try:
        file = RoleFile.model_validate_json(msgspec.json.encode({"name": name, **draft.model_dump(mode="json")}))
    except ValidationError as error:
        for problem in error.errors():
            field = str(problem["loc"][0])
            faults.setdefault(field, _MADE_OF.get(field) or reason_of(problem["msg"]))
    if name in _BUILT_IN_NAMES:
        faults["name"] = "is a built-in role, which cannot be changed; choose another name"
    elif "name" not in faults and role_named(name) != name:
        faults["name"] = f"is short for {role_named(name)}; choose another name"
    if not draft.prompt.strip():
        faults["prompt"] = "must not be empty"
    if strange := [other for other in draft.delegates if other not in role_names or other == name]:
        faults["delegates"] = f"must name other roles, and '{strange[0][:80]}' is not one"
    if faults:
        raise BadRoleDraft.of(name, faults)
    return definition_of(file)
