"""One language server of one workspace: a program in the sandbox that is shown edits one after another, and says what is wrong.

It sees the workspace read-only and without key files, has no network, and its own folders in memory. Nothing waits for it longer than
its caller wants to: what it says too late comes with the next edit.
"""

import asyncio
import shutil
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import field, replace
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from anycowork.domain.path_class import is_key_file
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.values import mutable_value, value
from anycowork.sandbox.bubblewrap import SYSTEM_PATH
from anycowork.sandbox.limits import CommandLimits
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.secrets.masks import cover
from anycowork.sandbox.stdio_program import (
    LineLog,
    ProcessPipes,
    first_line,
    open_pipes,
    start_words,
    started_process,
    starter_paths,
)
from anycowork.tools.language.diagnostics import (
    Diagnostic,
    DiagnosticKey,
    NewErrors,
    PendingCheck,
    counted_keys,
    new_errors,
    read_errors,
)
from anycowork.tools.language.protocol import LanguageServerFailed, RpcConnection, changed_lines
from anycowork.workspace.jail import Jail

_PROJECT_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
_MOST_FOLDERS = 16  # above the file, in which a project's programs are looked for
_MIB = 1 << 20
LIMITS = CommandLimits(
    processes=128, memory=3072 * _MIB, file_size=256 * _MIB, scratch=256 * _MIB, processor_seconds=900
)
IDLE_SECONDS = 600.0
HUNG_SECONDS = 30.0
START_SECONDS = 120.0  # until the project is loaded and the first edit checked
_INCREMENTAL = 2  # a server that takes the changed part of a text alone
PUBLISH_SECONDS = 10.0  # after which nothing new is taken to be wrong: some publish changes alone
FIRST_PUBLISH_SECONDS = 30.0  # while it loads the project it publishes nothing
SETTLE_SECONDS = 0.05  # for a second part; what comes later is told with the next edit
_LONGEST_HEADER = 16_384
_MOST_DOCUMENTS = 32
_MOST_WAITING = 8  # edits
_START_NICE = ("/usr/bin/nice", "-n", "5")
_CAPABILITIES: JsonValue = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "synchronization": {"didSave": False},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": False, "relatedDocumentSupport": False},
    },
    "workspace": {"configuration": True, "workspaceFolders": True, "diagnostics": {"refreshSupport": True}},
    "window": {"workDoneProgress": False},
    "experimental": {"serverStatusNotification": True},
}


@value
class LanguageServerProgram:
    """`path` is absolute. `in_workspace`: it is part of the project, so nobody vouched for it."""

    name: str
    path: str
    arguments: tuple[str, ...] = ()
    options: JsonValue = None
    announces_ready: bool = False
    in_workspace: bool = False


def language_of(path: str) -> str | None:
    """Returns the language's name in the protocol; None if no server is known for it."""
    return _SUFFIXES.get(PurePosixPath(path).suffix.lower())


def find_programs(root: str, path: str, tool_path: str) -> Iterator[LanguageServerProgram]:
    """Yields the servers for this file, best first: of each kind the project's own one before the one on `tool_path`. Blocking."""
    above = [*PurePosixPath(path.lstrip("/")).parents][:_MOST_FOLDERS]
    project = [Path(root, folder, programs) for folder in above for programs in _PROJECT_FOLDERS]
    for name, arguments, options, announces_ready in _SERVERS[family_of(path)]:
        project_program = next((folder / name for folder in project if (folder / name).is_file()), None)
        installed = shutil.which(name, path=f"{tool_path}:{SYSTEM_PATH}")
        if name == _COMPILER:
            project_program = project_program if project_program and _is_server(project_program) else None
            installed = installed if installed and _is_server(Path(installed)) else None
        if project_program is not None:
            yield LanguageServerProgram(
                name, str(project_program), arguments, options, announces_ready, in_workspace=True
            )
        if installed is not None and not Path(installed).is_relative_to(root):
            yield LanguageServerProgram(name, installed, arguments, options, announces_ready)


def _is_server(compiler: Path) -> bool:
    """Whether TypeScript's compiler is a language server itself: since version 7, which no longer has the one that others wrap."""
    package = compiler.resolve().parent.parent
    return (package / "package.json").is_file() and not (package / "lib" / "tsserver.js").exists()


def family_of(path: str) -> str:
    """Returns the name of the languages that one server knows together."""
    language = language_of(path) or ""
    return "typescript" if language.startswith(("typescript", "javascript")) else language


_SUFFIXES = {
    ".py": "python",
    ".pyi": "python",
    ".go": "go",
    ".rs": "rust",
    ".tsx": "typescriptreact",
    ".jsx": "javascriptreact",
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
}
# Nothing is compiled, and no code of the project runs while it is analysed, as far as servers let us choose.
_RUST: JsonValue = {
    "checkOnSave": False,
    "cargo": {"buildScripts": {"enable": False}, "targetDir": "/tmp/target"},
    "procMacro": {"enable": False},
    "cachePriming": {"enable": False},
}
_COMPILER = "tsc"
_SERVERS: dict[str, tuple[tuple[str, tuple[str, ...], JsonValue, bool], ...]] = {
    "python": (
        ("basedpyright-langserver", ("--stdio",), None, False),
        ("pyright-langserver", ("--stdio",), None, False),
        ("pylsp", (), None, False),
        ("ruff", ("server",), None, False),
    ),
    "typescript": (
        (_COMPILER, ("--lsp", "--stdio"), None, False),
        ("vtsls", ("--stdio",), None, False),
        ("typescript-language-server", ("--stdio",), None, False),
    ),
    "go": (("gopls", ("serve",), None, False),),
    "rust": (("rust-analyzer", (), _RUST, True),),
}


@value
class Edit:
    """A file's text before and after; no text before if the edit created it. `checked` is set when the server is done with it."""

    path: str
    before: str | None
    after: str
    checked: asyncio.Event


@mutable_value
class _Document:
    """`known` are the errors that were there before, or were told; `errors` the newest ones. `lines` are those of the text: a server
    may say what it finds in it thousands of times."""

    text: str
    lines: list[str]
    version: int = 1
    known: Counter[DiagnosticKey] = field(default_factory=Counter)
    errors: tuple[Diagnostic, ...] = ()
    published: asyncio.Event = field(default_factory=asyncio.Event)


class LanguageServer:
    """`run` is the server's life; the other methods return at once or wait for it."""

    def __init__(self, sandbox: Sandbox, jail: Jail, hidden: HiddenPathRules, program: LanguageServerProgram) -> None:
        self.program = program
        self.ended = asyncio.Event()
        self.failed = False
        self._sandbox = sandbox
        self._jail = jail
        self._hidden = replace(hidden, withholds=is_key_file, named=frozenset())
        self._edits: asyncio.Queue[Edit] = asyncio.Queue(_MOST_WAITING)
        self._documents: OrderedDict[str, _Document] = OrderedDict()
        self._is_ready = asyncio.Event()
        self._checking: Edit | None = None
        self._has_checked = False
        self._has_published = False
        self._pulls = False
        self._takes_ranges = False
        self._stop = asyncio.Event()
        self.log = LineLog()

    # --- for callers

    def show(self, edit: Edit) -> bool:
        """Takes the edit into the queue; False if too many wait already."""
        try:
            self._edits.put_nowait(edit)
        except asyncio.QueueFull:
            return False
        return True

    def pending(self) -> PendingCheck | None:
        """Returns what to say while edits wait for the server; None if it is done with them."""
        waits = self._checking is not None or not self._edits.empty()
        return PendingCheck(self.program.name, not self._has_checked) if waits and not self.ended.is_set() else None

    def take_new_errors(self) -> NewErrors | None:
        """Returns the errors that were not told yet, and counts them as told. Of the file that is being checked nothing is known yet."""
        by_path: dict[str, list[Diagnostic]] = {}
        for path, document in self._documents.items():
            if self._checking is not None and self._checking.path == path:
                continue
            if fresh := new_errors(document.errors, document.known):
                by_path[path] = fresh
            document.known = counted_keys(document.errors)
        return NewErrors(self.program.name, by_path) if by_path else None

    def stop(self) -> None:
        self._stop.set()

    # --- its life

    async def run(self) -> None:
        """Runs the server until it is unused, stopped or broken. Raises nothing but cancellation."""
        try:
            async with self._started() as pipes, asyncio.TaskGroup() as tasks:
                connection = RpcConnection(pipes, self._take_notice)
                reading = tasks.create_task(connection.read())
                working = tasks.create_task(self._work(connection))
                stopping = tasks.create_task(self._stop.wait())
                await asyncio.wait([reading, working, stopping], return_when=asyncio.FIRST_COMPLETED)
                for task in (reading, working, stopping):
                    task.cancel()
        except Exception as error:  # noqa: BLE001  # whatever a hostile server causes, it costs nothing but its diagnostics
            self.failed = True
            self.log.add(f"AnyCowork: {error}".encode())
        finally:
            self.ended.set()
            while not self._edits.empty():
                self._edits.get_nowait().checked.set()

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[ProcessPipes]:
        jail, sandbox = self._jail, self._sandbox
        async with AsyncExitStack() as things:
            stage = await things.enter_async_context(sandbox.read_only(jail.root))
            covered = await asyncio.to_thread(cover, jail, stage, self._hidden, sandbox.key_files, sandbox.hidden_paths)
            things.callback(covered.close)
            sight, environment = await asyncio.to_thread(sandbox.view_of_tools, jail.root, stage.runner)
            launch = things.enter_context(
                sandbox.launch(
                    start_words(is_confined=True),
                    jail.root,
                    stage,
                    cache_kept=False,
                    environment=environment,
                    sight=replace(sight, paths=(*dict.fromkeys((*starter_paths(), *sight.paths)),)),
                    masks=covered.masks,
                    limits=LIMITS,
                )
            )
            launch.status.watch()
            things.push_async_callback(launch.status.all_gone)
            things.enter_context(covered.watched(self.stop))
            process = things.enter_context(started_process(launch.argv, env={}, fds=launch.fds))
            pipes = await things.enter_async_context(
                open_pipes(process, self.log, longest_line=_LONGEST_HEADER, may_pass=covered.is_intact)
            )
            program = self.program
            argv = [*_START_NICE, program.path, *program.arguments]
            pipes.writer.write(first_line(argv, {}))
            yield pipes

    async def _work(self, connection: RpcConnection) -> None:
        """Raises: LanguageServerFailed, TimeoutError."""
        async with asyncio.timeout(START_SECONDS):
            await self._initialize(connection)
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    edit = await self._edits.get()
            except TimeoutError:
                return
            self._checking = edit
            try:
                connection.begin_edit()
                async with asyncio.timeout(HUNG_SECONDS if self._has_checked else START_SECONDS):
                    await self._check(connection, edit)
                self._has_checked = True
            finally:
                self._checking = None
                edit.checked.set()

    async def _initialize(self, connection: RpcConnection) -> None:
        root = Path(self._jail.root).as_uri()
        folders: JsonValue = [{"uri": root, "name": "workspace"}]
        params: dict[str, JsonValue] = {
            "processId": None,
            "rootUri": root,
            "workspaceFolders": folders,
            "capabilities": _CAPABILITIES,
            "initializationOptions": self.program.options,
        }
        result = await connection.request("initialize", params)
        capabilities = result.get("capabilities") if isinstance(result, dict) else None
        if not isinstance(capabilities, dict):
            raise LanguageServerFailed("it did not say what it can do")
        self._pulls = isinstance(capabilities.get("diagnosticProvider"), dict)
        sync = capabilities.get("textDocumentSync")
        self._takes_ranges = (sync.get("change") if isinstance(sync, dict) else sync) == _INCREMENTAL
        await connection.notify("initialized", {})
        if self.program.announces_ready:
            await self._is_ready.wait()

    async def _check(self, connection: RpcConnection, edit: Edit) -> None:
        document = self._documents.get(edit.path)
        if edit.before is not None and (document is None or document.text != edit.before):
            document = await self._send_text(connection, edit.path, edit.before)
            await self._diagnose(connection, edit.path, document)
            document.known = counted_keys(document.errors)
        document = await self._send_text(connection, edit.path, edit.after)
        await self._diagnose(connection, edit.path, document)

    async def _send_text(self, connection: RpcConnection, path: str, text: str) -> _Document:
        document = self._documents.get(path)
        if document is None:
            if len(self._documents) == _MOST_DOCUMENTS:
                oldest, _ = self._documents.popitem(last=False)
                await connection.notify("textDocument/didClose", {"textDocument": {"uri": self._uri(oldest)}})
            document = self._documents[path] = _Document(text, text.split("\n"))
            item: JsonValue = {
                "uri": self._uri(path),
                "languageId": language_of(path) or "",
                "version": 1,
                "text": text,
            }
            await connection.notify("textDocument/didOpen", {"textDocument": item})
            return document
        self._documents.move_to_end(path)
        changed = changed_lines(document.text, text) if self._takes_ranges else None
        if changed is None:
            document.lines = text.split("\n")
        else:
            changed.apply(document.lines)
        change: JsonValue = {"text": text} if changed is None else changed.to_json()
        document.text, document.version = text, document.version + 1
        document.published.clear()
        target: JsonValue = {"uri": self._uri(path), "version": document.version}
        await connection.notify("textDocument/didChange", {"textDocument": target, "contentChanges": [change]})
        return document

    async def _diagnose(self, connection: RpcConnection, path: str, document: _Document) -> None:
        """Asks for the diagnostics of the newest text, or waits until the server published them."""
        if self._pulls:
            report = await connection.request("textDocument/diagnostic", {"textDocument": {"uri": self._uri(path)}})
            items = report.get("items") if isinstance(report, dict) else None
            document.errors = read_errors(items, document.lines)
            return
        seconds = PUBLISH_SECONDS if self._has_published else FIRST_PUBLISH_SECONDS
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(seconds):
                    await document.published.wait()
                document.published.clear()
                seconds = SETTLE_SECONDS

    def _take_notice(self, method: str, params: dict[str, JsonValue]) -> None:
        if method == "experimental/serverStatus" and params.get("quiescent") is True:
            self._is_ready.set()
        if method != "textDocument/publishDiagnostics" or self._pulls:
            return
        uri, version = params.get("uri"), params.get("version")
        for path, document in self._documents.items():
            if self._uri(path) == uri and version in (None, document.version):
                document.errors = read_errors(params.get("diagnostics"), document.lines)
                document.published.set()
                self._has_published = True

    def _uri(self, path: str) -> str:
        return Path(self._jail.root, path.lstrip("/")).as_uri()
