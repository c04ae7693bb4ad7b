"""Templates of jobs: plans with parameters, built in or written by the people of this server."""

from typing import Annotated

from fastapi import Query, Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.jobs import JobTemplateList
from anycowork.domain.errors import Invalid
from anycowork.jobs.similar_requests import LONGEST_REQUEST

routes = Router(tags=["jobs"])


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
    similar = await services.earlier_plans.similar(context_id, like) if like is not None and context_id else []
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
