"""The chat on a whole terminal: messages, what waits for the person, and the input line."""

from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Static

from anycowork.client.chat_client import ChatClient
from anycowork.client.console import strip_controls
from anycowork.client.http import ServerRefused, ServerUnreachable
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json
from anycowork.tui.chat_state import ChatStatus, disclosed_plan, noun
from anycowork.tui.composer import Composer
from anycowork.tui.dialogs import MenuChoice, MenuScreen, TextInputScreen, autonomy_choices
from anycowork.tui.docks import ApprovalDock, Dock, PlanDock, QuestionDock
from anycowork.tui.message_scroll import MessageScroll
from anycowork.tui.plan_editor import edited_steps
from anycowork.tui.slash_commands import SlashCommand, command_help, command_in

STATES = {
    "idle": "ready",
    "running": "working …",
    "awaiting_approval": "waits for your approval",
    "awaiting_answer": "waits for your answer",
}
COLOURS = {"purple": "magenta", "pink": "bright_magenta", "orange": "bright_yellow", "teal": "cyan"}
PLAIN = {"blue", "green", "red", "yellow", "cyan", "magenta"}


class ChatScreen(App[None]):
    """Ends when the person leaves; the chat continues on the server."""

    TITLE = "AnyCowork"
    CSS_PATH = Path(__file__).with_name("style.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop"),
        Binding("ctrl+r", "role", "Role"),
        Binding("ctrl+g", "go_back", "Go back"),
        Binding("f2", "attend", "Decide"),
        Binding("f3", "continue_turn", "Continue"),
        Binding("f4", "autonomy", "Autonomy"),
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("ctrl+c", "interrupt", "Stop or quit", show=False, priority=True),
    ]

    def __init__(self, client: ChatClient) -> None:
        super().__init__()
        self._client = client
        self._situation = ChatStatus(role=str(noun(client.chat, "config").get("agent_role")))
        self._colours: dict[str, str] = {}
        self._asked: Dock | None = None
        self._leaving = False

    # --- the screen

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield MessageScroll()
        yield ApprovalDock()
        yield QuestionDock()
        yield PlanDock()
        yield Composer()
        yield Footer(show_command_palette=True)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield SystemCommand("Switch role", "Another role for the next message (Ctrl+R)", self.action_role)
        yield SystemCommand("Restore", "Restore an earlier state of the files (Ctrl+G)", self.action_go_back)
        yield SystemCommand("Continue", "Go on where the turn stopped (F3)", self.action_continue_turn)
        yield SystemCommand("Autonomy", "Choose how much asks in this chat (F4)", self.action_autonomy)
        yield SystemCommand("Stop", "End the turn that runs (Esc)", self.action_stop)
        yield SystemCommand("Light or dark", "The other look", self._toggle_theme)
        yield SystemCommand("Quit", "Leave; the chat is kept (Ctrl+Q)", self.exit)

    def _toggle_theme(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    async def on_mount(self) -> None:
        self.query_one(Composer).focus()
        self.run_worker(self._follow(), name="events")

    # --- events of the server

    async def _follow(self) -> None:
        try:
            await self._load_history(messages := await self._client.messages())
            async for event in self._client.events(messages[1]):
                if event.get("type") == "turn-started":
                    await self._client.refresh()  # the first message of a chat becomes its title
                self._see(event)
        except AnyCoworkError as error:
            self._conversation.note(error.message, "error")
            self._situation.state = "idle"
            self._draw_head()

    async def _load_history(self, so_far: tuple[list[Json], int]) -> None:
        """Shows what was said and asked before this screen opened."""
        messages, situation = so_far[0], self._situation
        self._colours = {str(role["name"]): str(role.get("colour")) for role in await self._client.roles()}
        chat = await self._client.refresh()
        situation.state = str(chat.get("state"))
        situation.autonomy = str(noun(chat, "config").get("autonomy") or situation.autonomy)
        situation.stopped = str(noun(chat, "continuable").get("message")) if chat.get("continuable") else None
        if not messages:
            await self._welcome(chat)
        for message in messages:
            self._conversation.show(message)
        if situation.state == "awaiting_approval":
            for approval in await self._client.approvals():
                situation.ask({**approval, "disclosure": await self._client.whole_disclosure(approval)})
        if situation.state == "awaiting_answer":
            situation.question = _newest(messages, "question")
        plan = _newest(messages, "plan")
        if plan is not None and str(plan["message_id"]) not in await self._client.approved_plans():
            situation.plan = plan
        self._show_open_requests()

    async def _welcome(self, chat: Json) -> None:
        answerer = await self._client.answerer()
        hint = f" {answerer['hint']}" if answerer.get("kind") == "guide" else ""
        self._conversation.note(
            f"A new chat in {chat.get('workspace')}. {answerer.get('name', 'Nobody')} answers.{hint}\n"
            "Ctrl+R switches the role: a planner only reads and plans. Whatever changes something asks you first."
        )

    def _see(self, event: Json) -> None:
        self._situation.see(event)
        conversation = self._conversation
        match event.get("type"):
            case "permission-request":
                self.run_worker(self._read_rest(noun(event, "approval")))
            case "message":
                conversation.show(noun(event, "message"))
            case "text-delta" | "reasoning-delta" as kind:
                self._grow(event, thinking=kind == "reasoning-delta")
            case "error":
                conversation.note(str(noun(event, "error").get("message")), "error")
            case "workflow-progress":
                run = noun(event, "workflow")
                conversation.note(f"{run.get('name')}, step {run.get('step')} of {run.get('of')}: {run.get('title')}")
            case "turn-ended":
                conversation.end_growing()
                if event.get("reason") in ("stopped", "interrupted"):
                    conversation.note("Stopped." if event["reason"] == "stopped" else "Interrupted.")
        self._show_open_requests()

    def _grow(self, event: Json, *, thinking: bool) -> None:
        where, offset, text = str(event.get("message_id")), event.get("offset"), str(event.get("text"))
        printed = event.get("call_id") is not None
        at = offset if isinstance(offset, int) else 0
        self._conversation.grow(where, at, text, thinking=thinking, printed=printed)

    # --- what waits for the person

    def _show_open_requests(self) -> None:
        situation = self._situation
        approvals, question = self.query_one(ApprovalDock), self.query_one(QuestionDock)
        asked: Dock | None = None
        if situation.approvals:
            asked = approvals
            approvals.show(list(situation.approvals.values()))
        elif situation.question is not None:
            asked = question
            if self._asked is not question:
                question.show(situation.question)
        elif situation.plan is not None and situation.state == "idle":
            asked = dock = self.query_one(PlanDock)
            situation.plan = disclosed_plan(situation.plan)
            dock.show(situation.plan)
        self._show_dock(asked)
        self._draw_head()

    def _show_dock(self, asked: Dock | None) -> None:
        if asked is self._asked:
            return
        had_focus = self._asked is not None and self._asked.has_focus_within
        for dock in self.query(Dock):
            dock.display = dock is asked
        if asked is not None:
            asked.hold_back()  # at once: an event would come after keys that were pressed before it was seen
        self._asked = asked
        if asked is None and had_focus:
            self._focus_input()
        elif (
            asked is not None and not self.query_one(Composer).text
        ):  # otherwise somebody is typing: F2 moves the focus there
            self.action_attend()

    def on_dock_typed(self, event: Dock.Typed) -> None:
        """This text was meant for the input line."""
        self._focus_input()
        self.query_one(Composer).insert(event.character)

    def action_attend(self) -> None:
        """Moves the focus to what waits, and back to the input line."""
        if self._asked is None or self._asked.has_focus_within:
            self._focus_input()
        elif isinstance(self._asked, QuestionDock):
            self._focus_on(self._asked.query_one("#question-options"))
        else:
            self._focus_on(self._asked)

    def _focus_input(self) -> None:
        self._focus_on(self.query_one(Composer))

    def _focus_on(self, place: Widget) -> None:
        """At once: the next key may arrive before the next round of messages."""
        self.screen_stack[0].set_focus(place)

    def _draw_head(self) -> None:
        situation, chat = self._situation, self._client.chat
        colour = self._colours.get(situation.role, "")
        colour = COLOURS.get(colour, colour if colour in PLAIN else "default")
        head = Text.assemble(
            (f" {strip_controls(situation.role)} ", f"bold reverse {colour}"),
            (f"  {self._state_words()}", "bold yellow" if situation.stopped else ""),
            (f"  autonomy: {situation.autonomy}" if situation.autonomy != "ask" else "", "bold yellow"),
            (f"  {strip_controls(str(chat.get('title')))}", "bold"),
            (f"  {strip_controls(str(chat.get('workspace')))}", "dim"),
            (f"  {strip_controls(situation.model)}  {situation.tokens:,} tokens" if situation.tokens else "", "dim"),
        )
        head.no_wrap, head.overflow = True, "ellipsis"
        self.query_one("#head", Static).update(head)

    def _state_words(self) -> str:
        if self._situation.stopped:
            return "stopped: F3 continues"
        return STATES.get(self._situation.state, self._situation.state)

    # --- the person's actions

    async def action_continue_turn(self) -> None:
        if self._situation.stopped is None:
            self.notify("There is nothing to continue. Send a message.", markup=False)
        else:
            await self._try(self._client.continue_turn())

    def action_autonomy(self) -> None:
        self.run_worker(self._choose_autonomy(), exclusive=True, group="choosing")

    async def _choose_autonomy(self) -> None:
        try:
            level = await self._client.sandbox_level()
        except AnyCoworkError as error:
            self.notify(error.message, severity="error", markup=False)
            return
        choices = autonomy_choices(level)
        question = "How much may happen without asking?"
        wanted = await self.push_screen_wait(MenuScreen(question, choices, current=self._situation.autonomy))
        if wanted is not None and wanted != self._situation.autonomy:
            await self._try(self._client.choose_autonomy(wanted))

    async def on_composer_sent(self, event: Composer.Sent) -> None:
        question = self._situation.question
        if question is not None and question.get("allow_custom"):
            done = await self._try(self._client.answer(str(question["message_id"]), custom=event.words))
        elif (command := command_in(event.words)) is not None:
            self.run_worker(self._run_command(command), exclusive=True, group="choosing")
            return
        else:
            works = self._situation.state == "running"
            done = await self._try(self._client.send(event.words, queue=works))
            if done and works:
                self._conversation.note("Queued: it is sent when the agent has finished.")
        if not done:
            self.query_one(Composer).give_back(event.words)

    async def _run_command(self, command: SlashCommand) -> None:
        match command.name:
            case "compact":
                await self._try(self._client.compact())
            case "model" if command.text:
                await self._try(self._client.choose_model(command.text))
            case "model":
                await self._choose_model()
            case "role" if command.text:
                await self._try(self._client.switch(command.text, confirm=False))
            case "role":
                await self._choose_role()
            case "undo":
                await self._choose_snapshot()
            case _:
                self._conversation.note(command_help())

    async def _choose_model(self) -> None:
        try:
            models = await self._client.models()
        except AnyCoworkError as error:
            self.notify(error.message, severity="error", markup=False)
            return
        choices = [MenuChoice(str(place), model) for place, model in enumerate(models)]
        wanted = await self.push_screen_wait(MenuScreen("Which model?", choices))
        if wanted is not None and await self._try(self._client.choose_model(models[int(wanted)])):
            self._conversation.note(f"The model is {models[int(wanted)]} from the next message on.")

    def on_approval_dock_decided(self, event: ApprovalDock.Decided) -> None:
        self.run_worker(self._decide(event.decision.approvals, event.decision.decision, event.decision.with_note))

    async def _decide(self, approvals: tuple[str, ...], decision: str, with_note: bool) -> None:
        note = await self.push_screen_wait(TextInputScreen("Why not? The agent reads it.")) if with_note else ""
        if note is not None:
            await self._try(self._client.decide(approvals, decision, note, self._hashes(approvals)))

    def _hashes(self, approvals: Iterable[str]) -> dict[str, str]:
        """Returns the hashes of what was shown, by approval id."""
        found = {one: noun(self._situation.approvals.get(one, {}), "disclosure").get("hash") for one in approvals}
        return {one: hash_ for one, hash_ in found.items() if isinstance(hash_, str)}

    async def _read_rest(self, approval: Json) -> None:
        """Fetches what was not included in the approval: until it is there, it cannot be allowed."""
        whole = {**approval, "disclosure": await self._client.whole_disclosure(approval)}
        if str(approval.get("id")) in self._situation.approvals:
            self._situation.ask(whole)
            self._show_open_requests()

    async def on_question_dock_answered(self, event: QuestionDock.Answered) -> None:
        question = self._situation.question
        if event.value is None:
            self._focus_input()
            self.notify("Type your answer and press Enter.", markup=False)
        elif question is not None:
            await self._try(self._client.answer(str(question["message_id"]), value=event.value))

    async def on_plan_dock_chosen(self, event: PlanDock.Chosen) -> None:
        plan = self._situation.plan
        if plan is None or event.choice == "client":
            self._focus_input()
        elif event.choice == "approve":
            await self._try(self._client.approve(str(plan["message_id"]), shown=noun(plan, "disclosure").get("hash")))
        else:
            self.run_worker(self._edit(plan))

    async def _edit(self, plan: Json) -> None:
        try:
            steps = edited_steps(self, plan.get("steps"))
        except AnyCoworkError as error:
            self.notify(error.message, severity="error", markup=False)
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
            await self._try(self._client.approve(str(plan["message_id"]), steps))

    async def action_stop(self) -> None:
        if self._situation.state != "idle":
            await self._try(self._client.stop())

    async def action_interrupt(self) -> None:
        """Ctrl+C stops the running turn; with nothing to stop it clears the line, and pressed refresh it leaves."""
        composer = self.query_one(Composer)
        if self._situation.busy:
            await self._try(self._client.stop())
        elif composer.text:
            composer.text = ""
        elif self._leaving:
            self.exit()
        else:
            self._leaving = True
            self.set_timer(3, self._stay)
            self.notify("Press Ctrl+C once more to leave. The chat is kept.", markup=False)

    def _stay(self) -> None:
        self._leaving = False

    def action_role(self) -> None:
        self.run_worker(self._choose_role(), exclusive=True, group="choosing")

    async def _choose_role(self) -> None:
        try:
            roles = await self._client.roles()
        except AnyCoworkError as error:
            self.notify(error.message, severity="error", markup=False)
            return
        choices = [MenuChoice(str(role["name"]), str(role["name"]), str(role.get("tooltip"))) for role in roles]
        wanted = await self.push_screen_wait(MenuScreen("Which role?", choices, current=self._situation.role))
        if wanted is None or wanted == self._situation.role:
            return
        if self._situation.state != "idle":
            sure = [MenuChoice("yes", "Stop the turn and switch"), MenuChoice("no", "Let it continue")]
            if await self.push_screen_wait(MenuScreen("A turn is running.", sure)) != "yes":
                return
        await self._try(self._client.switch(wanted, confirm=True))

    def action_go_back(self) -> None:
        self.run_worker(self._choose_snapshot(), exclusive=True, group="choosing")

    async def _choose_snapshot(self) -> None:
        try:
            await self._go_back()
        except AnyCoworkError as error:
            self.notify(error.message, severity="error", markup=False)

    async def _go_back(self) -> None:
        changes = await self._client.changes()
        if not changes:
            self.notify("Nothing was changed in this chat, so there is nothing to restore.", markup=False)
            return
        choices = [MenuChoice(str(one["id"]), f"before {_clock(one)}", f"{one.get('files')} files") for one in changes]
        snapshot_id = await self.push_screen_wait(MenuScreen("Restore the files as of", choices))
        if snapshot_id is None:
            return
        preview = await self._client.restore(snapshot_id, dry_run=True)
        sure = [MenuChoice("yes", "Restore"), MenuChoice("no", "Leave everything as it is")]
        if await self.push_screen_wait(MenuScreen(_restore_summary(preview), sure)) == "yes":
            done = await self._client.restore(snapshot_id, dry_run=False)
            self._conversation.note(f"{_restore_summary(done)} You can undo this, too: Ctrl+G.")

    # --- parts

    @property
    def _conversation(self) -> MessageScroll:
        return self.query_one(MessageScroll)

    async def _try(self, action: Awaitable[object]) -> bool:
        """Tells whether it succeeded; if not, shows the person why."""
        try:
            await action
        except (ServerRefused, ServerUnreachable) as error:
            self.notify(error.message, severity="error", timeout=8, markup=False)
            return False
        return True


def _newest(messages: list[Json], kind: str) -> Json | None:
    """Returns the payload of the last message of this type, with its id."""
    found = [one for one in messages if one.get("message_type") == kind]
    return {**noun(found[-1], "payload"), "message_id": found[-1]["id"]} if found else None


def _clock(snapshot: Json) -> str:
    return str(snapshot.get("created_at")).replace("T", " ")[:19]


def _restore_summary(restored: Json) -> str:
    parts = []
    for name, verb in (("restored", "restored"), ("deleted", "removed"), ("conflicts", "in conflict")):
        paths = restored.get(name)
        if isinstance(paths, list) and paths:
            shown = ", ".join(strip_controls(str(path)) for path in paths[:5])
            parts.append(f"{len(paths)} {verb}: {shown}{' …' if len(paths) > 5 else ''}.")
    return " ".join(parts) or "Nothing would change."
