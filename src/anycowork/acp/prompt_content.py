"""An editor's prompt, a list of content blocks, as the message and the images that a chat takes. Pure."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from acp.exceptions import RequestError
from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from anycowork.acp.markdown import fenced
from anycowork.domain.messages import Json
from anycowork.domain.values import value

ContentBlock = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)


@value
class PromptMessageContent:
    text: str
    images: tuple[Json, ...] = ()


def read_prompt(blocks: Sequence[ContentBlock], workspace: str) -> PromptMessageContent:
    """Raises: RequestError (-32602) if nothing is said, or something cannot be passed on."""
    parts: list[str] = []
    images: list[Json] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                parts.append(text)
            case ImageContentBlock(data=data, mime_type=media_type):
                images.append({"media_type": media_type, "data": data})
            case ResourceContentBlock(uri=uri):
                parts.append(mention(uri, workspace))
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                parts.append(f"\n{mention(str(uri), workspace, read=False)}\n{fenced(text)}\n")
            case EmbeddedResourceContentBlock():
                raise RequestError(-32602, "An embedded resource must be text. Send images as images.")
            case AudioContentBlock():
                raise RequestError(-32602, "Audio is not supported, as `initialize` says. Send text.")
    text = "".join(parts)
    if not text.strip():
        raise RequestError(-32602, "The prompt holds no text. Say what to do.")
    return PromptMessageContent(text, tuple(images))


def mention(uri: str, workspace: str, *, read: bool = True) -> str:
    """A file of the workspace as `@path`, which the server reads; anything else as it is. Without `read`, the path alone."""
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        return uri
    path = PurePosixPath(unquote(parts.path))
    if ".." in path.parts or not path.is_relative_to(workspace):
        return str(path)
    inside = str(path.relative_to(workspace))
    if not read or '"' in inside or "\n" in inside:
        return inside
    return f' @"{inside}" '
