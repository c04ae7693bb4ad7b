"""Defines the six built-in roles, reads custom roles from files, and holds both in a registry. A built-in role is a `Role` member,
a definition here, and a prompt in `prompts/texts/`."""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated

import msgspec
from pydantic import Field, Strict, ValidationError

from anycowork.domain.boundary import Boundary, reason_of
from anycowork.domain.chats import role_named
from anycowork.domain.errors import Invalid, UnknownRole
from anycowork.domain.roles import OutputFormat, Permission, Role, RoleDefinition
from anycowork.domain.values import replace

READ, WRITE, CREATE = Permission.READ_FILES, Permission.WRITE_FILES, Permission.CREATE_FILES
DELETE, EXECUTE = Permission.DELETE_FILES, Permission.EXECUTE_COMMANDS
BUILT_IN: tuple[RoleDefinition, ...] = (
    RoleDefinition(
        name=Role.PLANNER,
        permissions=frozenset({READ}),
        prompt="planner.md",
        colour="blue",
        icon="magnifying-glass",
        tooltip="Planner reads and plans. It cannot change anything or run commands.",
        output=OutputFormat.PLAN,
    ),
    RoleDefinition(
        name=Role.ACTOR,
        permissions=frozenset({READ, WRITE, CREATE, DELETE, EXECUTE}),
        prompt="actor.md",
        colour="green",
        icon="lightning-bolt",
        tooltip="Actor carries out the work: it reads, changes, creates and deletes files and runs commands.",
    ),
    RoleDefinition(
        name=Role.COMMANDER,
        permissions=frozenset({READ}),
        prompt="commander.md",
        colour="purple",
        icon="compass",
        tooltip="Commander reads, plans and hands tasks to planners and actors. It changes nothing itself.",
        output=OutputFormat.PLAN,
        delegates=(Role.PLANNER, Role.ACTOR),
    ),
    RoleDefinition(
        name=Role.DESIGNER,
        permissions=frozenset({READ, CREATE}),
        prompt="designer.md",
        colour="pink",
        icon="pencil-ruler",
        tooltip="Designer reads and creates new files. It never changes or deletes what is there.",
    ),
    RoleDefinition(
        name=Role.REVIEWER,
        permissions=frozenset({READ}),
        prompt="reviewer.md",
        colour="amber",
        icon="clipboard-check",
        tooltip="Reviewer reads and gives a structured review. It changes nothing.",
        output=OutputFormat.REVIEW,
    ),
    RoleDefinition(
        name=Role.TESTER,
        permissions=frozenset({READ, EXECUTE}),
        prompt="tester.md",
        colour="teal",
        icon="flask",
        tooltip="Tester reads and runs checks. The source stays as it is, whatever a command does.",
    ),
)
_MADE_OF = {"name": "must be a lower-case letter, then lower-case letters, digits, _ and - (at most 40)"}
_BUILT_IN_NAMES = frozenset(definition.name for definition in BUILT_IN)


class RoleRegistry:
    """Looks up built-in and custom roles by name."""

    def __init__(self, custom: Iterable[RoleDefinition] = ()) -> None:
        self._roles = {definition.name: definition for definition in BUILT_IN}
        self._roles |= {definition.name: definition for definition in custom if definition.name not in self._roles}

    def replace_custom(self, custom: Iterable[RoleDefinition]) -> None:
        """Uses these custom roles from now on. Every later check sees them, also in turns that are running."""
        self._roles = RoleRegistry(custom)._roles

    def all(self) -> tuple[RoleDefinition, ...]:
        return tuple(self._roles.values())

    def get(self, name: str) -> RoleDefinition | None:
        return self._roles.get(name)

    def require(self, word: str) -> RoleDefinition:
        """Returns the role of this name, or of `plan`/`act`. Raises: UnknownRole, which lists the valid names."""
        definition = self._roles.get(role_named(word))
        if definition is None:
            raise UnknownRole(f"There is no role '{word[:64]}'. Valid roles: {', '.join(self._roles)}.", param="role")
        return definition

    def with_delegates(self, parent: RoleDefinition) -> RoleDefinition:
        """The role with the permissions of those that it may delegate to: the most that its workers can hold."""
        lent = (self.stored(name).permissions for name in parent.delegates)
        return replace(parent, permissions=parent.permissions.union(*lent)) if parent.delegates else parent

    def stored(self, name: str) -> RoleDefinition:
        """Returns the definition of a chat's stored role. An unknown role gets no permissions and never becomes actor. Never raises."""
        return self._roles.get(name) or missing_role(name)


def missing_role(name: str) -> RoleDefinition:
    return RoleDefinition(
        name=name,
        permissions=frozenset(),
        prompt="lost.md",
        colour="grey",
        icon="question-mark",
        tooltip=f"The definition of the role '{name}' is gone. Choose another role to go on.",
    )


class BadRoleFile(ValueError):
    """The message names the file, the field and the reason."""


class RoleFile(Boundary):
    """The content of a custom role's file, `roles/<name>.toml`. `prompt` is the role's text itself."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
    permissions: tuple[Permission, ...]
    prompt: Annotated[str, Field(min_length=1, max_length=50_000)]
    colour: str = "grey"
    icon: str = "person"
    tooltip: str = ""
    output: OutputFormat = OutputFormat.TEXT
    delegates: tuple[str, ...] = ()


def read_role_file(file_name: str, text: str) -> RoleDefinition:
    """Reads a custom role from its file. Raises: BadRoleFile."""
    try:
        role = RoleFile.model_validate_json(msgspec.json.encode(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise BadRoleFile(f"{file_name} is not valid TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRoleFile(f"{file_name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if role.name in {definition.name for definition in BUILT_IN}:
        raise BadRoleFile(f"{file_name}: '{role.name}' is a built-in role and cannot be replaced; choose another name.")
    if not re.search(r"\S", role.prompt):
        raise BadRoleFile(f"{file_name}: the prompt is empty.")
    return definition_of(role)


def definition_of(role: RoleFile) -> RoleDefinition:
    return RoleDefinition(
        name=role.name,
        permissions=frozenset(role.permissions),
        prompt=role.prompt,
        colour=role.colour,
        icon=role.icon,
        tooltip=role.tooltip or f"{role.name}: a role of your team.",
        output=role.output,
        delegates=role.delegates,
        built_in=False,
    )


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
    """Returns the role that this draft defines. `role_names` are the names of all roles. Raises: BadRoleDraft."""
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
