"""A server's clock that a test sets."""

from dataclasses import dataclass, field

from anycowork.server.clock import SystemClock


@dataclass
class ScheduleClock(SystemClock):
    """Shows what the test says; its ids are the real ones."""

    time: str = "2026-11-19T07:59:00.000000Z"
    ids: SystemClock = field(default_factory=SystemClock)

    def now(self) -> str:
        return self.time

    def monotonic(self) -> float:
        return self.ids.monotonic()

    def new_id(self) -> str:
        return self.ids.new_id()
