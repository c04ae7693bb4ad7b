"""Pushes a commit and pulls as the person: with their credential helpers and keys, and with nothing that the repository's configuration names.

Git works in a folder of our own, so `core.sshCommand`, `credential.helper`, `url.*.insteadOf` and hooks of the repository do not exist; those
of the person's own configuration do. A remote on this machine is a repository that somebody else may have written: its hooks and programs
are switched off too. Blocking.
"""

import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from anycowork.domain.errors import CommandFailed, StateChanged, ToolFault, ToolTimedOut
from anycowork.domain.git import GitCommit, MergeResult, PullSource, PushOffer, PushTarget
from anycowork.domain.values import value
from anycowork.git.git_process import read_configuration, run_git
from anycowork.git.history import COMMIT_LINE, commits_in
from anycowork.git.own_git_folder import (
    GitHead,
    RepositoryPlace,
    find_repository,
    is_branch_reference,
    is_commit,
    own_git_folder,
    read_head,
    read_reference,
    real_git_folder,
)
from anycowork.git.worktree_acts import merge_commit, require_no_operation
from anycowork.workspace.folder import Folder

MOST_REMOTES = 50
_SCHEMES = ("https", "http", "ssh", "file")
_SCP = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:].*")
_HOST = re.compile(r"[A-Za-z0-9[][A-Za-z0-9.:\]-]*")
SECONDS = 120.0
MOST_COMMITS = 50
_MOST_REPLY = 4_000
_USUAL_BRANCHES = ("main", "master")
_OF_PERSON = (
    "PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GNUPGHOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "all_proxy",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_ALLOW_PROTOCOL": "https:http:ssh:file",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_SAFE = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "push.gpgSign=false", "push.followTags=false",
    "push.recurseSubmodules=no", "fetch.recurseSubmodules=no",
    "fetch.writeCommitGraph=false", "gc.auto=0", "maintenance.auto=false", "protocol.ext.allow=never",
)  # fmt: skip
# What a repository on this machine could run when it receives: each is overruled where it is read, in its own process.
_SAFE_RECEIVE = (
    "core.hooksPath=/dev/null", "core.alternateRefsCommand=true", "core.fsmonitor=false", "receive.denyCurrentBranch=refuse",
    "receive.autogc=false", "gc.auto=0", "maintenance.auto=false",
)  # fmt: skip


@value
class Remote:
    """`address` is what git gets; `shown` has no password. `refused` says why nothing is pushed there."""

    name: str
    address: str
    shown: str
    refused: str | None = None

    @property
    def is_local(self) -> bool:
        return self.address.startswith(("/", "file:"))


def read_remotes(repository: RepositoryPlace, *, fetches: bool = False) -> list[Remote]:
    """Returns the remotes in the order of the configuration, with the address to push to, or the one to fetch from.

    Includes of other files are not followed. Raises: ToolFault.
    """
    urls: dict[str, str] = {}
    push_urls: dict[str, str] = {}
    for key, address in read_configuration(repository, r"^remote\..*\.(url|pushurl)$"):
        name, _, kind = key.removeprefix("remote.").rpartition(".")
        if name:
            (push_urls if kind == "pushurl" else urls).setdefault(name, address)
    used = urls if fetches else {**urls, **push_urls}
    remotes = [_remote(name, used[name] or urls[name]) for name in used if name in urls]
    return remotes[:MOST_REMOTES]


def remote_host(address: str) -> str:
    """Returns the host of a remote's address; the address itself where it names none."""
    if "://" in address:
        return urlsplit(address).hostname or address
    return address if address.startswith("/") else address.partition(":")[0].rpartition("@")[2]


def _remote(name: str, address: str) -> Remote:
    return Remote(name, address, _without_password(address), _refusal(address))


def _refusal(address: str) -> str | None:
    """Why git would do more with it than open a connection of a known kind, or None."""
    if not address.isprintable() or address.startswith("-") or address != address.strip():
        return "The address has characters that an address does not have."
    if "::" in address.split("/", 1)[0]:
        return "The address names a program ('…::'), which is not run."
    if address.startswith("/"):
        return None
    scheme, separator, remainder = address.partition("://")
    if not separator:
        return None if _SCP.fullmatch(address) else "The address is of no kind that is known."
    if scheme not in _SCHEMES:
        return f"Addresses that begin with '{scheme[:20]}:' are not used."
    host = remainder.partition("/")[0].rpartition("@")[2]
    if scheme != "file" and not _HOST.fullmatch(host):
        return "The address has no usable host name."
    return None


def _without_password(address: str) -> str:
    """Leaves out what signs in: a user name with or without a password for the web, a password for the rest."""
    scheme, separator, remainder = address.partition("://")
    if not separator:
        return address
    netloc, slash, path = remainder.partition("/")
    user, at_sign, host = netloc.rpartition("@")
    kept_user = "" if scheme in ("http", "https") else user.partition(":")[0] + at_sign
    return f"{scheme}://{kept_user}{host}{slash}{path}"


def read_push_offer(folder: Folder) -> PushOffer:
    """Returns what could be pushed where. Talks to no remote. Raises: NoRepository, ToolFault."""
    repository = find_repository(folder)
    head = read_head(repository)
    if head.branch is None or head.commit is None:
        return PushOffer(head.branch, head.commit, ())
    return PushOffer(
        head.branch,
        head.commit,
        tuple(_target(repository, head, remote, head.branch) for remote in read_remotes(repository)),
    )


def push(folder: Folder, remote_name: str, address: str, offered: GitHead, environ: Mapping[str, str]) -> None:
    """Pushes the commit to the branch of the same name, never by force. `address` is the one that the person saw.

    Raises: StateChanged if branch or address are not what the person saw; ToolFault, CommandFailed, ToolTimedOut.
    """
    repository = find_repository(folder)
    head = read_head(repository)
    remote = next((candidate for candidate in read_remotes(repository) if candidate.name == remote_name), None)
    if head != offered or remote is None or remote.shown != address:
        raise StateChanged("The branch or the remote's address changed meanwhile. Nothing was pushed; look again.")
    if remote.refused is not None:
        raise ToolFault(f"Nothing was pushed. {remote.refused}")
    if head.commit is None or head.reference is None:
        raise ToolFault("There is no branch with a commit that could be pushed.")
    arguments = ["push", "--porcelain", "--no-verify", "--no-recurse-submodules", "--no-signed"]
    if remote.is_local:
        arguments.append(f"--receive-pack={safe_program('receive-pack')}")
    arguments += ["--", remote.address, f"{head.commit}:{head.reference}"]
    with own_git_folder(repository, head) as own_environment:
        run_as_person(arguments, own_environment, environ, remote, failed="Git could not push")
    _remember(repository, remote, head)


def _target(repository: RepositoryPlace, head: GitHead, remote: Remote, branch: str) -> PushTarget:
    tracked = _tracked(repository, remote, branch)
    known_commit = tracked or next(
        filter(None, (_tracked(repository, remote, usual) for usual in _USUAL_BRANCHES)), None
    )
    commits = _commits(repository, head, known_commit) if remote.refused is None else []
    return PushTarget(
        remote.name,
        remote.shown,
        remote.refused,
        tuple(commits[:MOST_COMMITS]),
        complete=len(commits) <= MOST_COMMITS,
        is_new_branch=tracked is None,
    )


def _commits(repository: RepositoryPlace, head: GitHead, known_commit: str | None) -> list[GitCommit]:
    arguments = ["log", "-z", f"--max-count={MOST_COMMITS + 1}", "--no-show-signature", COMMIT_LINE]
    with own_git_folder(repository, head) as environment:
        try:
            printed = run_git(
                [*arguments, "HEAD", *([f"^{known_commit}"] if known_commit else [])],
                folder="/",
                environment=environment,
            )
        except CommandFailed:  # the known commit was pruned
            printed = run_git([*arguments, "HEAD"], folder="/", environment=environment)
    return commits_in(printed)


def _tracked(repository: RepositoryPlace, remote: Remote, branch: str) -> str | None:
    if not is_branch_reference(f"refs/heads/{remote.name}/{branch}"):
        return None
    return read_reference(repository, f"refs/remotes/{remote.name}/{branch}")


def _remember(repository: RepositoryPlace, remote: Remote, head: GitHead) -> None:
    """Moves our own note of where the remote's branch is. A failure changes nothing of the push."""
    if head.commit is None or not is_branch_reference(f"refs/heads/{remote.name}/{head.branch}"):
        return
    arguments = ("update-ref", "-m", "update by push", f"refs/remotes/{remote.name}/{head.branch}", head.commit)
    try:
        run_git(arguments, folder="/", environment=real_git_folder(repository))
    except (CommandFailed, ToolFault):
        return


def safe_program(name: str) -> str:
    """Returns the command line of the program that serves a repository on this machine, which runs nothing that the repository names."""
    options = [word for setting in _SAFE_RECEIVE for word in ("-c", setting)]
    return shlex.join(["git", *options, name])


def run_as_person(
    arguments: Sequence[str],
    own_environment: Mapping[str, str],
    environ: Mapping[str, str],
    remote: Remote,
    *,
    failed: str,
) -> None:
    """Runs git with the person's credentials, in the git folder of our own. Raises: CommandFailed, ToolTimedOut, ToolFault."""
    folders = {name: own_environment[name] for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY")}
    person = {name: environ[name] for name in _OF_PERSON if name in environ}
    environment = {**person, **_ENVIRONMENT, **folders}
    options = [word for setting in _SAFE for word in ("-c", setting)]
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                ["git", "--no-pager", *options, *arguments],
                cwd="/",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # no terminal to ask at, and one group to end
            )
        except FileNotFoundError:
            raise ToolFault("Git is not installed on the server's machine.") from None
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise ToolTimedOut(f"The remote did not answer within {SECONDS:.0f} seconds.") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        if code:
            reply = output.read(_MOST_REPLY).decode(errors="replace").replace(remote.address, remote.shown)
            raise CommandFailed(f"{failed}: {_reason(reply)}")


def _reason(reply: str) -> str:
    """The line that says most: a rejected branch, else the first error, else the last line."""
    lines = [
        "".join(sign for sign in line if sign.isprintable())
        for line in reply.replace("\t", " ").splitlines()
        if line.strip()
    ]
    for mark in ("!", "fatal:", "error:", "remote:"):
        for line in lines:
            if line.startswith(mark):
                return line[:300]
    return lines[-1][:300] if lines else "no message"


_FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance")
_FETCHED = "refs/heads/anycowork-fetched"  # in the git folder of our own, which is gone after the fetch


def read_pull_sources(folder: Folder) -> tuple[GitHead, list[PullSource]]:
    """Returns what is checked out, and where it could be pulled from. Talks to no remote. Raises: NoRepository, ToolFault."""
    repository = find_repository(folder)
    remotes = read_remotes(repository, fetches=True)
    return read_head(repository), [PullSource(remote.name, remote.shown, remote.refused) for remote in remotes]


def pull(
    folder: Folder,
    remote_name: str,
    address: str,
    offered: GitHead,
    user: Mapping[str, str],
    environ: Mapping[str, str],
) -> MergeResult:
    """Fetches the branch of the same name and merges it. `address` is the one that the person saw.

    Raises: StateChanged if branch or address are not what the person saw; ToolFault, CommandFailed, ToolTimedOut.
    """
    repository = find_repository(folder)
    head = read_head(repository)
    remotes = read_remotes(repository, fetches=True)
    remote = next((candidate for candidate in remotes if candidate.name == remote_name), None)
    if head != offered or head.reference is None or remote is None or remote.shown != address:
        raise StateChanged("The branch or the remote's address changed meanwhile. Nothing was pulled; look again.")
    if remote.refused is not None:
        raise ToolFault(f"Nothing was pulled. {remote.refused}")
    require_no_operation(repository)
    commit = _fetch(repository, head, remote, environ)
    label = f"{remote.name}/{head.branch}"
    return merge_commit(folder, commit, label, f"Merge branch '{head.branch}' of {remote.shown}", user)


def _fetch(repository: RepositoryPlace, head: GitHead, remote: Remote, environ: Mapping[str, str]) -> str:
    arguments = [*_FETCH]
    if remote.is_local:
        arguments.append(f"--upload-pack={safe_program('upload-pack')}")
    arguments += ["--", remote.address, f"+{head.reference}:{_FETCHED}"]
    with own_git_folder(repository, head) as environment:
        run_as_person(arguments, environment, environ, remote, failed="Git could not fetch")
        commit = Path(environment["GIT_DIR"], _FETCHED).read_text().strip()
    if not is_commit(commit):
        raise CommandFailed("Git fetched no commit.")
    if is_branch_reference(f"refs/heads/{remote.name}/{head.branch}"):
        update = ("update-ref", "-m", "pull", f"refs/remotes/{remote.name}/{head.branch}", commit)
        run_git(update, folder="/", environment=real_git_folder(repository))
    return commit
