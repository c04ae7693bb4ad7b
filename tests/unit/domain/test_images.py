"""Images are known by their first bytes, and nothing of them is decoded."""

import pytest
from hypothesis import given as each
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid, TooLarge
from anycowork.domain.images import (
    MAX_BYTES,
    MAX_IMAGES,
    MEDIA_TYPES,
    GivenImage,
    Image,
    image_size,
    images_of,
    recognise,
)
from anycowork.domain.messages import Message, Speaker
from support.images import bomb, gif, jpeg, png, webp


@pytest.mark.parametrize(
    ("data", "kind", "size"),
    [
        (png(), "image/png", (3, 2)),
        (gif(), "image/gif", (5, 4)),
        (jpeg(), "image/jpeg", (7, 6)),
        (webp(), "image/webp", (9, 8)),
    ],
)
def test_each_kind_is_recognised_with_its_size(data, kind, size):
    assert image_size(data, claimed=kind) == size
    for other in set(MEDIA_TYPES) - {kind}:
        with pytest.raises(Invalid, match=f"begins like {kind}"):
            image_size(data, claimed=other)


@each(st.binary(max_size=300), st.sampled_from([png(), gif(), jpeg(), webp(), b""]), st.integers(0, 60))
def test_no_bytes_make_it_fail_in_another_way(noise, start, cut):
    for kind in MEDIA_TYPES:
        try:
            width, height = image_size(start[:cut] + noise, claimed=kind)
        except Invalid:
            continue
        assert 0 < width <= 8_000 and 0 < height <= 8_000


@pytest.mark.parametrize(("width", "height"), [(8_001, 1), (1, 8_001), (7_000, 7_000), (0, 5), (2**31, 2**31)])
def test_an_image_that_promises_too_many_pixels_is_refused_unread(width, height):
    with pytest.raises(Invalid, match="pixels"):
        image_size(bomb(width, height), claimed="image/png")


def test_one_that_is_too_heavy_and_too_many_are_refused():
    with pytest.raises(TooLarge):
        image_size(png(after=b"\x00" * MAX_BYTES), claimed="image/png")
    with pytest.raises(Invalid, match="at most 8 images"):
        recognise([GivenImage(png(), "image/png")] * (MAX_IMAGES + 1))


def test_a_name_is_one_short_line():
    [image] = recognise([GivenImage(png(), "image/png", "plan\n\x1b[31m" + "x" * 300)])
    assert image.name.startswith("plan [31mxxx") and len(image.name) == 100 and image.name.isprintable()


def test_what_was_stored_is_read_back_and_what_cannot_be_is_none():
    [image] = recognise([GivenImage(png(), "image/png", "plan.png")])
    payload = {"images": [image.to_json(), {"sha256": 1}, "x", {**image.to_json(), "media_type": "image/svg+xml"}]}
    assert images_of(Message("m", "c", Speaker.USER, "look", payload=payload)) == (image,)
    assert images_of(Message("m", "c", Speaker.ASSISTANT, "look", payload=payload)) == ()


@each(st.integers(1, 8_000), st.integers(1, 8_000))
def test_its_weight_grows_with_its_area_within_bounds(width, height):
    smaller, larger = Image("", "image/png", width, height, 1), Image("", "image/png", width + 100, height, 1)
    assert 85 <= smaller.tokens <= larger.tokens <= 1_600
