"""The chat on a whole terminal: messages, what waits for the person, and the input line."""

from collections.abc import Awaitable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Footer, Static

from anycowork.client.chat_client import ChatClient
from anycowork.client.console import strip_controls
from anycowork.client.http import ServerRefused, ServerUnreachable
from anycowork.client.progress_lines import progress_line
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json, json_object
from anycowork.tui.chat_commands import ChatCommands
from anycowork.tui.chat_header import HeadLine
from anycowork.tui.chat_state import ChatStatus, disclosed_plan
from anycowork.tui.completion import (
    SYSTEM_COMMANDS,
    CompletionSource,
    CompletionTrigger,
    SlashCommand,
    command_in,
    own_command_in,
)
from anycowork.tui.composer import CompletionList, Composer, TypingClock
from anycowork.tui.dialogs import MenuChoice, MenuScreen, TextInputScreen
from anycowork.tui.docks import ApprovalDock, Dock, PlanDock, QuestionDock
from anycowork.tui.earlier_state import notes_at_end, restore_status, wait_for_server, welcome_text
from anycowork.tui.message_scroll import MessageScroll
from anycowork.tui.person_editor import edited_steps, merged_by_hand


class ChatScreen(App[None]):
    """Ends when the person leaves; the chat continues on the server."""

    TITLE = "AnyCowork"
    CSS_PATH = Path(__file__).with_name("style.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop"),
        Binding("ctrl+r", "command('role')", "Role"),
        Binding("ctrl+g", "command('restore')", "Restore"),
        Binding("f2", "attend", "Decide"),
        Binding("f3", "continue_turn", "Continue"),
        Binding("f4", "command('autonomy')", "Autonomy"),
        Binding("f5", "command('chats')", "Chats"),
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("ctrl+c", "interrupt", "Stop or quit", show=False, priority=True),
    ]

    def __init__(self, client: ChatClient, *, typed: str = "") -> None:
        """`typed` stands in the input line from the start."""
        super().__init__()
        self._typed = typed
        self.client = client
        self.status = _first_status(client)
        self._commands = ChatCommands(self)
        self._completion_source = CompletionSource()
        self._colours: dict[str, str] = {}
        self._typing = TypingClock()
        self._asked: Dock | None = None
        self._answering: object = None  # the question whose answer is typed in the input line
        self._leaving = False

    # --- the screen

    def compose(self) -> ComposeResult:
        yield HeadLine()
        yield MessageScroll()
        yield ApprovalDock(self._typing)
        yield QuestionDock(self._typing)
        yield PlanDock(self._typing)
        yield Static(id="status", markup=False)
        completions = CompletionList()
        yield Composer(completions, self._typing)
        yield completions
        yield Footer(show_command_palette=True)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for title, help_text, command in SYSTEM_COMMANDS:
            yield SystemCommand(title, help_text, partial(self.action_command, command))
        yield SystemCommand("Continue", "Go on where the turn stopped (F3)", self.action_continue_turn)
        yield SystemCommand("Stop", "End the turn that runs (Esc)", self.action_stop)
        yield SystemCommand("Light or dark", "The other look", self._toggle_theme)
        yield SystemCommand("Quit", "Leave; the chat is kept (Ctrl+Q)", self.exit)

    def _toggle_theme(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    async def on_mount(self) -> None:
        self.query_one(Composer).focus()
        self.query_one(Composer).insert(self._typed)
        self._start_to_follow()

    # --- what the commands use

    async def ask(self, screen: ModalScreen[str | None]) -> str | None:
        """Shows a list or an input in front of the chat; None if the person went back."""
        return await self.push_screen_wait(screen)

    def note(self, text: str) -> None:
        """Adds a line to the conversation."""
        self._conversation.note(text)

    def show_status(self, text: str, *, error: bool = False) -> None:
        """Shows a short message above the input line."""
        line = self.query_one("#status", Static)
        line.update(strip_controls(text))
        line.set_class(error, "error")
        line.display = bool(text)

    def open_chat(self, client: ChatClient) -> None:
        """In one step, so that nothing comes in between: from here on each key and event belongs to this chat."""
        self.client, self.status = client, _first_status(client)
        self._show_dock(None)
        self.show_status("")
        self._draw_head()
        self._focus_input()
        self._start_to_follow()

    # --- events of the server

    def _start_to_follow(self) -> None:
        self._start(self._follow(), group="events", exclusive=True)

    async def _follow(self) -> None:
        """Shows the chat and what comes. After the server was lost, it starts anew as soon as one answers."""
        try:
            while True:
                try:
                    await self._show_chat()
                except ServerUnreachable as error:
                    self._conversation.note(f"{error.message} It goes on here as soon as the server answers.", "error")
                    self.status.state = "disconnected"
                    self._draw_head()
                    await wait_for_server(self.client)
                    self.status = _first_status(self.client)
                    self._show_dock(None)
                    self.show_status("")
        except AnyCoworkError as error:
            self._conversation.note(error.message, "error")
            self.status.state = "idle"
            self._draw_head()

    async def _show_chat(self) -> None:
        await self._conversation.clear()
        await self._load_history(messages := await self.client.messages())
        async for event in self.client.events(messages[1]):
            if event.get("type") == "turn-started":
                await self.client.refresh()  # the first message of a chat becomes its title
            self._see(event)

    async def _load_history(self, so_far: tuple[list[Json], int]) -> None:
        """Shows what was said and asked before this screen opened."""
        messages = so_far[0]
        self._colours = {str(role["name"]): str(role.get("colour")) for role in await self.client.roles()}
        chat = await self.client.refresh()
        if not messages:
            self._conversation.note(await welcome_text(self.client, chat))
        for message in messages:
            self._conversation.show(message)
        await restore_status(self.status, self.client, chat, messages)
        for plan in self.status.approved:
            self._conversation.follow_plan(plan)
        self._show_open_requests()

    def _see(self, event: Json) -> None:
        self.status.see(event)
        conversation = self._conversation
        match event.get("type"):
            case "permission-request":
                self._start(self._read_rest(json_object(event.get("approval"))))
            case "message":
                conversation.show(json_object(event.get("message")))
            case "text-delta" | "reasoning-delta" as kind:
                conversation.grow_by(event, thinking=kind == "reasoning-delta")
            case "workflow-progress" | "model-retry" | "mcp-wait":
                if line := progress_line(event):
                    conversation.note(line)
            case "plan-update":
                conversation.follow_plan(json_object(event.get("plan")))
            case "queue-updated":
                conversation.show_queued(json_object(event.get("queued")))
            case "turn-ended":
                conversation.end_growing()
                for note in notes_at_end(self.status, event):
                    conversation.note(note)
        self._show_open_requests()

    # --- what waits for the person

    def _show_open_requests(self) -> None:
        status = self.status
        approvals, question = self.query_one(ApprovalDock), self.query_one(QuestionDock)
        open_dock: Dock | None = None
        if status.approvals:
            open_dock = approvals
            approvals.show(list(status.approvals.values()))
        elif status.question is not None:
            open_dock = question
            question.show(status.question)
        elif status.plan is not None and status.state == "idle":
            open_dock = dock = self.query_one(PlanDock)
            status.plan = disclosed_plan(status.plan)
            dock.show(status.plan, status.role)
        self._show_dock(open_dock)
        self._draw_head()

    def _show_dock(self, open_dock: Dock | None) -> None:
        if open_dock is self._asked:
            return
        had_focus = self._asked is not None and self._asked.has_focus_within
        for dock in self.query(Dock):
            dock.display = dock is open_dock
        if open_dock is not None:
            open_dock.hold_back()  # at once: an event would come after keys that were pressed before it was seen
        self._asked = open_dock
        if open_dock is None and had_focus:
            self._focus_input()

    def on_key(self, event: events.Key) -> None:
        """Brings what is typed anywhere else to the input line."""
        if event.character and event.is_printable and not isinstance(self.screen, ModalScreen):
            event.stop()
            self._typing.note()
            self.on_dock_typed(Dock.Typed(event.character))

    def on_dock_typed(self, event: Dock.Typed) -> None:
        """This text was meant for the input line."""
        self._focus_input()
        if event.text:
            self.query_one(Composer).insert(event.text)

    def action_attend(self) -> None:
        """Moves the focus to what waits, and only there."""
        if self._asked is None:
            self.notify("Nothing waits for you.", markup=False)
        elif isinstance(self._asked, QuestionDock):
            self._focus_on(self._asked.query_one("#question-options"))
        else:
            self._focus_on(self._asked)

    def _focus_input(self) -> None:
        self._focus_on(self.query_one(Composer))

    def _focus_on(self, widget: Widget) -> None:
        """At once: the next key may arrive before the next round of messages."""
        self.screen_stack[0].set_focus(widget)

    def _draw_head(self) -> None:
        self.query_one(HeadLine).show(self.status, self.client.chat, self._colours)

    # --- the person's actions

    async def action_continue_turn(self) -> None:
        if self.status.stopped is None:
            self.notify("There is nothing to continue. Send a message.", markup=False)
        else:
            await self._try(self.client.continue_turn())

    def action_command(self, name: str) -> None:
        self._run_command(SlashCommand(name))

    def _run_command(self, command: SlashCommand) -> None:
        self._start(self._commands.run(command), exclusive=True, group="command")

    async def on_composer_sent(self, event: Composer.Sent) -> None:
        self.show_status("")
        question = self.status.question
        if question is not None and question["message_id"] == self._answering:
            done = await self._try(self.client.answer(str(question["message_id"]), custom=event.words))
        elif (command := command_in(event.words)) is not None:
            self._run_command(command)
            return
        elif (own_command := own_command_in(event.words)) is not None:
            done = await self._try(self.client.run_own_command(own_command))
        else:
            works = self.status.state != "idle"
            done = await self._try(self.client.send(event.words, queue=works))
        if not done:
            self.query_one(Composer).give_back(event.words)

    def on_composer_completion_wanted(self, event: Composer.CompletionWanted) -> None:
        answers = self.status.question is not None and self.status.question["message_id"] == self._answering
        if event.trigger.kind == "path" or not answers:  # an answer is never a command
            self._start(self._complete(event.trigger), exclusive=True, group="completion")

    async def _complete(self, trigger: CompletionTrigger) -> None:
        try:
            options = await self._completion_source.options(self.client, trigger)
        except AnyCoworkError as error:
            self.show_status(error.message, error=True)
            return
        self.query_one(Composer).offer(trigger, options)

    def on_approval_dock_decided(self, event: ApprovalDock.Decided) -> None:
        self._start(self._decide(event.decision.approvals, event.decision.decision, event.decision.with_note))

    async def _decide(self, approvals: tuple[str, ...], decision: str, with_note: bool) -> None:
        note = await self.push_screen_wait(TextInputScreen("Why not? The agent reads it.")) if with_note else ""
        if note is not None:
            await self._try(self.client.decide(approvals, decision, note, self.status.disclosure_hashes(approvals)))

    async def _read_rest(self, approval: Json) -> None:
        """Fetches what was not included in the approval: until it is there, it cannot be allowed."""
        complete = {**approval, "disclosure": await self.client.whole_disclosure(approval)}
        if str(approval.get("id")) in self.status.approvals:
            self.status.ask(complete)
            self._show_open_requests()

    async def on_question_dock_answered(self, event: QuestionDock.Answered) -> None:
        question = event.question
        if question.get("message_id") not in self.status.questions:
            return
        if event.value is None:
            self._answering = question["message_id"]
            self._focus_input()
            self.show_status("Type your answer. Enter sends it to the question.")
        elif event.value == "merge" and json_object(question.get("conflict")).get("draft") is not None:
            self._start(self._merge(question))
        else:
            await self._try(self.client.answer(str(question["message_id"]), value=event.value))

    async def _merge(self, question: Json) -> None:
        conflict = json_object(question.get("conflict"))
        try:
            content = merged_by_hand(self, str(conflict.get("path")), str(conflict.get("draft")))
        except AnyCoworkError as error:
            self.show_status(error.message, error=True)
            return
        if content is None:
            self.notify("Nothing was changed.", markup=False)
            return
        await self._try(self.client.answer(str(question["message_id"]), value="merge", content=content))

    async def on_plan_dock_chosen(self, event: PlanDock.Chosen) -> None:
        plan = self.status.plan
        if plan is None or event.choice == "chat":
            self._focus_input()
        elif event.choice == "approve":
            await self._try(
                self.client.approve(
                    str(plan["message_id"]), disclosure_hash=json_object(plan.get("disclosure")).get("hash")
                )
            )
        else:
            self._start(self._edit(plan))

    async def _edit(self, plan: Json) -> None:
        try:
            steps = edited_steps(self, plan.get("steps"))
        except AnyCoworkError as error:
            self.show_status(error.message, error=True)
            return
        if steps is None:
            self.notify("Nothing was changed.", markup=False)
            return
        choices = [MenuChoice("approve", "Approve the edited plan and execute it"), MenuChoice("keep", "Not yet")]
        if (
            await self.push_screen_wait(
                MenuScreen(f"The plan has {len(steps)} {'step' if len(steps) == 1 else 'steps'} now.", choices)
            )
            == "approve"
        ):
            await self._try(self.client.approve(str(plan["message_id"]), steps))

    async def action_stop(self) -> None:
        if self.status.waits:
            self.notify("F2 goes to what waits for you. Ctrl+C stops the turn.", markup=False)
        elif self.status.state != "idle":
            await self._try(self.client.stop())
        elif self.status.own_command is not None:
            await self._try(self.client.stop_own_command(self.status.own_command))

    async def action_interrupt(self) -> None:
        """Ctrl+C closes a list, else stops the person's own command or the running turn, else clears the line, else stops a turn that waits;
        with nothing of that, pressed twice it leaves."""
        composer = self.query_one(Composer)
        if isinstance(self.screen, ModalScreen):
            self.screen.dismiss(None)
        elif composer.decline():
            pass
        elif self.status.own_command is not None:
            await self._try(self.client.stop_own_command(self.status.own_command))
        elif self.status.busy:
            await self._try(self.client.stop())
        elif composer.text:
            composer.text = ""
        elif self.status.waits:
            await self._try(self.client.stop())
        elif self._leaving:
            self.exit()
        else:
            self._leaving = True
            self.set_timer(3, self._stay)
            self.notify("Press Ctrl+C once more to leave. The chat is kept.", markup=False)

    def _stay(self) -> None:
        self._leaving = False

    # --- parts

    @property
    def _conversation(self) -> MessageScroll:
        return self.query_one(MessageScroll)

    def _start(self, work: Coroutine[object, object, None], *, group: str = "default", exclusive: bool = False) -> None:
        """Runs the work beside the screen; one of a group at a time if `exclusive`."""
        self.run_worker(self._while_open(work), group=group, exclusive=exclusive)

    async def _while_open(self, work: Coroutine[object, object, None]) -> None:
        """Finishes the work quietly where the screen is being closed: its parts go one by one, and nobody looks at them any more."""
        try:
            await work
        except NoMatches:
            if all(self.query(part) for part in (MessageScroll, QuestionDock, ApprovalDock, Composer, "#status")):
                raise

    async def _try(self, action: Awaitable[object]) -> bool:
        """Tells whether it succeeded; if not, shows the person why."""
        try:
            await action
        except (ServerRefused, ServerUnreachable) as error:
            self.show_status(error.message, error=True)
            return False
        return True


def _first_status(client: ChatClient) -> ChatStatus:
    return ChatStatus(role=str(json_object(client.chat.get("config")).get("agent_role")))
