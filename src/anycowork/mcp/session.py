"""One live session with a server, held open by a task of its own: the SDK enters and leaves its scopes in the same task.

Only here is the SDK's client used, and imported only when the first session opens.
"""

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from pydantic import JsonValue

from anycowork.domain.errors import ToolTimedOut
from anycowork.mcp.definitions import ServerMethod, plain_text
from anycowork.mcp.exchange import AskPerson, Exchange, Sample, current_exchange
from anycowork.mcp.offers import ServerOffers, list_offers
from anycowork.mcp.stdio_transport import CONNECTION_LOST, Ended, McpFailed

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams

END_SECONDS = 8.0
_LONGEST_WAIT = 24 * 3600.0  # the SDK's own limit: ours ends a request earlier, except while a person thinks
_ROOTS_SECONDS = 0.25
_CONNECTION_CLOSED = -32000  # the SDK's code
SCRATCH = "/tmp"  # of the sandbox: empty, and gone with it
log = logging.getLogger(__name__)
Connect = Callable[[Ended], "AbstractAsyncContextManager[TransportStreams]"]


class McpSession:
    """`connect` makes the transport; it is given what to call when the connection ends. `root` is the workspace that the server learns of.

    `has_roots`: it is a program that works on files. Without a workspace it learns of its `own_folder`: some offer fewer tools, or do not
    start at all, without any root.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        server: str,
        legacy: bool,
        timeout: float,
        root: str | None,
        own_folder: str,
        has_roots: bool,
        sampling: bool,
        offers_changed: Callable[[], None],
    ) -> None:
        self._connect = connect
        self._server = server
        self._legacy = legacy
        self._timeout = timeout
        self._root = root
        self._own_folder = own_folder
        self._has_roots = has_roots
        self._roots_told = False
        self._sampling = sampling
        self._offers_changed = offers_changed
        self._exchanges: list[Exchange] = []
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._closing = asyncio.Event()
        self.closed = asyncio.Event()
        self._fault = ""
        self.ended_early = False
        self._task: asyncio.Task[None] | None = None

    async def open(self, tasks: asyncio.TaskGroup) -> None:
        """Raises: McpFailed. It never waits longer than a call may take."""
        await asyncio.to_thread(_load_sdk)  # our own time, not the server's
        self._task = tasks.create_task(self._hold())
        try:
            async with asyncio.timeout(self._timeout):
                await self._ready.wait()
        except TimeoutError:
            await self.aclose()
            raise McpFailed(f"it did not answer within {self._timeout:g} seconds") from None
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        if self._client is None:
            raise McpFailed(self._fault or CONNECTION_LOST)

    async def aclose(self) -> None:
        """Returns when it is over, or has been given up."""
        self._closing.set()
        if self._task is None:
            return
        done, _ = await asyncio.wait([self._task], timeout=END_SECONDS)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=END_SECONDS)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs any more."""
        return self._task is None or self._task.done()

    @property
    def is_lost(self) -> bool:
        """Whether it is over, or about to be."""
        return self._closing.is_set() or self.closed.is_set()

    @property
    def loss(self) -> str:
        """The reason why it is over, as far as it is known."""
        return self._fault or CONNECTION_LOST

    async def offers(self) -> ServerOffers:
        """Everything that it offers now. Raises: McpFailed."""
        client = self._require()
        try:
            async with asyncio.timeout(self._timeout):
                return await list_offers(client)
        except TimeoutError:
            raise McpFailed(f"it did not list what it offers within {self._timeout:g} seconds") from None
        except Exception as error:  # noqa: BLE001  # whatever a server provokes in the SDK is the server's failure
            raise self._failed(error) from None

    async def request(
        self,
        method: ServerMethod,
        parameters: Mapping[str, JsonValue],
        *,
        tell: Callable[[str], None] | None = None,
        ask: AskPerson | None = None,
        sample: Sample | None = None,
    ) -> Any:
        """The server's answer. Raises: McpFailed, ToolTimedOut. A cancellation is passed on to the server.

        The SDK's own `call_tool` would check the result by the server's output schema, whose patterns would run here.
        """
        message, answers = request_of(method, parameters)
        session = self._require().session
        exchange = Exchange(self._server, self._timeout, tell, ask, sample)
        self._exchanges.append(exchange)

        async def send(request: Any) -> Any:
            sent = session.send_request(
                request, answers, request_read_timeout_seconds=_LONGEST_WAIT, progress_callback=exchange.on_progress
            )
            return await self._unless_closed(sent)

        try:
            return await exchange.run(message, send, session)
        except (McpFailed, ToolTimedOut):
            raise
        except Exception as error:  # noqa: BLE001  # as above
            raise self._failed(error) from None
        finally:
            self._exchanges.remove(exchange)

    async def _unless_closed(self, awaitable: Any) -> Any:
        """The answer, or McpFailed as soon as the session is over: a lost connection need not be noticed by the SDK."""
        answer, closed = asyncio.ensure_future(awaitable), asyncio.ensure_future(self.closed.wait())
        try:
            await asyncio.wait([answer, closed], return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise McpFailed(self._fault or CONNECTION_LOST)
            return answer.result()
        finally:
            for task in (answer, closed):
                task.cancel()
            await asyncio.gather(answer, closed, return_exceptions=True)

    def _require(self) -> "Client":
        if self._client is None:
            raise McpFailed(self._fault or CONNECTION_LOST)
        return self._client

    def _failed(self, error: Exception) -> McpFailed:
        from mcp import MCPError

        is_closed = isinstance(error, MCPError) and error.error.code == _CONNECTION_CLOSED
        if is_closed or not isinstance(error, MCPError):
            # Whatever state it is in, the next call gets a new session.
            self._end(f"{CONNECTION_LOST}: {_reason(error)}")
        return McpFailed(self._fault if is_closed else _reason(error))

    async def _hold(self) -> None:
        try:
            from mcp import Client
            from mcp_types import Implementation

            from anycowork import __version__

            transport: Any = self._connect(self._end)
            async with Client(
                transport,
                mode="legacy" if self._legacy else "auto",
                read_timeout_seconds=self._timeout + 5,
                message_handler=self._take,
                list_roots_callback=self._roots if self._has_roots else None,
                elicitation_callback=self._elicit,
                sampling_callback=self._sample if self._sampling else None,
                client_info=Implementation(name="anycowork", version=__version__),
                cache=None,
            ) as client:
                await self._let_it_take_its_roots(client)
                self._client = client
                self._ready.set()
                listening = asyncio.ensure_future(self._listen(client))
                try:
                    await self._closing.wait()
                finally:
                    listening.cancel()
                    await asyncio.gather(listening, return_exceptions=True)
                    self._client = None
                    self.closed.set()
        except Exception as error:  # noqa: BLE001  # as above
            self.ended_early = self._closing.is_set() and not self._ready.is_set()
            self._fault = self._fault or _reason(error)
        finally:
            self._client = None
            self.closed.set()
            self._ready.set()

    def _end(self, reason: str = "") -> None:
        self._fault = self._fault or reason
        self._closing.set()

    async def _listen(self, client: "Client") -> None:
        """Changes of what it offers, where the protocol is the one that tells of them on request only."""
        try:
            async with client.listen(
                tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as changes:
                async for _ in changes:
                    self._offers_changed()
        except Exception as error:  # noqa: BLE001  # not every server offers it; the tools are listed on request all the same
            log.debug("no list of changes: %s", _reason(error))

    async def _take(self, message: Any) -> None:
        from mcp_types import (
            PromptListChangedNotification,
            ResourceListChangedNotification,
            ToolListChangedNotification,
        )

        changed = (PromptListChangedNotification, ResourceListChangedNotification, ToolListChangedNotification)
        if isinstance(getattr(message, "root", message), changed):
            self._offers_changed()

    async def _elicit(self, context: Any, params: Any) -> Any:
        from mcp_types import ElicitResult

        exchange = current_exchange(self._exchanges)
        return await exchange.elicit(params) if exchange is not None else ElicitResult(action="cancel")

    async def _sample(self, context: Any, params: Any) -> Any:
        from mcp_types import ErrorData

        exchange = current_exchange(self._exchanges)
        if exchange is None:
            return ErrorData(code=-1, message="No call is under way that this prompt could belong to.")
        return await exchange.sample(params)

    async def _let_it_take_its_roots(self, client: "Client") -> None:
        """Waits for a server that asks for its roots once it is connected: a call that comes earlier finds it without them.

        The protocol has no sign for it. An answered ping shows that it has read our answer; then it gets a moment for what it does with it.
        """
        if not self._has_roots or client.session.initialize_result is None:
            return
        await _ping(client)
        if self._roots_told:
            await _ping(client)
            await asyncio.sleep(_ROOTS_SECONDS)
            await _ping(client)

    async def _roots(self, context: Any) -> Any:
        from mcp_types import ListRootsResult, Root
        from pydantic import FileUrl

        self._roots_told = True
        root_names = [(self._root, "workspace")] if self._root else [(self._own_folder, "scratch")]
        return ListRootsResult(roots=[Root(uri=FileUrl(Path(path).as_uri()), name=name) for path, name in root_names])


def request_of(method: ServerMethod, parameters: Mapping[str, JsonValue]) -> tuple[Any, Any]:
    """The request of the SDK, and the types of its answer. `parameters` has `name` and `arguments`, or `uri`."""
    import mcp_types as types
    from pydantic import TypeAdapter

    match method:
        case ServerMethod.CALL_TOOL:
            call = types.CallToolRequestParams.model_validate(dict(parameters))
            return types.CallToolRequest(params=call), TypeAdapter(types.CallToolResult | types.InputRequiredResult)
        case ServerMethod.READ_RESOURCE:
            read = types.ReadResourceRequestParams.model_validate(dict(parameters))
            answers = TypeAdapter(types.ReadResourceResult | types.InputRequiredResult)
            return types.ReadResourceRequest(params=read), answers
        case ServerMethod.GET_PROMPT:
            get = types.GetPromptRequestParams.model_validate(dict(parameters))
            return types.GetPromptRequest(params=get), TypeAdapter(types.GetPromptResult | types.InputRequiredResult)
        case _:
            assert_never(method)


async def _ping(client: "Client") -> None:
    """An error is an answer as well: some servers do not know it."""
    import mcp_types as types
    from mcp import MCPError

    try:
        await client.session.send_request(types.PingRequest(), types.EmptyResult)
    except MCPError as error:
        log.debug("no ping: %s", _reason(error))


def _load_sdk() -> None:
    """On a thread: it takes a second, in which chats go on."""
    importlib.import_module("mcp")
    importlib.import_module("mcp.client.sse")


def _reason(error: BaseException) -> str:
    """The innermost reason of a group, in one bounded line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return plain_text(str(error) or type(error).__name__, 500)
