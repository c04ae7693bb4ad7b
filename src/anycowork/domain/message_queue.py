"""Messages that a person wrote while the agent worked: they wait until it has finished, or steer the running turn."""

from anycowork.domain.messages import Json
from anycowork.domain.values import value


@value
class QueuedMessage:
    """`steer`: the running turn takes it between two steps. `id` becomes the id of the message that is sent."""

    id: str
    chat_id: str
    content: str
    principal: str
    steer: bool = False
    created_at: str = ""

    def to_json(self) -> Json:
        return {"id": self.id, "content": self.content, "steer": self.steer, "created_at": self.created_at}
