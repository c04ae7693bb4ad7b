"""`anycowork verify`: repeats the check of a receipt on the files that are here, and says: same, different, or cannot be run."""

import asyncio
import hashlib
import re
import tempfile
from pathlib import Path
from urllib.parse import quote

from anycowork.agent.check_files import steers_checks
from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import print_error
from anycowork.cli.server_command import with_client
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused
from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import AnyCoworkError, Invalid, ToolTimedOut
from anycowork.domain.evidence import MISSING_RUNNER, NOT_RUNNABLE, receipt_id
from anycowork.domain.messages import Json, json_object
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import CheckPrograms, CheckSetup, ToolContext
from anycowork.domain.tools import ToolResult
from anycowork.server.setup.sandbox_setup import set_up_sandbox
from anycowork.tools.execute_command import ExecuteCommand
from anycowork.workspace.folder import Folder

SAME, DIFFERENT, USAGE, CANNOT_RUN = 0, 1, 2, 3
_SECONDS = 600.0
_MOST_NAMED = 10
_LARGEST = 50_000_000
_DIGEST = re.compile(r"[0-9a-f]{64}")


def verify(invocation: Invocation, receipt_name: str, *, workspace: Path | None) -> int:
    """Returns 0 if files and result are the same, 1 if they differ, 2 for wrong arguments, 3 if the check cannot be run here."""
    try:
        receipt = _read(invocation, receipt_name)
    except ServerRefused as error:
        stderr().line(f"anycowork verify: {strip_controls(error.message)}")
        return USAGE
    except AnyCoworkError as error:
        return print_error("verify", error) or USAGE
    root = Path(invocation.cwd, workspace or ".").resolve()
    if not root.is_dir():
        stderr().line(f"anycowork verify: '{root}' is not a folder. Name one with --workspace.")
        return USAGE
    if changed := _changed_files(receipt, root):
        stdout().line(
            f"different: {len(changed)} files are not as they were: {strip_controls(', '.join(changed[:_MOST_NAMED]))}"
        )
        return DIFFERENT
    if added := _added_files(receipt, root):
        stdout().line(
            f"different: files that decide what the check runs were not there: {strip_controls(', '.join(added))}"
        )
        return DIFFERENT
    return _repeat(invocation, receipt, root)


def _read(invocation: Invocation, receipt_name: str) -> Json:
    """Returns the receipt in a file, or of this id. Raises: Invalid, ServerRefused, AnyCoworkError."""
    path = Path(invocation.cwd, receipt_name)
    if not path.is_file():
        if "/" in receipt_name or receipt_name.endswith(".json"):
            raise Invalid(f"There is no file '{receipt_name}'. Name a receipt's file or its id.", param="receipt")

        async def fetched(client: ServerClient) -> Json:
            return await client.get(f"/receipts/{quote(receipt_name, safe='')}")

        return asyncio.run(with_client(invocation.settings(), fetched))
    try:
        parsed = read_json(path.read_bytes(), strict=False) if path.stat().st_size <= _LARGEST else None
    except (OSError, ValueError):
        parsed = None
    if not isinstance(parsed, dict) or not _is_receipt(parsed):
        raise Invalid(f"'{receipt_name}' holds no receipt. `GET /receipts/{{id}}` gives one.", param="receipt")
    if parsed.get("id") not in (None, receipt_id(parsed)):
        raise Invalid(
            f"'{receipt_name}' was changed: its content does not fit its id. Fetch the receipt again.", param="receipt"
        )
    return parsed


def _is_receipt(parsed: Json) -> bool:
    files = parsed.get("files")
    digests = files.values() if isinstance(files, dict) else [None]
    names_files = all(isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in digests)
    return names_files and isinstance(parsed.get("command"), str) and type(parsed.get("exit_code")) is int


def _changed_files(receipt: Json, root: Path) -> list[str]:
    return [path for path, digest in _files(receipt).items() if _digest(root, path) != digest]


def _added_files(receipt: Json, root: Path) -> list[str]:
    files = _files(receipt)
    added = Folder(str(root)).find_files(lambda path: path not in files and steers_checks(path), _MOST_NAMED)
    return [path for path, _ in added]


def _files(receipt: Json) -> Json:
    return json_object(receipt["files"])


def _digest(root: Path, path: str) -> str | None:
    """Returns the hash of a file below the folder; None if there is none. A receipt may name no path outside it."""
    try:
        file = (root / path).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return None
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except (OSError, ValueError):
        return None  # it cannot be read, or nothing can have this name


def _repeat(invocation: Invocation, receipt: Json, root: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="anycowork-verify-") as staging:
        setup = set_up_sandbox(Path(staging), sandbox_paths=invocation.settings().sandbox_paths)
        if setup.sandbox is None:
            stdout().line(f"cannot be run: commands have no sandbox here ({setup.why}).")
            return CANNOT_RUN
        try:
            tool = ExecuteCommand(timeout=lambda: _SECONDS, sandbox=setup.sandbox)
            result = asyncio.run(_run(tool, str(receipt["command"]), root, CheckPrograms.PROJECT))
            if _is_missing_program(result):
                result = asyncio.run(_run(tool, str(receipt["command"]), root, CheckPrograms.USUAL))
        except AnyCoworkError as error:
            stdout().line(f"cannot be run: {strip_controls(error.message)}")
            return CANNOT_RUN
    code = result.facts.get("exit_code")
    is_out_of_time = result.error is not None and result.error.code == ToolTimedOut.code
    if _is_missing_program(result) or result.facts.get("needs_network") or is_out_of_time or code is None:
        stdout().line(f"cannot be run:\n{_quoted(result.content)}")
        return CANNOT_RUN
    if code != receipt.get("exit_code"):
        stdout().line(f"different: exit code {code}, it was {receipt.get('exit_code')}.\n{_quoted(result.content)}")
        return DIFFERENT
    files, command = len(_files(receipt)), strip_controls(str(receipt["command"])).replace("\n", "⏎")
    stdout().line(f"same: {files} files, `{command}`, exit code {code}. Receipt {receipt_id(receipt)}.")
    return SAME


def _quoted(output: str) -> str:
    """Returns the end of an output so that none of its lines can be taken for one of ours."""
    return "\n".join(f"  | {line}" for line in strip_controls(output.strip()[-500:]).split("\n"))


def _is_missing_program(result: ToolResult) -> bool:
    exit_code = result.facts.get("exit_code")
    is_missing = exit_code in NOT_RUNNABLE or (exit_code != 0 and MISSING_RUNNER.search(result.content) is not None)
    return is_missing or "not_visible" in result.facts


async def _run(tool: ExecuteCommand, command: str, root: Path, programs: CheckPrograms) -> ToolResult:
    """Runs it as the server does, in a layer that is dropped."""
    permissions = frozenset({Permission.READ_FILES, Permission.EXECUTE_COMMANDS})
    context = ToolContext(Folder(str(root)), permissions, check=CheckSetup(programs))
    return await tool.run(await tool.prepare({"command": command}, context), context)
