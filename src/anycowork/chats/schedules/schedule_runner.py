"""Starts what schedules and triggers are due to start: each start once, whichever server does it, also after a crash."""

import asyncio
import logging
from functools import partial
from itertools import groupby
from operator import attrgetter

from anycowork.chats.chat_service import ChatService
from anycowork.chats.jobs.job_drafts import NewJob
from anycowork.chats.jobs.job_service import JobService
from anycowork.domain.chats import Chat
from anycowork.domain.errors import (
    AnyCoworkError,
    ChatHeld,
    Conflict,
    NotAllowed,
    NotFound,
    StorageFault,
    TurnAlreadyRunning,
)
from anycowork.domain.jobs import JobLimits
from anycowork.domain.messages import Json
from anycowork.domain.origins import NO_ORIGINS, origin_of
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal
from anycowork.domain.schedules import (
    MOST_MISSED,
    ON_TIME_SECONDS,
    AlreadyStarted,
    ClaimStart,
    Schedule,
    ScheduledStart,
    StartedBy,
    StartReason,
    StartStatus,
    missed_times,
    next_time,
    to_start,
)
from anycowork.domain.times import seconds_between
from anycowork.domain.values import replace
from anycowork.store.sql.people import People
from anycowork.store.sql.schedules import Schedules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat
from anycowork.workflows.job_templates import JobTemplateService

EVERY_SECONDS = 15.0
"""Another server may have changed a schedule, a run may have ended, and the clock may have been set."""
_SHORTEST_WAIT = 0.2
log = logging.getLogger(__name__)


class ScheduleRunner:
    """A start is written down when it comes due, and bound to its turn or job in the transaction that begins that."""

    def __init__(
        self,
        *,
        schedules: Schedules,
        people: People,
        chats: ChatService,
        jobs: JobService,
        templates: JobTemplateService,
        store: Store,
        clock: Clock,
    ) -> None:
        self._schedules, self._people, self._store, self._clock = schedules, people, store, clock
        self._chats, self._jobs, self._templates = chats, jobs, templates
        self._wanted = asyncio.Event()
        self._has_waiting = False

    def wake(self) -> None:
        """Has it look at once: a schedule changed."""
        self._wanted.set()

    def on_rest(self) -> None:
        """A turn ended: what waited for it may be started."""
        if self._has_waiting:
            self._wanted.set()

    async def keep_up(self) -> None:
        """Runs until it is cancelled. What failed is tried again."""
        while True:
            self._wanted.clear()
            wait = EVERY_SECONDS
            try:
                await self.start_due()
                if (earliest := await self._schedules.earliest()) is not None:
                    wait = max(_SHORTEST_WAIT, min(wait, seconds_between(self._clock.now(), earliest)))
            except (AnyCoworkError, OSError) as error:
                log.warning("schedules could not be looked at: %s", error)
            try:
                async with asyncio.timeout(wait):
                    await self._wanted.wait()
            except TimeoutError:
                pass

    async def start_due(self) -> None:
        """Records the times that have come, and starts what is due. Raises: StorageFault."""
        now = self._clock.now()
        for schedule in await self._schedules.passed(now):
            await self._plan(schedule, now)
        due_starts = await self._schedules.due()
        self._has_waiting = bool(due_starts)
        async with asyncio.TaskGroup() as tasks:
            for _, starts in groupby(due_starts, key=attrgetter("schedule_id")):
                tasks.create_task(self._start_all([*starts]))

    async def start_now(self, principal: Principal, schedule: Schedule, key: str) -> ScheduledStart:
        """Starts it in the name of this person. Raises: Conflict if a run of it goes on; as what it starts."""
        if await self._schedules.goes_on(schedule.id):
            raise Conflict(f"A run of '{schedule.name}' goes on. Wait until it is over, or stop it first.")
        start = ScheduledStart(schedule.id, key, self._clock.now(), StartReason.PERSON, principal.label())
        await self._schedules.add_start(start, most_due=MOST_MISSED)
        try:
            await self._begin(schedule, start)
        except AlreadyStarted:
            pass  # by another server, which saw that it is due
        except AnyCoworkError as error:
            await self._settle(start, StartStatus.FAILED, error.message)
            raise
        return await self._schedules.start(schedule.id, key) or start

    async def _plan(self, schedule: Schedule, now: str) -> None:
        try:  # in a thread: many times may have been missed
            times = await asyncio.to_thread(missed_times, schedule, now)
            following = await asyncio.to_thread(next_time, schedule, now)
        except AnyCoworkError as error:
            await self._schedules.pause(schedule.id, error.message)
            return
        started_times = to_start(schedule, times, now)
        starts = [_start_at(schedule, time, now, is_started=time in started_times) for time in times]
        await self._schedules.plan(schedule, following, starts)

    async def _start_all(self, starts: list[ScheduledStart]) -> None:
        """Starts the first that may be started; those behind it wait for it, or are skipped."""
        for start in starts:
            try:
                await self._start(start)
            except (AlreadyStarted, ChatHeld, StorageFault) as error:
                log.info("schedule %s: left to another server or a later moment: %s", start.schedule_id, error.message)

    async def _start(self, start: ScheduledStart) -> None:
        """Raises: AlreadyStarted, ChatHeld, StorageFault: then it stays due, or another server has started it."""
        schedule = await self._schedules.find(start.schedule_id)
        if schedule is None:
            return
        if await self._schedules.goes_on(schedule.id):
            if not start.waits:
                await self._settle(start, StartStatus.SKIPPED, "The run before it was not over.")
            return
        try:
            await self._begin(schedule, start)
        except (AlreadyStarted, ChatHeld, StorageFault):
            raise
        except TurnAlreadyRunning as error:
            if not start.waits:
                await self._settle(start, StartStatus.SKIPPED, error.message)
        except AnyCoworkError as error:
            log.warning("schedule %s: not started: %s", schedule.id, error.message)
            await self._settle(start, StartStatus.FAILED, error.message)
            if isinstance(error, NotAllowed) or (isinstance(error, NotFound) and error.kind == "chat"):
                await self._schedules.pause(schedule.id, error.message)

    async def _begin(self, schedule: Schedule, start: ScheduledStart) -> None:
        principal = await self._people.acting(start.principal)
        if schedule.chat_id is not None:
            await self._chats.require_visible(principal, schedule.chat_id)
            _require_role(await require_chat(self._store, schedule.chat_id), schedule)
        chat_id = schedule.chat_id or start.chat_id or await self._open_chat(principal, schedule, start)
        # What the person who keeps the schedule fixed stands: a trigger's body only adds to it.
        parameters = {**(start.parameters or {}), **schedule.parameters}
        started_by = StartedBy(
            _note(schedule, start),
            schedule.limits,
            frozenset({origin_of("trigger", schedule.name)}) if start.parameters else NO_ORIGINS,
            lambda id_: self._claim(start, chat_id, **{"turn_id" if schedule.workflow else "job_id": id_}),
        )
        if schedule.workflow is not None:
            await self._chats.execute(principal, chat_id, schedule.workflow, parameters, started_by)
            return
        plan = await self._templates.plan(schedule.template or "", parameters)
        new_job = NewJob(plan=plan, limits=JobLimits(job=schedule.limits))
        await self._jobs.create(principal, chat_id, new_job, started_by)

    async def _open_chat(self, principal: Principal, schedule: Schedule, start: ScheduledStart) -> str:
        chat = await self._chats.open_chat(
            principal,
            title=schedule.name,
            workspace=schedule.workspace,
            role=schedule.role,
            model=None,
            system_prompt_id=None,
            claim=partial(self._claim, start),
        )
        return chat.id

    def _claim(self, start: ScheduledStart, chat_id: str, **started: str) -> ClaimStart:
        return ClaimStart(start.schedule_id, start.key, chat_id, self._clock.now(), **started)

    async def _settle(self, start: ScheduledStart, status: StartStatus, reason: str) -> None:
        await self._schedules.settle(replace(start, status=status, error=reason, settled_at=self._clock.now()))


def _require_role(chat: Chat, schedule: Schedule) -> None:
    """Raises: Conflict if the chat was switched to another role since."""
    if schedule.role is not None and chat.role != schedule.role:
        raise Conflict(f"The chat's role is {chat.role} now, and this schedule is for {schedule.role}.")


def _start_at(schedule: Schedule, time: str, now: str, *, is_started: bool) -> ScheduledStart:
    start = ScheduledStart(schedule.id, time, time, StartReason.TIME, schedule.principal)
    if not is_started:
        return replace(start, status=StartStatus.MISSED, settled_at=now, error="No server ran at this time.")
    return replace(start, waits=seconds_between(time, now) > ON_TIME_SECONDS)


def _note(schedule: Schedule, start: ScheduledStart) -> Json:
    return {"id": schedule.id, "name": schedule.name, "due_at": start.due_at, "reason": start.reason.value}
