"""The part of `[agents.NAME]` that names a program: an agent of another vendor, spoken with by the Agent Client Protocol."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints, field_validator, model_validator

from anycowork.domain.agents import DelegateConfig
from anycowork.domain.network import wanted_destinations

Word = Annotated[str, StringConstraints(min_length=1, max_length=4_096, pattern=r"^[^\x00]*$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]


class DelegateFields(BaseModel):
    """`command` is the program with its arguments. `env` names variables of the server's environment that it gets."""

    command: Annotated[tuple[Word, ...], Field(max_length=100)] = ()
    env: Annotated[tuple[Variable, ...], Field(max_length=50)] = ()
    network: Annotated[tuple[str, ...], Field(max_length=40)] = ()
    seconds: Annotated[float, Field(gt=0, le=86_400)] = 600.0

    @field_validator("network")
    @classmethod
    def _hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        wanted_destinations(hosts)
        return hosts

    @model_validator(mode="after")
    def _belongs_to_a_command(self) -> "DelegateFields":
        if not self.command and (self.env or self.network):
            raise ValueError("'env' and 'network' belong to an agent with a 'command'")
        return self


def delegates_of(agents: Mapping[str, DelegateFields]) -> tuple[DelegateConfig, ...]:
    """The agents that are programs."""
    return tuple(
        DelegateConfig(name, entry.command[0], entry.command[1:], entry.env, entry.network, entry.seconds)
        for name, entry in agents.items()
        if entry.command
    )
