"""Jobs: a request or a plan carried out task by task by worker agents, after a person's approval. And the agents there are."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.middleware.auth import Decider, Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.jobs import AgentList, JobList, JobResponse, JobTemplateList, TaskPageResponse, TaskResponse
from anycowork.chats.jobs.earlier_plans import LONGEST_REQUEST
from anycowork.chats.jobs.job_drafts import NewJob
from anycowork.chats.plans import PlanEdits
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.jobs import CommitMode, JobLimits, OnFailure
from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget
from anycowork.domain.visibility import viewer_of

routes = Router(tags=["jobs"])
Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
Tokens = Annotated[int, Field(gt=0)]


class LimitsRequest(Boundary):
    seconds: Positive | None = None
    tokens: Tokens | None = None
    cost: Positive | None = None

    def budget(self) -> Budget:
        return Budget(seconds=self.seconds, tokens=self.tokens, cost=self.cost)


class JobLimitsRequest(Boundary):
    """What one task, all its attempts together, and the whole job may use."""

    task: LimitsRequest = LimitsRequest()
    job: LimitsRequest = LimitsRequest()


class TemplateRequest(Boundary):
    """The values come with their type or as text, as a form's fields do."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    parameters: Json = Field(default_factory=dict, examples=[{"path": "src/app.py"}])


class NewJobRequest(Boundary):
    """Exactly one of `request`, which the planning agent makes a plan of, `plan`, and `template`, which a plan is made of."""

    request: Annotated[str, Field(min_length=1)] | None = None
    plan: Json | None = None
    template: TemplateRequest | None = None
    parallel: Annotated[
        int, Field(ge=1, le=64, description="How many tasks may write at the same time, each in its own copy.")
    ] = 1
    commit: Annotated[
        CommitMode, Field(strict=False, description="'job': nothing reaches the workspace before a person kept it.")
    ] = CommitMode.TASK
    race: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]],
        Field(
            max_length=8,
            description="These agents, or models (PROVIDER/MODEL), each do the same in a copy of their own; a person keeps one.",
        ),
    ] = Field(default_factory=list)
    on_failure: Annotated[OnFailure, Field(strict=False)] = OnFailure.RETRY
    limits: JobLimitsRequest = JobLimitsRequest()


def _changed(before: Budget, body: LimitsRequest) -> Budget:
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    return before.model_copy(update=changes)


class JobApproval(Boundary):
    """`steps` is the plan's list as the person edited it; without it the plan is approved as it stands."""

    steps: Annotated[list[Json], Field(min_length=1, max_length=10_000)] | None = None
    disclosure: Annotated[str, Field(max_length=64)] | None = None


class JobChanges(Boundary):
    """Limits that are not named stay as they are; `null` removes one."""

    limits: JobLimitsRequest


class RetryRequest(Boundary):
    task_id: Annotated[str, Field(min_length=1)]


@routes.post(
    "/context/{chat_id}/jobs", status_code=202, response_model=JobResponse, responses=error_responses(404, body=True)
)
async def create_job(chat_id: str, body: NewJobRequest, principal: Sender, services: ServicesDep) -> Response:
    """Nothing runs before a person approves the plan."""
    chosen = body.template
    if chosen is not None and (body.request is not None or body.plan is not None):
        raise Invalid("Send exactly one of 'request', 'plan' and 'template'.", param="template")
    plan = await services.job_templates.plan(chosen.name, chosen.parameters) if chosen else body.plan
    limits = JobLimits(body.limits.task.budget(), body.limits.job.budget())
    new = NewJob(
        body.request,
        plan,
        body.on_failure,
        body.parallel,
        limits,
        body.commit,
        tuple(body.race),
    )
    job = await services.jobs.create(principal, chat_id, new)
    return json_response(202, await services.jobs.show(job))


@routes.get("/jobs", response_model=JobList, responses=error_responses(422))
async def list_jobs(
    principal: Reader,
    services: ServicesDep,
    context_id: Annotated[str | None, Query(max_length=64, description="Of this chat only.")] = None,
    before: Annotated[str | None, Query(max_length=64, description="The last answer's `next`.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """Newest first."""
    jobs, further = await services.store.jobs.page(
        chat_id=context_id, limit=limit, before=before, viewer=viewer_of(principal)
    )
    return json_response(200, {"jobs": [job.summary() for job in jobs], **({"next": further} if further else {})})


@routes.get("/jobs/{job_id}", response_model=JobResponse, responses=error_responses(404, 422))
async def show_job(job_id: str, principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, await services.jobs.show(await services.jobs.require_job(job_id)))


@routes.get("/jobs/{job_id}/tasks", response_model=TaskPageResponse, responses=error_responses(404, 422))
async def list_tasks(
    job_id: str,
    principal: Reader,
    services: ServicesDep,
    after: Annotated[str | None, Query(max_length=4096, description="The last answer's `next`.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 500,
) -> Response:
    """In the order of the plan."""
    return json_response(200, await services.jobs.task_page(job_id, after=after, limit=limit))


@routes.get("/jobs/{job_id}/tasks/{task_id:path}", response_model=TaskResponse, responses=error_responses(404, 422))
async def show_task(job_id: str, task_id: str, principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, await services.jobs.show_task(job_id, task_id))


@routes.patch("/jobs/{job_id}", response_model=JobResponse, responses=error_responses(404, 409, body=True))
async def change_job(job_id: str, body: JobChanges, principal: Decider, services: ServicesDep) -> Response:
    """Changes what the job and its tasks may use. A job that stopped at a limit goes on."""
    before = (await services.jobs.require_job(job_id)).limits
    limits = JobLimits(_changed(before.task, body.limits.task), _changed(before.job, body.limits.job))
    return json_response(200, await services.jobs.show(await services.jobs.set_limits(principal, job_id, limits)))


@routes.post(
    "/jobs/{job_id}/approve", status_code=202, response_model=JobResponse, responses=error_responses(404, body=True)
)
async def approve_job(
    job_id: str, principal: Decider, services: ServicesDep, body: JobApproval | None = None
) -> Response:
    """What is approved here is what is executed. A planner's chat switches to actor."""
    approval = body or JobApproval()
    edits = PlanEdits(approval.steps, None, approval.disclosure)
    job = await services.jobs.approve(principal, job_id, edits=edits)
    return json_response(202, await services.jobs.show(job))


@routes.post("/jobs/{job_id}/cancel", response_model=JobResponse, responses=error_responses(404, 409, 422))
async def cancel_job(job_id: str, principal: Sender, services: ServicesDep) -> Response:
    """What runs is stopped, and what has not started never starts."""
    return json_response(200, await services.jobs.show(await services.jobs.cancel(principal, job_id)))


@routes.post("/jobs/{job_id}/pause", response_model=JobResponse, responses=error_responses(404, 409, 422))
async def pause_job(job_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Pauses the job: running tasks finish, and no new ones start."""
    return json_response(200, await services.jobs.show(await services.jobs.pause(principal, job_id)))


@routes.post(
    "/jobs/{job_id}/resume", status_code=202, response_model=JobResponse, responses=error_responses(404, 409, 422)
)
async def resume_job(job_id: str, principal: Decider, services: ServicesDep) -> Response:
    return json_response(202, await services.jobs.show(await services.jobs.resume(principal, job_id)))


@routes.post(
    "/jobs/{job_id}/retry", status_code=202, response_model=JobResponse, responses=error_responses(404, body=True)
)
async def retry_task(job_id: str, body: RetryRequest, principal: Decider, services: ServicesDep) -> Response:
    """A failed task is tried again, and what was skipped because of it waits for it again."""
    job = await services.jobs.retry(principal, job_id, body.task_id)
    return json_response(202, await services.jobs.show(job))


@routes.post(
    "/jobs/{job_id}/replan", status_code=202, response_model=JobResponse, responses=error_responses(404, 409, 422)
)
async def replan_job(job_id: str, principal: Decider, services: ServicesDep) -> Response:
    """The planning agent plans the rest anew; nothing of it runs before a person approves."""
    return json_response(202, await services.jobs.show(await services.jobs.replan(principal, job_id)))


@routes.get("/agents", response_model=AgentList, responses=error_responses())
async def list_agents(principal: Reader, services: ServicesDep) -> Response:
    """The built-in ones and those of `[agents.NAME]` in config.toml."""
    return json_response(200, {"agents": [agent.to_json() for agent in services.agents.all()]})


@routes.get("/job-templates", response_model=JobTemplateList, responses=error_responses(404, 422))
async def list_job_templates(
    principal: Reader,
    services: ServicesDep,
    like: Annotated[
        str | None, Query(max_length=LONGEST_REQUEST, description="Offer plans of jobs whose request was similar.")
    ] = None,
    context_id: Annotated[
        str | None, Query(max_length=64, description="With `like`: in this chat's workspace.")
    ] = None,
) -> Response:
    """The built-in ones and those of `templates/` in the data folder. `faults` tells which files give none, and why."""
    if like is not None and context_id is None:
        raise Invalid("'like' needs 'context_id': plans of the chat's workspace are offered.", param="context_id")
    similar = (
        await services.earlier_plans.similar(principal, context_id, like) if like is not None and context_id else []
    )
    catalog = await services.job_templates.catalog()
    templates = [template.to_json() for template in catalog.listed]
    faults = [fault.to_json() for fault in catalog.faults]
    return json_response(200, {"templates": templates, "faults": faults, "similar": similar})


@routes.post(
    "/jobs/{job_id}/forget", status_code=204, response_class=Response, responses=error_responses(404, 409, 422)
)
async def forget_plan(job_id: str, principal: Decider, services: ServicesDep) -> Response:
    """The job stays; its plan is not offered again for similar requests."""
    await services.earlier_plans.forget(principal, job_id)
    return Response(status_code=204)
