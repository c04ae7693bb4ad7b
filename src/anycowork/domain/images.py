"""Images that a person sends along with a message: recognised by their first bytes, never decoded here. Pure, but for the Protocol."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Protocol

from pydantic import JsonValue

from anycowork.domain.errors import Invalid, TooLarge
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.values import value

MAX_BYTES = 5 * 1024 * 1024  # of one image; providers take no more
MAX_IMAGES = 8  # in one message
MAX_SIDE, MAX_PIXELS = 8_000, 40_000_000  # whoever decodes it would need four bytes a pixel
MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
LONGEST_NAME = 100

_PIXELS_PER_TOKEN, _LEAST_TOKENS, _MOST_TOKENS = 750, 85, 1_600


@value
class Image:
    """What a message says of an image; its bytes lie under their hash."""

    sha256: str
    media_type: str
    width: int
    height: int
    size: int
    name: str = ""

    @property
    def tokens(self) -> int:
        """What it weighs for a model, estimated: providers scale down what is larger, and count the area."""
        return max(_LEAST_TOKENS, min(_MOST_TOKENS, self.width * self.height // _PIXELS_PER_TOKEN))

    def note(self) -> str:
        """What stands for it where it cannot be shown."""
        return f"[image: {self.name or self.media_type}, {self.width}×{self.height}]"

    def to_json(self) -> Json:
        return {
            "sha256": self.sha256,
            "media_type": self.media_type,
            "width": self.width,
            "height": self.height,
            "size": self.size,
            "name": self.name,
        }


class ImageBytes(Protocol):
    """The bytes of images, by their hash."""

    async def put(self, data: bytes) -> str:
        """Returns the content's SHA-256, when it is durable."""

    async def get(self, hash_: str) -> bytes | None: ...


def images_of(message: Message) -> tuple[Image, ...]:
    """Those that came with it. Lenient: what cannot be read is none."""
    if message.role is not Speaker.USER or not message.payload:
        return ()
    stored = message.payload.get("images")
    found = map(_read, stored) if isinstance(stored, list) else ()
    return tuple(image for image in found if image is not None)


def _read(stored: JsonValue) -> Image | None:
    match stored:
        case {
            "sha256": str(hash_),
            "media_type": str(kind),
            "width": int(width),
            "height": int(height),
            "size": int(size),
            "name": str(name),
        } if kind in MEDIA_TYPES:
            return Image(hash_, kind, width, height, size, name)
        case _:
            return None


@value
class GivenImage:
    """As it came, with what it is said to be."""

    data: bytes
    media_type: str
    name: str = ""


def recognise(images: Sequence[GivenImage]) -> list[Image]:
    """What each of them is. Raises: TooLarge, Invalid."""
    if len(images) > MAX_IMAGES:
        raise Invalid(f"A message takes {MAX_IMAGES} images; these are {len(images)}.", param="images")
    found: list[Image] = []
    for given in images:
        width, height = recognised(given.data, claimed=given.media_type)
        name = " ".join("".join(char if char.isprintable() else " " for char in given.name).split())[:LONGEST_NAME]
        found.append(Image(sha256(given.data).hexdigest(), given.media_type, width, height, len(given.data), name))
    return found


def recognised(data: bytes, *, claimed: str) -> tuple[int, int]:
    """Width and height, if the bytes begin as an image of the claimed type does. Raises: TooLarge, Invalid."""
    if len(data) > MAX_BYTES:
        raise TooLarge(f"An image may have {MAX_BYTES // 1024**2} MB; this one has {len(data) / 1024**2:.1f}.")
    found = _png(data) or _gif(data) or _webp(data) or _jpeg(data)
    if found is None or found[0] != claimed:
        seen = f"It begins like {found[0]}." if found else f"Images can be {', '.join(MEDIA_TYPES)}."
        raise Invalid(f"This is no {claimed}. {seen}", param="images")
    _, width, height = found
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE) or width * height > MAX_PIXELS:
        raise Invalid(
            f"This image says that it is {width}×{height} pixels. At most {MAX_SIDE} a side and "
            f"{MAX_PIXELS // 1_000_000} million in all are taken; make it smaller.",
            param="images",
        )
    return width, height


_Found = tuple[str, int, int] | None


def _png(data: bytes) -> _Found:
    if data[:16] != b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" or len(data) < 33:
        return None
    return "image/png", _big(data[16:20]), _big(data[20:24])


def _gif(data: bytes) -> _Found:
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 13:
        return None
    return "image/gif", _little(data[6:8]), _little(data[8:10])


def _webp(data: bytes) -> _Found:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8X":
            return "image/webp", 1 + _little(data[24:27]), 1 + _little(data[27:30])
        case b"VP8L":
            bits = _little(data[21:25])
            return "image/webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return "image/webp", _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
        case _:
            return None


_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def _jpeg(data: bytes) -> _Found:
    """Its size stands in the first frame header; what comes before it is passed over by its own length."""
    if data[:3] != b"\xff\xd8\xff":
        return None
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] == 0xFF:  # filling
            at += 1
        elif data[at + 1] in _FRAMES:
            return "image/jpeg", _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        else:
            at += 2 + max(2, _big(data[at + 2 : at + 4]))
    return None


def _big(number: bytes) -> int:
    return int.from_bytes(number, "big")


def _little(number: bytes) -> int:
    return int.from_bytes(number, "little")
