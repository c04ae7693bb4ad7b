"""The error of limits of people and groups."""

from anycowork.domain.errors import LimitReached


class SpendingLimitReached(LimitReached):
    """What a person or a group may use on a day, or run at the same time, has no room. `amount` names which of their limits."""

    def __init__(self, message: str, *, limit: str = "person", amount: str = "tokens_per_day") -> None:
        super().__init__(message)
        self.limit, self.amount = limit, amount

    @property
    def param(self) -> str:
        return f"{self.limit}.{self.amount}"
