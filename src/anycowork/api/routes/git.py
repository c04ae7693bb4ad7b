"""Routes for the git repository of a chat's workspace. Only a person commits and branches."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.git import BranchShape, CommitShape, GitDifferenceShape, GitStateShape
from anycowork.domain.boundary import Boundary

routes = Router(tags=["git"])

Path = Annotated[str, Field(min_length=1, max_length=4096)]


class CommitRequest(Boundary):
    """`head` is the last commit that the person saw; null before the first one."""

    message: Annotated[str, Field(min_length=1, max_length=20_000)]
    paths: Annotated[list[Path], Field(min_length=1, max_length=2000)]
    head: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None


class BranchRequest(Boundary):
    name: Annotated[str, Field(min_length=1, max_length=200)]


@routes.get("/context/{chat_id}/git", response_model=GitStateShape, responses=error_responses(404, 409, 422))
async def show_git(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Branch and changed files. Nothing that the repository's configuration names is run."""
    found = await services.git.state(principal, chat_id)
    return json_response(200, found.to_json())


@routes.get("/context/{chat_id}/git/diff", response_model=GitDifferenceShape, responses=error_responses(404, 409, 422))
async def show_git_difference(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    path: Annotated[str, Query(min_length=1, max_length=4096)],
    reveal: Annotated[bool, Query(description="Show the difference although the file is protected.")] = False,
) -> Response:
    """How one file differs from the last commit."""
    return json_response(200, {"diff": await services.git.difference(principal, chat_id, path, reveal=reveal)})


@routes.post("/context/{chat_id}/git/commit", response_model=CommitShape, responses=error_responses(404, body=True))
async def commit(chat_id: str, wanted: CommitRequest, principal: Decider, services: ServicesDep) -> Response:
    """Commits these files as they are now, as the person's own act. If somebody committed meanwhile: 409, and nothing is committed."""
    made = await services.git.commit(principal, chat_id, wanted.message, wanted.paths, head=wanted.head)
    return json_response(200, {"commit": made})


@routes.post("/context/{chat_id}/git/branch", response_model=BranchShape, responses=error_responses(404, body=True))
async def create_branch(chat_id: str, wanted: BranchRequest, principal: Decider, services: ServicesDep) -> Response:
    """Creates a branch at the last commit and switches to it. No file changes."""
    await services.git.create_branch(principal, chat_id, wanted.name)
    return json_response(200, {"branch": wanted.name})
