"""Templates of jobs: plans with parameters, built in or written by the people of this server."""

from fastapi import Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.job_templates import JobTemplateList

routes = Router(tags=["jobs"])


@routes.get("/job-templates", response_model=JobTemplateList, responses=error_responses())
async def list_job_templates(principal: Reader, services: ServicesDep) -> Response:
    """The built-in ones and those of `templates/` in the data folder. `faults` tells which files give none, and why."""
    found = await services.job_templates.catalog()
    shown = [one.to_json() for one in found.listed]
    return json_response(200, {"templates": shown, "faults": [fault.to_json() for fault in found.faults]})
