"""An editor's prompt, a list of content blocks, as the message and the images that a chat takes. Pure."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
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

from anycowork.acp.markdown import fenced, one_line
from anycowork.domain.messages import Json
from anycowork.domain.values import value

ContentBlock = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)


@value
class PromptMessageContent:
    """`text` is what the person said, `unsaved` the editor's versions of files that are not saved."""

    text: str
    images: tuple[Json, ...] = ()
    unsaved: str = ""

    @property
    def whole_text(self) -> str:
        """A command's words are its parameters: nothing is added to them."""
        return self.text if self.text.lstrip().startswith("/") else self.text + self.unsaved


def mentioned_files(blocks: Sequence[ContentBlock], workspace: str) -> list[str]:
    """The files of the workspace that links of the prompt name, each once."""
    links = [path_in_workspace(block.uri, workspace) for block in blocks if isinstance(block, ResourceContentBlock)]
    return list(dict.fromkeys(path for path in links if path is not None))


def read_prompt(
    blocks: Sequence[ContentBlock], workspace: str, unsaved: Mapping[str, str] = MappingProxyType({})
) -> PromptMessageContent:
    """`unsaved` are the editor's versions of files that differ from the disk: they follow the message.

    Raises: RequestError (-32602) if nothing is said, or something cannot be passed on.
    """
    parts: list[str] = []
    images: list[Json] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                parts.append(text)
            case ImageContentBlock(data=data, mime_type=media_type):
                images.append({"media_type": media_type, "data": data})
            case ResourceContentBlock(uri=uri) if (path := path_in_workspace(uri, workspace)) in unsaved:
                parts.append(f" {path} ")
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
    return PromptMessageContent(text, tuple(images), "".join(map(_unsaved_text, unsaved.items())))


def _unsaved_text(version: tuple[str, str]) -> str:
    path, text = version
    name = one_line(path, 300)
    return f"\n\n{name} is open in the editor with changes that are not saved yet. On disk it differs:\n{fenced(text)}"


def mention(uri: str, workspace: str, *, read: bool = True) -> str:
    """A file of the workspace as `@path`, which the server reads; anything else as it is. Without `read`, the path alone."""
    path = _path_of(uri)
    if path is None:
        return uri
    inside = path_in_workspace(uri, workspace)
    if inside is None:
        return str(path)
    if not read or '"' in inside or "\n" in inside:
        return inside
    return f' @"{inside}" '


def path_in_workspace(uri: str, workspace: str) -> str | None:
    path = _path_of(uri)
    if path is None or ".." in path.parts or not path.is_relative_to(workspace):
        return None
    return str(path.relative_to(workspace))


def _path_of(uri: str) -> PurePosixPath | None:
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        return None
    return PurePosixPath(unquote(parts.path))
