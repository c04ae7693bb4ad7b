"""The folder of models: what counts as here, a person's own files, and removing."""

from pathlib import Path

import pytest

from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.providers.local.catalogue import CATALOGUE, DEFAULT
from anycowork.providers.local.shelf import NoRoomForModel, Shelf

GGUF = b"GGUF and the rest"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "My Model.gguf"
    path.write_bytes(GGUF)
    return path


def test_every_model_of_the_catalogue_is_pinned_and_says_its_limits():
    assert CATALOGUE[0].name == DEFAULT
    for model in CATALOGUE:
        assert len(model.sha256) == 64 and int(model.sha256, 16)
        assert model.limits and model.licence and model.memory_bytes > model.size_bytes
        assert model.url and model.url.startswith("https://") and model.mirror


def test_a_file_of_ones_own_is_copied_in_and_found_by_its_name(shelf: Shelf, own: Path):
    weights = shelf.adopt(own)
    assert weights.path.read_bytes() == GGUF and own.exists()
    assert [one.model.name for one in shelf.ready()] == ["my-model"]


def test_a_name_can_be_chosen_but_not_one_of_the_catalogue(shelf: Shelf, own: Path):
    assert shelf.adopt(own, "mine").model.name == "mine"
    with pytest.raises(Invalid, match="--name"):
        shelf.adopt(own, DEFAULT)


def test_what_is_not_a_gguf_is_refused(shelf: Shelf, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(Invalid, match="not a GGUF"):
        shelf.adopt(tmp_path / "notes.txt")
    with pytest.raises(Invalid, match="cannot be read"):
        shelf.adopt(tmp_path / "nothing.gguf")


def test_the_same_name_twice_is_refused(shelf: Shelf, own: Path):
    shelf.adopt(own)
    with pytest.raises(Conflict, match="already"):
        shelf.adopt(own)


def test_removing_takes_the_whole_and_the_partial_file(shelf: Shelf, own: Path):
    model = shelf.adopt(own).model
    shelf.partial(model).write_bytes(b"half")
    shelf.remove("my-model")
    assert list(shelf.folder.iterdir()) == []
    for name in ("my-model", "../config"):
        with pytest.raises(NotFound) as refused:
            shelf.remove(name)
        assert f"There are: {DEFAULT}" in refused.value.message
    with pytest.raises(NotFound, match="no fetched model"):
        shelf.remove(DEFAULT)


def test_half_a_file_is_not_ready(shelf: Shelf):
    model = CATALOGUE[0]
    shelf.require_room(model)
    (shelf.folder / model.file).write_bytes(b"GGUF")
    assert shelf.ready() == []


def test_no_room_is_said_with_what_is_missing(shelf: Shelf):
    with pytest.raises(NoRoomForModel, match="MiB more"):
        shelf.require_room(CATALOGUE[0], beside=10**18)
