"""Routes for the git repository of a chat's workspace. Only a person commits, branches and pushes."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.git import (
    BranchShape,
    CommitShape,
    GitDifferenceShape,
    GitStateShape,
    PushedShape,
    PushOfferShape,
)
from anycowork.domain.boundary import Boundary
from anycowork.domain.git import PushRequest

routes = Router(tags=["git"])

Path = Annotated[str, Field(min_length=1, max_length=4096)]


class CommitRequest(Boundary):
    """`head` is the last commit that the person saw; null before the first one."""

    message: Annotated[str, Field(min_length=1, max_length=20_000)]
    paths: Annotated[list[Path], Field(min_length=1, max_length=2000)]
    head: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None


class BranchRequest(Boundary):
    name: Annotated[str, Field(min_length=1, max_length=200)]


class GitPushRequest(Boundary):
    """Exactly what `GET …/git/push` showed: anything else is refused."""

    remote: Annotated[str, Field(min_length=1, max_length=200)]
    address: Annotated[str, Field(min_length=1, max_length=4096)]
    branch: Annotated[str, Field(min_length=1, max_length=250)]
    head: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")]


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


@routes.get("/context/{chat_id}/git/push", response_model=PushOfferShape, responses=error_responses(404, 409, 422))
async def show_push(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Where the current branch could be pushed, and the commits that the remote does not have as far as is known. Asks no remote."""
    offer = await services.git.push_offer(principal, chat_id)
    targets = [
        {
            "remote": target.remote,
            "address": target.address,
            "refused": target.refused,
            "commits": [
                {"id": one.id, "subject": one.subject, "author": one.author, "created_at": one.created_at}
                for one in target.commits
            ],
            "complete": target.complete,
            "new_branch": target.is_new_branch,
        }
        for target in offer.targets
    ]
    return json_response(200, {"branch": offer.branch, "head": offer.head, "remotes": targets})


@routes.post("/context/{chat_id}/git/push", response_model=PushedShape, responses=error_responses(404, body=True))
async def push(chat_id: str, wanted: GitPushRequest, principal: Decider, services: ServicesDep) -> Response:
    """Pushes as the person, with their own credentials and never by force. If the branch or the address is not what was shown: 409."""
    await services.git.push(principal, chat_id, PushRequest(wanted.remote, wanted.address, wanted.branch, wanted.head))
    return json_response(200, {"pushed": wanted.head})
