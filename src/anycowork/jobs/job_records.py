"""The records that a job writes: turns, assignments, results, and the question about a failed task."""

from collections.abc import Mapping

from pydantic import JsonValue

from anycowork.domain.approvals import QuestionRow
from anycowork.domain.chats import Turn
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.messages import QUOTED_REPORTS, Json, Message, MessageType, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.jobs.isolated_tasks import conflict_words
from anycowork.jobs.job_runner import RETRY, SKIP, STOP
from anycowork.jobs.task_commits import KEEP_TASK, KEEP_WORKSPACE, MergeConflict


@value
class JobRecords:
    clock: Clock

    def turn(
        self, job: Job, *, role: str, message_id: str, task: JobTask | None = None, plan_id: str | None = None
    ) -> Turn:
        return Turn(
            id=(task.turn_id if task else None) or self.clock.new_id(),
            chat_id=job.chat_id,
            role=role,
            principal=job.principal,
            message_id=message_id,
            plan_id=job.plan_id if task else plan_id,
            created_at=self.clock.now(),
            job_id=job.id,
            task_id=task.id if task else None,
        )

    def assignment(self, job: Job, task: JobTask, text: str, quoted: str) -> Message:
        payload: Json = {"task": task.to_json(), QUOTED_REPORTS: quoted}
        return self._message(job, Speaker.USER, text, MessageType.TASK_ASSIGNMENT, payload, task.turn_id, task.id)

    def results(self, job: Job, turn: Turn, text: str, quoted: str) -> Message:
        """Data, so it stands as a result: what workers say is never taken for a person's words."""
        payload: Json = {"tool_call_id": None, "tool": "tasks", "status": "ok", QUOTED_REPORTS: quoted}
        return self._message(job, Speaker.TOOL, text, MessageType.TOOL_RESULT, payload, turn.id, None)

    def replan(self, job: Job, text: str, quoted: str) -> Message:
        """The request for a new plan. It quotes what workers said, so it stands as a result and not as a person's words."""
        payload: Json = {"tool_call_id": None, "tool": "tasks", "status": "ok", QUOTED_REPORTS: quoted}
        return self._message(job, Speaker.TOOL, text, MessageType.TOOL_RESULT, payload, None, None)

    def failure_question(self, job: Job, task: JobTask) -> tuple[Message, QuestionRow, Turn]:
        why = str((task.error or {}).get("message") or "It failed.")
        words = f"Task {task.id} failed: {why[:2000]} What shall the job do?"
        options = {"Try it again": RETRY, "Go on without it": SKIP, "Stop the job": STOP}
        return self._question(job, task, words, options)

    def conflict_question(self, job: Job, task: JobTask, conflict: MergeConflict) -> tuple[Message, QuestionRow, Turn]:
        options = {
            "Keep the task's version": KEEP_TASK,
            "Keep the version that is there now": KEEP_WORKSPACE,
            "Run the task again on the present files": RETRY,
        }
        return self._question(job, task, conflict_words(task, conflict), options, conflict=conflict.to_json())

    def _question(
        self, job: Job, task: JobTask, words: str, options: Mapping[str, str], **more: JsonValue
    ) -> tuple[Message, QuestionRow, Turn]:
        payload: Json = {
            "type": "question",
            "format_version": "1.0",
            "severity": "major",
            "question": words,
            "options": [{"label": label, "value": value} for label, value in options.items()],
            **more,
        }
        turn_id = self.clock.new_id()
        message = self._message(job, Speaker.ASSISTANT, words, MessageType.QUESTION, payload, turn_id, task.id)
        turn = Turn(
            id=turn_id,
            chat_id=job.chat_id,
            role="actor",
            principal=job.principal,
            message_id=message.id,
            created_at=self.clock.now(),
            job_id=job.id,
            task_id=task.id,
        )
        return message, QuestionRow(message.id, job.chat_id, turn_id), turn

    def _message(
        self,
        job: Job,
        speaker: Speaker,
        text: str,
        kind: MessageType,
        payload: Json,
        turn_id: str | None,
        task_id: str | None,
    ) -> Message:
        return Message(
            self.clock.new_id(),
            job.chat_id,
            speaker,
            text,
            kind,
            payload,
            turn_id=turn_id,
            job_id=job.id,
            task_id=task_id,
            created_at=self.clock.now(),
        )
