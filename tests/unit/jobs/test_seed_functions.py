"""The functions of the seed's coordinator exist under its names, where the design puts them."""

from anycowork.domain.task_progress import TaskProgress
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.task_dispatcher import TaskDispatcher
from support.spec import proves


@proves("JOB-1/6")
def test_the_coordinator_has_the_functions_of_the_seed() -> None:
    found = {
        name
        for owner in (JobCoordinator, TaskDispatcher, TaskProgress)
        for name, member in vars(owner).items()
        if callable(member)
    }
    assert found >= {"planning_phase", "execution_phase", "execute_task", "can_execute", "ready", "update_plan"}
