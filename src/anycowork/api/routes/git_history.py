"""Routes for the history of a chat's repository, and for what changes files as git does. Only a person switches, pulls, merges and stashes."""

from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import Field

from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.routes.git import GitPushRequest
from anycowork.api.schemas.git import (
    BranchesResponse,
    BranchResponse,
    CommitDetailsResponse,
    CommitDifferenceResponse,
    CommitResponse,
    GitLogResponse,
    MergeEndResponse,
    MergeResponse,
    PullSourcesResponse,
    StashesResponse,
    StashResponse,
)
from anycowork.domain.boundary import Boundary
from anycowork.domain.files import shown_name
from anycowork.domain.git import MergeResult, PushRequest
from anycowork.domain.messages import Json
from anycowork.git.history import MOST_SKIPPED

routes = Router(tags=["git"])

COMMIT = r"^[0-9a-f]{40,64}$"
CommitId = Annotated[str, Path(pattern=COMMIT)]


class SwitchRequest(Boundary):
    branch: Annotated[str, Field(min_length=1, max_length=200)]


class SaveStashRequest(Boundary):
    message: Annotated[
        str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$")
    ]


class StashRequest(Boundary):
    """A stash as it was listed: if another one has the number now, nothing is done."""

    number: Annotated[int, Field(ge=0, le=10_000)]
    commit: Annotated[str, Field(pattern=COMMIT)]


@routes.get("/context/{chat_id}/git/log", response_model=GitLogResponse, responses=error_responses(404, 409, 422))
async def show_git_log(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    tip: Annotated[
        str | None, Query(pattern=COMMIT, description="Where the log starts: `tip` of the first page.")
    ] = None,
    branch: Annotated[
        str | None, Query(max_length=200, description="Whose log; the current branch if omitted.")
    ] = None,
    skip: Annotated[int, Query(ge=0, le=MOST_SKIPPED)] = 0,
) -> Response:
    """Commits, newest first, by the page."""
    log = await services.git_worktree.log(principal, chat_id, tip=tip, branch=branch, skip=skip)
    commits = [
        {"id": line.id, "subject": line.subject, "author": line.author, "created_at": line.created_at}
        for line in log.commits
    ]
    return json_response(200, {"tip": log.tip, "commits": commits, "last": log.is_last})


@routes.get(
    "/context/{chat_id}/git/commits/{commit}",
    response_model=CommitDetailsResponse,
    responses=error_responses(404, 409, 422),
)
async def show_git_commit(chat_id: str, commit: CommitId, principal: Decider, services: ServicesDep) -> Response:
    """A commit's message, and the files that differ from its first parent."""
    return json_response(200, await services.git_worktree.commit(principal, chat_id, commit))


@routes.get(
    "/context/{chat_id}/git/commits/{commit}/diff",
    response_model=CommitDifferenceResponse,
    responses=error_responses(404, 409, 422),
)
async def show_git_commit_difference(
    chat_id: str,
    commit: CommitId,
    principal: Decider,
    services: ServicesDep,
    path: Annotated[str, Query(min_length=1, max_length=4096)],
    reveal: Annotated[bool, Query(description="Show the difference although the file is protected.")] = False,
) -> Response:
    """How a commit changed one file."""
    diff = await services.git_worktree.commit_difference(principal, chat_id, commit, path, reveal=reveal)
    return json_response(200, {"diff": diff})


@routes.get(
    "/context/{chat_id}/git/branches", response_model=BranchesResponse, responses=error_responses(404, 409, 422)
)
async def list_git_branches(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """The branches, the one with the newest commit first."""
    branches = await services.git_worktree.branches(principal, chat_id)
    listed = [
        {
            "name": branch.name,
            "shown": shown_name(branch.name),
            "commit": branch.commit,
            "committed_at": branch.committed_at,
            "current": branch.is_current,
        }
        for branch in branches
    ]
    return json_response(200, {"branches": listed})


@routes.post("/context/{chat_id}/git/switch", response_model=BranchResponse, responses=error_responses(404, body=True))
async def switch_git_branch(chat_id: str, body: SwitchRequest, principal: Decider, services: ServicesDep) -> Response:
    """Checks a branch out. If changes would be overwritten: 409 that names the files, and nothing changes."""
    await services.git_worktree.switch(principal, chat_id, body.branch)
    return json_response(200, {"branch": body.branch})


@routes.get("/context/{chat_id}/git/pull", response_model=PullSourcesResponse, responses=error_responses(404, 409, 422))
async def show_git_pull(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Where the current branch could be pulled from. Asks no remote."""
    head, sources = await services.git_worktree.pull_sources(principal, chat_id)
    remotes = [{"remote": source.remote, "address": source.address, "refused": source.refused} for source in sources]
    return json_response(200, {"branch": head.branch, "head": head.commit, "remotes": remotes})


@routes.post("/context/{chat_id}/git/pull", response_model=MergeResponse, responses=error_responses(404, body=True))
async def pull_git_branch(chat_id: str, body: GitPushRequest, principal: Decider, services: ServicesDep) -> Response:
    """Fetches the branch as the person, with their own credentials, and merges it. Conflicts stay in the files that are listed."""
    request = PushRequest(body.remote, body.address, body.branch, body.head)
    return json_response(200, _merge_json(await services.git_worktree.pull(principal, chat_id, request)))


@routes.post("/context/{chat_id}/git/merge", response_model=CommitResponse, responses=error_responses(404, 409, 422))
async def finish_git_merge(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Commits the merge in progress with the files as they are now. If conflicts are left in them: 409."""
    return json_response(200, {"commit": await services.git_worktree.finish_merge(principal, chat_id)})


@routes.delete(
    "/context/{chat_id}/git/merge", response_model=MergeEndResponse, responses=error_responses(404, 409, 422)
)
async def abort_git_merge(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Gives back the files that were there before the merge."""
    await services.git_worktree.abort_merge(principal, chat_id)
    return json_response(200, {"operation": None})


@routes.get("/context/{chat_id}/git/stashes", response_model=StashesResponse, responses=error_responses(404, 409, 422))
async def list_git_stashes(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """The stashes, newest first."""
    stashes = await services.git_worktree.stashes(principal, chat_id)
    listed = [{"number": stash.number, "commit": stash.commit, "message": stash.message} for stash in stashes]
    return json_response(200, {"stashes": listed})


@routes.post("/context/{chat_id}/git/stashes", response_model=StashResponse, responses=error_responses(404, body=True))
async def save_git_stash(chat_id: str, body: SaveStashRequest, principal: Decider, services: ServicesDep) -> Response:
    """Puts the changes of tracked files aside."""
    return json_response(200, {"commit": await services.git_worktree.save_stash(principal, chat_id, body.message)})


@routes.post(
    "/context/{chat_id}/git/stashes/apply", response_model=MergeResponse, responses=error_responses(404, body=True)
)
async def apply_git_stash(chat_id: str, body: StashRequest, principal: Decider, services: ServicesDep) -> Response:
    """Brings the changes of a stash back; the stash stays. Conflicts stay in the files that are listed."""
    merged = await services.git_worktree.apply_stash(principal, chat_id, body.number, body.commit)
    return json_response(200, _merge_json(merged))


@routes.post(
    "/context/{chat_id}/git/stashes/drop", response_model=StashResponse, responses=error_responses(404, body=True)
)
async def drop_git_stash(chat_id: str, body: StashRequest, principal: Decider, services: ServicesDep) -> Response:
    """Removes a stash from the list."""
    await services.git_worktree.drop_stash(principal, chat_id, body.number, body.commit)
    return json_response(200, {"commit": body.commit})


def _merge_json(result: MergeResult) -> Json:
    return {
        "commit": result.commit,
        "conflicts": [shown_name(path) for path in result.conflicts],
        "new": result.is_new,
    }
