"""Routes for the git repository of a chat's workspace. Only a person commits, branches and pushes."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field, model_validator

from anycowork.api.middleware.auth import Decider, Manager
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.git import (
    AllowedHooksResponse,
    BranchResponse,
    CommitResponse,
    GitDifferenceResponse,
    GitHooksResponse,
    GitIdentityResponse,
    GitStateResponse,
    PushedResponse,
    PushOfferResponse,
)
from anycowork.domain.boundary import Boundary
from anycowork.domain.git import ChosenHunks, CommitContent, GitIdentity, PushRequest

routes = Router(tags=["git"])

LONGEST_HOOK = 20_000  # characters that are shown
Path = Annotated[str, Field(min_length=1, max_length=4096)]


class ChosenHunksRequest(Boundary):
    """Hunks of a file's difference, counted from 0. `sha256` is that of the difference as it was shown."""

    path: Path
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    hunks: Annotated[list[Annotated[int, Field(ge=0, le=100_000)]], Field(min_length=1, max_length=10_000)]


class CommitRequest(Boundary):
    """`head` is the last commit that the person saw; null before the first one. `amend` makes a new version of that commit."""

    message: Annotated[str, Field(min_length=1, max_length=20_000)]
    paths: Annotated[list[Path], Field(max_length=2000)]
    head: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None
    hunks: Annotated[list[ChosenHunksRequest], Field(max_length=2000)] = Field(default_factory=list)
    amend: bool = False

    @model_validator(mode="after")
    def _commits_something(self) -> "CommitRequest":
        if not (self.paths or self.hunks or self.amend):
            raise ValueError("choose at least one file or hunk")
        return self


class HookRequest(Boundary):
    name: Annotated[str, Field(max_length=100)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class HooksRequest(Boundary):
    """The hooks that run from now on, as they were shown; the others do not."""

    hooks: Annotated[list[HookRequest], Field(max_length=20)]


class GitIdentityRequest(Boundary):
    name: Annotated[
        str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f<>]*[^\s<>][^\x00-\x1f\x7f<>]*$")
    ]
    email: Annotated[str, Field(max_length=200, pattern=r"^[^\s<>@]+@[^\s<>@]+$")]


class BranchRequest(Boundary):
    name: Annotated[str, Field(min_length=1, max_length=200)]


class GitPushRequest(Boundary):
    """Exactly what `GET …/git/push` showed: anything else is refused."""

    remote: Annotated[str, Field(min_length=1, max_length=200)]
    address: Annotated[str, Field(min_length=1, max_length=4096)]
    branch: Annotated[str, Field(min_length=1, max_length=250)]
    head: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")]


@routes.get("/context/{chat_id}/git", response_model=GitStateResponse, responses=error_responses(404, 409, 422))
async def show_git(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Branch and changed files. Nothing that the repository's configuration names is run."""
    state = await services.git.state(principal, chat_id)
    return json_response(200, state.to_json())


@routes.get(
    "/context/{chat_id}/git/diff", response_model=GitDifferenceResponse, responses=error_responses(404, 409, 422)
)
async def show_git_difference(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    path: Annotated[str, Query(min_length=1, max_length=4096)],
    reveal: Annotated[bool, Query(description="Show the difference although the file is protected.")] = False,
) -> Response:
    """How one file differs from the last commit."""
    difference = await services.git.difference(principal, chat_id, path, reveal=reveal)
    if difference is None:
        return json_response(200, {"diff": None, "sha256": None})
    return json_response(200, {"diff": difference.text, "sha256": difference.sha256})


@routes.post("/context/{chat_id}/git/commit", response_model=CommitResponse, responses=error_responses(404, body=True))
async def commit(chat_id: str, body: CommitRequest, principal: Decider, services: ServicesDep) -> Response:
    """Commits these files as they are now, and hunks of others, as the person's own act. If somebody committed meanwhile, or a hook
    fails: 409, and nothing is committed."""
    hunks = [ChosenHunks(chosen.path, chosen.sha256, chosen.hunks) for chosen in body.hunks]
    content = CommitContent(body.message, body.paths, hunks, amend=body.amend)
    commit_id = await services.git.commit(principal, chat_id, content, head=body.head)
    return json_response(200, {"commit": commit_id})


@routes.get("/context/{chat_id}/git/hooks", response_model=GitHooksResponse, responses=error_responses(404, 409, 422))
async def show_git_hooks(chat_id: str, principal: Manager, services: ServicesDep) -> Response:
    """The hooks that the repository brings for a commit, with their texts."""
    hooks = await services.git.hooks(principal, chat_id)
    listed = [
        {"name": hook.name, "sha256": hook.sha256, "text": hook.text[:LONGEST_HOOK], "allowed": hook.is_allowed}
        for hook in hooks
    ]
    return json_response(200, {"hooks": listed})


@routes.put(
    "/context/{chat_id}/git/hooks", response_model=AllowedHooksResponse, responses=error_responses(404, body=True)
)
async def allow_git_hooks(chat_id: str, body: HooksRequest, principal: Manager, services: ServicesDep) -> Response:
    """Says which hooks run at a commit, with the rights of the server's user. One whose text changes does not run until it is allowed again."""
    hashes = {hook.name: hook.sha256 for hook in body.hooks}
    return json_response(200, {"allowed": await services.git.allow_hooks(principal, chat_id, hashes)})


@routes.put(
    "/context/{chat_id}/git/identity", response_model=GitIdentityResponse, responses=error_responses(404, body=True)
)
async def set_git_identity(
    chat_id: str, body: GitIdentityRequest, principal: Decider, services: ServicesDep
) -> Response:
    """Says who commits in this repository, for git itself too: it is written into the repository's own configuration."""
    await services.git.set_identity(principal, chat_id, GitIdentity(body.name.strip(), body.email))
    return json_response(200, {"name": body.name.strip(), "email": body.email})


@routes.post("/context/{chat_id}/git/branch", response_model=BranchResponse, responses=error_responses(404, body=True))
async def create_branch(chat_id: str, body: BranchRequest, principal: Decider, services: ServicesDep) -> Response:
    """Creates a branch at the last commit and switches to it. No file changes."""
    await services.git.create_branch(principal, chat_id, body.name)
    return json_response(200, {"branch": body.name})


@routes.get("/context/{chat_id}/git/push", response_model=PushOfferResponse, responses=error_responses(404, 409, 422))
async def show_push(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Where the current branch could be pushed, and the commits that the remote does not have as far as is known. Asks no remote."""
    offer = await services.git.push_offer(principal, chat_id)
    targets = [
        {
            "remote": target.remote,
            "address": target.address,
            "refused": target.refused,
            "commits": [
                {
                    "id": pushed_commit.id,
                    "subject": pushed_commit.subject,
                    "author": pushed_commit.author,
                    "created_at": pushed_commit.created_at,
                }
                for pushed_commit in target.commits
            ],
            "complete": target.complete,
            "new_branch": target.is_new_branch,
        }
        for target in offer.targets
    ]
    return json_response(200, {"branch": offer.branch, "head": offer.head, "remotes": targets})


@routes.post("/context/{chat_id}/git/push", response_model=PushedResponse, responses=error_responses(404, body=True))
async def push(chat_id: str, body: GitPushRequest, principal: Decider, services: ServicesDep) -> Response:
    """Pushes as the person, with their own credentials and never by force. If the branch or the address is not what was shown: 409."""
    await services.git.push(principal, chat_id, PushRequest(body.remote, body.address, body.branch, body.head))
    return json_response(200, {"pushed": body.head})
