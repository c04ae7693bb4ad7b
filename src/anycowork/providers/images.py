"""Encodes images for providers: inside the request, as base64. Nothing is uploaded elsewhere, and no URL of ours is revealed."""

from base64 import b64encode
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from anycowork.domain.images import Image
from anycowork.domain.model import PromptMessage


def shown_images(prompt_message: PromptMessage, image_bytes: Mapping[str, bytes]) -> Iterator[tuple[Image, str]]:
    """Yields the images whose bytes are available, with these as base64."""
    for part in prompt_message.parts:
        for image in part.images:
            if (data := image_bytes.get(image.sha256)) is not None:
                yield image, b64encode(data).decode()


def without_images(message: JsonValue) -> JsonValue:
    """Returns the message with a note in place of its images; the very same object if it has none."""
    parts = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(parts, list):
        return message
    texts = [str(part["text"]) for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    count = len(parts) - len(texts)
    note = (
        f"[{count} {'image' if count == 1 else 'images'}: the server of this model accepts none, so it was not shown]"
    )
    return {**message, "content": "\n\n".join((*texts, note))} if count else message


def openai_content(prompt_message: PromptMessage, text: str, image_bytes: Mapping[str, bytes]) -> JsonValue:
    """Returns plain text if there are no images, as every server accepts it; else parts, the text first."""
    images: list[JsonValue] = [
        {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}
        for image, data in (shown_images(prompt_message, image_bytes) if image_bytes else ())
    ]
    return [{"type": "text", "text": text}, *images] if images else text
