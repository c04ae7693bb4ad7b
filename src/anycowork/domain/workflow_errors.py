"""Errors of workflows and job templates: mistakes of a caller, or of a file's author."""

from collections.abc import Mapping, Sequence

from anycowork.domain.errors import Invalid, NotFound, RequestFault


class UnknownWorkflow(Invalid):
    """A message begins like a workflow's name, but no such workflow exists."""

    code = "unknown_workflow"


class BadWorkflow(Invalid):
    """A workflow definition that cannot be run."""

    code = "bad_workflow"


class UnfittingParameters(Invalid):
    """`faults` maps each invalid parameter to the reason; all are reported at once."""

    code = "unfitting_parameters"

    def __init__(self, message: str, faults: Mapping[str, str] | None = None) -> None:
        self.faults = dict(faults or {})
        super().__init__(message, param=f"parameters.{next(iter(self.faults))}" if self.faults else "parameters")

    @classmethod
    def of(cls, workflow: str, faults: Mapping[str, str]) -> "UnfittingParameters":
        reasons = " ".join(f"'{name}' {reason}." for name, reason in faults.items())
        return cls(f"The parameters of '{workflow}' do not fit: {reasons}", faults)


class NoSuchWorkflow(NotFound):
    """`near` are similar names; `left_out` is the fault of a file that would define this workflow."""

    def __init__(self, name: str, near: Sequence[str] = (), left_out: str = "") -> None:
        super().__init__("workflow", name)
        if left_out:
            self.message = f"The workflow '{name[:80]}' is not available until its file is fixed: {left_out}."
            return
        hint = (
            f"Did you mean {' or '.join(repr(name_nearby) for name_nearby in near)}?"
            if near
            else "`anycowork workflow list` or GET /workflows lists them."
        )
        self.message = f"There is no workflow '{name[:80]}'. {hint}"


class NoSuchJobTemplate(NotFound):
    """`left_out` is the fault of a file that would define this template."""

    def __init__(self, name: str, left_out: str = "") -> None:
        super().__init__("job template", name)
        self.message = (
            f"The job template '{name[:80]}' is not available until its file is fixed: {left_out}."
            if left_out
            else f"There is no job template '{name[:80]}'. `anycowork jobs templates` or GET /job-templates lists them."
        )


class NotTrusted(RequestFault):
    """Files of a workspace are used only after a person has trusted their content."""

    code = "not_trusted"
    status = 403
