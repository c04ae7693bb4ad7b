"""An editor's prompt, a list of content blocks, as the message, the images and the files that a chat takes. Pure.

The text of files is attached, never part of the message: a file does not speak for the person.
"""

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

from anycowork.acp.tool_calls import one_line
from anycowork.domain.attached_files import LONGEST_NAME, AttachedFile, check_files
from anycowork.domain.errors import Invalid, TooLarge
from anycowork.domain.messages import Json
from anycowork.domain.values import value

ContentBlock = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)


@value
class PromptMessageContent:
    """`text` is what the person said, `embedded` the files in the prompt, `unsaved` the editor's versions of files that are not saved."""

    text: str
    images: tuple[Json, ...] = ()
    embedded: tuple[AttachedFile, ...] = ()
    unsaved: tuple[AttachedFile, ...] = ()
    notes: str = ""

    @property
    def is_command(self) -> bool:
        return self.text.lstrip().startswith("/")

    @property
    def whole_text(self) -> str:
        """A command's words are its parameters: nothing is added to them."""
        return self.text if self.is_command else self.text + self.notes

    @property
    def files(self) -> tuple[AttachedFile, ...]:
        return self.embedded if self.is_command else (*self.embedded, *self.unsaved)


def mentioned_files(blocks: Sequence[ContentBlock], workspace: str) -> list[str]:
    """The files of the workspace that links of the prompt name, each once."""
    links = [path_in_workspace(block.uri, workspace) for block in blocks if isinstance(block, ResourceContentBlock)]
    return list(dict.fromkeys(path for path in links if path is not None))


def read_prompt(
    blocks: Sequence[ContentBlock], workspace: str, unsaved: Mapping[str, str] = MappingProxyType({})
) -> PromptMessageContent:
    """`unsaved` are the editor's versions of files that differ from the disk: they are attached as far as they fit.

    Raises: RequestError (-32602) if nothing is said, or something cannot be passed on.
    """
    parts: list[str] = []
    images: list[Json] = []
    embedded: list[AttachedFile] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                parts.append(text)
            case ImageContentBlock(data=data, mime_type=media_type):
                images.append({"media_type": media_type, "data": data})
            case ResourceContentBlock(uri=uri) if (path := path_in_workspace(uri, workspace)) in unsaved:
                parts.append(f" {one_line(path or '', 4_200)} ")
            case ResourceContentBlock(uri=uri):
                parts.append(_no_command(mention(uri, workspace).replace("\n", " ").replace("\r", " ")))
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                name = mention(str(uri), workspace, read=False)
                parts.append(f" {_no_command(one_line(name, 300))} ")
                embedded += [AttachedFile(_file_name(name), text)] if text.strip() else []
            case EmbeddedResourceContentBlock():
                raise RequestError(-32602, "An embedded resource must be text. Send images as images.")
            case AudioContentBlock():
                raise RequestError(-32602, "Audio is not supported, as `initialize` says. Send text.")
    text = "".join(parts)
    if not text.strip():
        raise RequestError(-32602, "The prompt holds no text. Say what to do.")
    fitting, notes = _unsaved_files(embedded, unsaved)
    return PromptMessageContent(text, tuple(images), tuple(embedded), fitting, notes)


def _unsaved_files(
    embedded: Sequence[AttachedFile], unsaved: Mapping[str, str]
) -> tuple[tuple[AttachedFile, ...], str]:
    """The versions that a message takes beside the embedded files, and what it says of each one."""
    attached: list[AttachedFile] = []
    notes: list[str] = []
    for path, text in unsaved.items():
        file = AttachedFile(_file_name(path), text)
        is_taken = _can_be_attached([*embedded, *attached, file])
        attached += [file] if is_taken else []
        how = "Its version there is attached." if is_taken else "Its version there cannot be attached."
        notes.append(
            f"\n\n{one_line(path, 300)} is open in the editor with changes that are not saved yet. On disk it differs. {how}"
        )
    return tuple(attached), "".join(notes)


def _can_be_attached(files: Sequence[AttachedFile]) -> bool:
    try:
        check_files(files)
    except (Invalid, TooLarge):
        return False
    return True


def _file_name(path: str) -> str:
    """The end of a path says more than its beginning."""
    return path[-LONGEST_NAME:]


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


def _no_command(name: str) -> str:
    """A name in quotation marks where it would begin with a slash: it runs no workflow and states no check for the person."""
    return f'"{name}"' if name.lstrip().startswith("/") else name


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
