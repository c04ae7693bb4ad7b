"""Templates of jobs: a plan with parameters that a person fills in. A template grants nothing; the plan made of it waits for approval."""

from dataclasses import field

from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.domain.workflows import WorkflowParameter


@value
class JobTemplate:
    """`goal` and the texts of `steps` may hold `{{placeholders}}`; the steps have the form of a plan's steps."""

    name: str
    description: str
    goal: str
    parameters: tuple[WorkflowParameter, ...]
    steps: tuple[Json, ...] = field(hash=False)

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "description": self.description,
            "goal": self.goal,
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "steps": [*self.steps],
        }
