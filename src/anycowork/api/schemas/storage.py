"""The shape of what takes room on the disk."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class ShareShape(DescribedSchema):
    name: str
    bytes: int | None = Field(description="null where it cannot be told.")
    most: int | None = Field(description="Its bound; null for what grows with use.")
    setting: str | None = Field(description="The setting that is its bound.")


class AboutShape(DescribedSchema):
    version: str
    python: str
    data_dir: str
    licence: str


class StorageShape(DescribedSchema):
    storage: list[ShareShape]
