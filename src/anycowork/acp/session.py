"""One session of an editor: one chat. A prompt sends a message and follows its turn to the end, over approvals, questions and plans."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import aclosing

from acp.exceptions import RequestError
from acp.helpers import update_agent_message_text
from acp.interfaces import Client
from acp.schema import PromptResponse, StopReason

from anycowork.acp.editor_files import EditorFiles
from anycowork.acp.handshake import EditorAbilities
from anycowork.acp.permission_requests import (
    APPROVE,
    OWN_WORDS,
    STOP,
    Dialogs,
    NoAnswer,
    approval_request,
    chosen_value,
    plan_request,
    question_request,
)
from anycowork.acp.prompt_content import ContentBlock, PromptMessageContent, mentioned_files, read_prompt
from anycowork.acp.tool_calls import one_line
from anycowork.acp.updates import UpdateBuilder, usage_update
from anycowork.client.chat_client import ChatClient
from anycowork.client.connect import first_error
from anycowork.client.errors import ServerRefused, ServerUnreachable
from anycowork.domain.evidence import evidence_line
from anycowork.domain.messages import Json, json_object, json_objects

_STOP_REASONS: dict[str, StopReason] = {
    "answered": "end_turn",
    "terminated": "end_turn",
    "asked": "end_turn",
    "planned": "end_turn",
    "limit": "max_turn_requests",
    "stopped": "cancelled",
}
_BUSY = -32600


class EditorSession:
    """`seen` is the number of the last event that the editor was sent; `abilities` is what the editor offered."""

    def __init__(self, chat: ChatClient, editor: Client, *, seen: int, abilities: EditorAbilities) -> None:
        config = chat.chat.get("config")
        self.chat = chat
        self.workspace = str(chat.chat.get("workspace"))
        role = str(config.get("agent_role") if isinstance(config, dict) else "")
        self.updates = UpdateBuilder(self.workspace, role, terminals=abilities.shows_terminals)
        self._files = EditorFiles(editor, chat.chat_id, self.workspace, abilities)
        self.has_servers = False
        self.unused_servers: list[str] = []  # why, a line each
        self._editor = editor
        self._seen = seen
        self._leave: asyncio.Future[StopReason] | None = None
        self._cancelled = False
        self._fault: str | None = None
        self._plan: Json | None = None
        self._evidence: Json | None = None

    async def prompt(self, blocks: Sequence[ContentBlock]) -> PromptResponse:
        """Raises: RequestError if a prompt is running already; ServerRefused, ServerUnreachable."""
        if self._leave is not None:
            raise RequestError(_BUSY, "A prompt is running in this session. Wait for it, or cancel it.")
        self._leave, self._cancelled, self._fault, self._plan = (
            asyncio.get_running_loop().create_future(),
            False,
            None,
            None,
        )
        before = self.updates.usage
        try:
            reason = await self._prompt(await self._read(blocks))
        finally:
            self._leave = None
        if self._fault is not None:
            raise RequestError(-32603, self._fault)
        if (used := usage_update(await self.chat.usage())) is not None:
            await self._editor.session_update(self.chat.chat_id, used)
        spent = self.updates.usage
        self.updates.usage = before.model_copy(update={"total_tokens": 0, "input_tokens": 0, "output_tokens": 0})
        meta = {"evidence": self._evidence} if self._evidence else None
        return PromptResponse(stop_reason=reason, usage=spent, field_meta=meta)

    async def cancel(self) -> None:
        """Stops the turn of the running prompt. Without one there is nothing to cancel."""
        if self._leave is None:
            return
        self._cancelled = True
        await self._stop()
        if self._plan is not None:  # its turn is over already; only the dialog is open
            self._leave_with("cancelled")

    async def switch(self, role: str) -> None:
        await self.chat.switch(role, confirm=False)
        self.updates.role = role

    # --- one prompt

    async def _read(self, blocks: Sequence[ContentBlock]) -> PromptMessageContent:
        unsaved = await self._files.unsaved_versions(mentioned_files(blocks, self.workspace))
        return read_prompt(blocks, self.workspace, unsaved)

    async def _prompt(self, content: PromptMessageContent) -> StopReason:
        self._evidence = None  # that of an earlier turn: this prompt may end before its own does
        state = str((await self.chat.refresh()).get("state"))
        if state == "running":
            raise RequestError(
                _BUSY, "A turn is running in this chat, started elsewhere. Wait for it, or stop it there."
            )
        if state == "awaiting_answer":
            return await self._answer_first(content.text)
        if state == "awaiting_approval":
            reason = await self._follow(await self._parked_turn(), approvals=await self.chat.approvals())
            if reason != "end_turn" or self._fault is not None:
                return reason
        sent = await self.chat.send(content.whole_text, images=content.images, files=content.files)
        self.updates.own.add(str(sent.get("message_id")))
        return await self._follow(str(sent.get("turn_id")))

    async def _answer_first(self, text: str) -> StopReason:
        """A question is open: the prompt is its answer, or else the dialog asks once more."""
        turn_id = await self._parked_turn()
        messages, _ = await self.chat.messages()
        questions = [message for message in messages if message.get("message_type") == "question"][-1:]
        payload = questions[0].get("payload") if questions else None
        question: Json = {**payload, "message_id": questions[0].get("id")} if isinstance(payload, dict) else {}
        answer = text.strip().casefold()
        for option in json_objects(question.get("options")):
            if answer in (str(option.get("label")).casefold(), str(option.get("value")).casefold()):
                await self.chat.answer(str(question["message_id"]), value=str(option.get("value")))
                return await self._follow(turn_id)
        if question.get("allow_custom"):
            await self.chat.answer(str(question["message_id"]), custom=text)
            return await self._follow(turn_id)
        return await self._follow(turn_id, question=question)

    async def _parked_turn(self) -> str:
        messages, _ = await self.chat.messages()
        return str(next((message["turn_id"] for message in reversed(messages) if message.get("turn_id")), ""))

    async def _follow(
        self, turn_id: str, *, approvals: Sequence[Json] = (), question: Json | None = None
    ) -> StopReason:
        """To the end of this turn, and of the turns that approved plans start after it."""
        assert self._leave is not None
        await self._stop_if_cancelled()
        try:
            async with asyncio.TaskGroup() as tasks:
                dialogs = Dialogs(self._editor, self.chat.chat_id, tasks)
                for approval in approvals:
                    dialogs.open(str(approval.get("id")), self._decide(dialogs, approval))
                if question is not None:
                    dialogs.open(str(question.get("message_id")), self._answer(dialogs, question))
                following = tasks.create_task(self._follow_events(turn_id, dialogs))
                await asyncio.wait({following, self._leave}, return_when=asyncio.FIRST_COMPLETED)
                dialogs.close_all()
                if self._leave.done():
                    following.cancel()
                    return self._leave.result()
                return following.result()
        except BaseExceptionGroup as group:
            raise first_error(group) from None

    async def _follow_events(self, turn_id: str, dialogs: Dialogs) -> StopReason:
        async with aclosing(self.chat.events(self._seen)) as events:
            async for event in events:
                number = event.get("seq")
                self._seen = number if isinstance(number, int) else self._seen
                for update in self.updates.from_event(event):
                    await self._editor.session_update(self.chat.chat_id, update)
                await self._follow_files(event)
                if event.get("turn_id") == turn_id:
                    self._attend(event, dialogs)
                if event.get("type") == "turn-ended" and event.get("turn_id") == turn_id:
                    await self._show_evidence(event)
                    following = await self._after_turn(event, dialogs)
                    if following is None:
                        return self._ending(event)
                    turn_id = following
        raise ServerUnreachable("The event stream ended before the turn did. The chat is kept.")

    async def _show_evidence(self, event: Json) -> None:
        """Tells what the end of a turn is worth, where it is worth more or less than the agent's word; the answer's metadata has it whole."""
        self._evidence = json_object(event.get("evidence")) or None
        if (evidence := self._evidence) and evidence.get("status") != "claimed":
            note = f"\n\n{one_line(evidence_line(evidence))}\n\n"
            await self._editor.session_update(self.chat.chat_id, update_agent_message_text(note))

    async def _follow_files(self, event: Json) -> None:
        message = json_object(event.get("message"))
        if event.get("type") != "message" or message.get("message_type") != "tool_result":
            return
        unsaved = await self._files.follow_result(json_object(message.get("payload")))
        if unsaved is not None:
            note = f"\n\nYour editor holds unsaved changes of {one_line(unsaved)}. The file on disk was changed; your version was left alone.\n\n"
            await self._editor.session_update(self.chat.chat_id, update_agent_message_text(note))

    def _attend(self, event: Json, dialogs: Dialogs) -> None:
        """Opens a dialog for what waits, and closes it when it was decided elsewhere."""
        approval, question, plan = (json_object(event.get(name)) for name in ("approval", "question", "plan"))
        match event.get("type"):
            case "permission-request":
                dialogs.open(str(approval.get("id")), self._decide(dialogs, approval))
            case "permission-decided":
                dialogs.close(str(approval.get("id")))
            case "question":
                dialogs.open(str(question.get("message_id")), self._answer(dialogs, question))
            case "question-answered":
                dialogs.close(str(question.get("message_id")))
            case "plan-update":
                self._plan = plan if plan.get("state") == "open" else None
            case "turn-ended":
                dialogs.close_all()

    async def _after_turn(self, event: Json, dialogs: Dialogs) -> str | None:
        """The id of the turn that carries out the plan, if a person approved it just now."""
        if event.get("reason") != "planned" or self._plan is None or self._cancelled:
            self._plan = None
            return None
        plan, message_id = self._plan, str(self._plan.get("message_id"))
        disclosure = await self.chat.plan_disclosure(message_id)
        try:
            chosen = await dialogs.ask(plan_request(plan, disclosure, self.updates.role))
        except NoAnswer as fault:
            self._plan = None
            self._no_answer(fault)
            return None
        self._plan = None
        if chosen != APPROVE:
            return None
        started = await self.chat.approve(message_id, disclosure_hash=disclosure.get("hash"))
        await self._stop_if_cancelled()
        return str(started.get("turn_id"))

    # --- what a person is asked

    async def _decide(self, dialogs: Dialogs, approval: Json) -> None:
        approval_id = str(approval.get("id"))
        disclosure = await self.chat.whole_disclosure(approval)
        try:
            decision = await dialogs.ask(approval_request(approval, disclosure, self.workspace))
        except NoAnswer as fault:
            await self._stop_unanswered(fault)
            return
        await self._once(self.chat.decide([approval_id], decision, None, {approval_id: str(disclosure.get("hash"))}))

    async def _answer(self, dialogs: Dialogs, question: Json) -> None:
        request = question_request(question)
        if request is None:
            self._leave_with("end_turn")
            return
        try:
            chosen = await dialogs.ask(request)
        except NoAnswer as fault:
            await self._stop_unanswered(fault)
            return
        if chosen == OWN_WORDS:
            self._leave_with("end_turn")
        elif chosen == STOP:
            await self._stop()
        elif (picked := chosen_value(question, chosen)) is not None:
            await self._once(self.chat.answer(str(question.get("message_id")), value=picked))

    async def _once(self, sending: Awaitable[object]) -> None:
        """Sends a decision. One that was made elsewhere in the meantime stands."""
        try:
            await sending
        except ServerRefused as refused:
            if refused.status != 409:
                await self._stop_unanswered(NoAnswer(f"the server refused it: {refused.message}"))

    async def _stop_unanswered(self, fault: NoAnswer) -> None:
        """Stops the turn and withdraws the open questions: a missing answer does not allow anything."""
        self._no_answer(fault)
        if not fault.editor_is_gone:
            await self._stop()

    def _no_answer(self, fault: NoAnswer) -> None:
        if fault.is_cancelled:
            self._cancelled = True
        else:
            self._fault = (
                f"Nobody answered the permission dialog ({fault}). Nothing was allowed, and the turn was stopped."
            )

    async def _stop_if_cancelled(self) -> None:
        """The editor may cancel while a turn is being started."""
        if self._cancelled:
            await self._stop()

    async def _stop(self) -> None:
        try:
            await self.chat.stop()
        except (ServerRefused, ServerUnreachable):
            self._leave_with("cancelled")

    def _leave_with(self, reason: StopReason) -> None:
        if self._leave is not None and not self._leave.done():
            self._leave.set_result(reason)

    def _ending(self, event: Json) -> StopReason:
        reason = str(event.get("reason"))
        if self._cancelled:
            return "cancelled"
        if reason not in _STOP_REASONS:
            error = json_object(json_object(event.get("turn")).get("error"))
            self._fault = self._fault or str(error.get("message") or f"The turn ended: {reason}.")
        return _STOP_REASONS.get(reason, "end_turn")
