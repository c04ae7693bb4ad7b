"""System prompts: the text that a chat's prompt begins with. `prompts/enhance.py` adds role, tools and diagrams."""

from anycowork.domain.messages import Json
from anycowork.domain.values import value

DEFAULT_ID = "default"


@value
class SystemPrompt:
    """`version` counts its changes from 1. The built-in prompt has no dates and cannot be changed."""

    id: str
    name: str
    content: str
    version: int = 1
    created_at: str | None = None
    updated_at: str | None = None

    @property
    def built_in(self) -> bool:
        return self.id == DEFAULT_ID

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "name": self.name,
            "content": self.content,
            "version": self.version,
            "built_in": self.built_in,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
