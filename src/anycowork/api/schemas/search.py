"""What a search finds."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.messages import Speaker


class SnippetPartShape(DescribedSchema):
    text: str
    match: bool


class SearchResultShape(DescribedSchema):
    context_id: str
    message_id: str
    title: str = Field(description="The chat's title.")
    role: Speaker
    snippet: str
    parts: list[SnippetPartShape] = Field(description="The snippet again, with the words that match marked.")
    created_at: str


class SearchResults(DescribedSchema):
    results: list[SearchResultShape]
    next: str | None
