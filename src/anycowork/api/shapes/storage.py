"""The shape of what takes room on the disk."""

from pydantic import Field

from anycowork.api.shapes.base import Described


class ShareShape(Described):
    name: str
    bytes: int | None = Field(description="null where it cannot be told.")
    most: int | None = Field(description="Its bound; null for what grows with use.")
    setting: str | None = Field(description="The setting that is its bound.")


class StorageShape(Described):
    storage: list[ShareShape]
