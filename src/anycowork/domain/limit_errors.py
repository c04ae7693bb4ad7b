"""The error of limits of people and groups."""

from anycowork.domain.errors import LimitReached


class SpendingLimitReached(LimitReached):
    """What a person or a group may use on a day, or run at the same time, has no room. `amount` names which of their limits.
    `lifts_at` is the time from which there is room again, and `retry_after` the seconds until then; None where nobody knows."""

    retry_after: int | None = None

    def __init__(
        self, message: str, *, limit: str = "person", amount: str = "tokens_per_day", lifts_at: str | None = None
    ) -> None:
        super().__init__(message)
        self.limit, self.amount, self.lifts_at = limit, amount, lifts_at

    @property
    def param(self) -> str:
        return f"{self.limit}.{self.amount}"
