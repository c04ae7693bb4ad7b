"""Images attached to messages: size and type are read from their first bytes; nothing is decoded here. Pure, except for the Protocol."""

from collections.abc import Sequence
from hashlib import sha256

from pydantic import JsonValue

from anycowork.domain.errors import Invalid, TooLarge
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.values import value

MAX_BYTES = 5 * 1024 * 1024  # of one image; providers accept no more
MAX_IMAGES = 8  # in one message
MAX_SIDE, MAX_PIXELS = 8_000, 40_000_000  # decoding needs four bytes per pixel
MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
LONGEST_NAME = 100

_PIXELS_PER_TOKEN, _LEAST_TOKENS, _MOST_TOKENS = 750, 85, 1_600


@value
class Image:
    """The description of an image in a message; its bytes are stored under their hash."""

    sha256: str
    media_type: str
    width: int
    height: int
    size: int
    name: str = ""

    @property
    def tokens(self) -> int:
        """The estimated number of tokens: providers scale down large images and count the area."""
        return max(_LEAST_TOKENS, min(_MOST_TOKENS, self.width * self.height // _PIXELS_PER_TOKEN))

    def note(self) -> str:
        """The text that replaces the image where it cannot be shown."""
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


def images_of(message: Message) -> tuple[Image, ...]:
    """Returns the images of a message. Lenient: entries that cannot be read are skipped."""
    if message.role is not Speaker.USER or not message.payload:
        return ()
    stored = message.payload.get("images")
    images = map(_read, stored) if isinstance(stored, list) else ()
    return tuple(image for image in images if image is not None)


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
    """An image as received, with its claimed type."""

    data: bytes
    media_type: str
    name: str = ""


def recognise(images: Sequence[GivenImage]) -> list[Image]:
    """Validates and describes each image. Raises: TooLarge, Invalid."""
    if len(images) > MAX_IMAGES:
        raise Invalid(f"A message can have at most {MAX_IMAGES} images; these are {len(images)}.", param="images")
    recognised: list[Image] = []
    for upload in images:
        width, height = image_size(upload.data, claimed=upload.media_type)
        name = " ".join("".join(char if char.isprintable() else " " for char in upload.name).split())[:LONGEST_NAME]
        recognised.append(
            Image(sha256(upload.data).hexdigest(), upload.media_type, width, height, len(upload.data), name)
        )
    return recognised


def image_size(data: bytes, *, claimed: str) -> tuple[int, int]:
    """Returns width and height if the bytes begin like an image of the claimed type. Raises: TooLarge, Invalid."""
    if len(data) > MAX_BYTES:
        raise TooLarge(f"An image may have at most {MAX_BYTES // 1024**2} MB; this one has {len(data) / 1024**2:.1f}.")
    header = _png(data) or _gif(data) or _webp(data) or _jpeg(data)
    if header is None or header[0] != claimed:
        seen = f"It begins like {header[0]}." if header else f"Images can be {', '.join(MEDIA_TYPES)}."
        raise Invalid(f"This is not {claimed}. {seen}", param="images")
    _, width, height = header
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE) or width * height > MAX_PIXELS:
        raise Invalid(
            f"This image is {width}×{height} pixels. At most {MAX_SIDE} per side and "
            f"{MAX_PIXELS // 1_000_000} million in total are allowed; make it smaller.",
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
    """Reads the size from the first frame header; segments before it are skipped by their length."""
    if data[:3] != b"\xff\xd8\xff":
        return None
    offset = 2
    while offset + 9 <= len(data) and data[offset] == 0xFF:
        if data[offset + 1] == 0xFF:  # padding
            offset += 1
        elif data[offset + 1] in _FRAMES:
            return "image/jpeg", _big(data[offset + 7 : offset + 9]), _big(data[offset + 5 : offset + 7])
        else:
            offset += 2 + max(2, _big(data[offset + 2 : offset + 4]))
    return None


def _big(number: bytes) -> int:
    return int.from_bytes(number, "big")


def _little(number: bytes) -> int:
    return int.from_bytes(number, "little")
