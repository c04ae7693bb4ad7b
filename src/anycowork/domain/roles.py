"""Roles and permissions. A built-in role is a member here, a definition in `permissions/roles.py`, and a prompt."""

from enum import StrEnum

from anycowork.domain.values import value


class Permission(StrEnum):
    READ_FILES = "read_files"
    WRITE_FILES = "write_files"
    CREATE_FILES = "create_files"
    DELETE_FILES = "delete_files"
    EXECUTE_COMMANDS = "execute_commands"


class Role(StrEnum):
    PLANNER = "planner"
    ACTOR = "actor"
    COMMANDER = "commander"
    DESIGNER = "designer"
    REVIEWER = "reviewer"
    TESTER = "tester"


class OutputFormat(StrEnum):
    """What a role's answer may be besides text."""

    TEXT = "text"
    PLAN = "plan"
    REVIEW = "review"


@value
class RoleDefinition:
    """Identity = permissions + delegates + prompt + output contract. `name` is a `Role`'s value or a validated custom name."""

    name: str
    permissions: frozenset[Permission]
    prompt: str
    colour: str
    icon: str
    tooltip: str
    output: OutputFormat = OutputFormat.TEXT
    delegates: tuple[str, ...] = ()
    built_in: bool = True

    def grants(self, required: frozenset[Permission]) -> bool:
        """Whether the role has ALL of these permissions; only then does it grant a tool."""
        return required <= self.permissions

    @property
    def only_advises(self) -> bool:
        """Whether its output is a plan or a review: then everything beyond reading asks a person, whatever the tool's default."""
        return self.output is not OutputFormat.TEXT

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()
