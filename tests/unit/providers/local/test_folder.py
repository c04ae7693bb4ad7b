"""The folder of models: what counts as here, a person's own files, and removing."""

from pathlib import Path

import pytest

from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.providers.local.catalogue import CATALOGUE, DEFAULT
from anycowork.providers.local.folder import ModelFolder, NoSpaceForModel

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


def test_a_file_of_ones_own_is_copied_in_and_found_by_its_name(folder: ModelFolder, own: Path):
    weights = folder.adopt(own)
    assert weights.path.read_bytes() == GGUF and own.exists()
    assert [one.model.name for one in folder.ready()] == ["my-model"]


def test_a_name_can_be_chosen_but_not_one_of_the_catalogue(folder: ModelFolder, own: Path):
    assert folder.adopt(own, "mine").model.name == "mine"
    with pytest.raises(Invalid, match="--name"):
        folder.adopt(own, DEFAULT)


def test_what_is_not_a_gguf_is_refused(folder: ModelFolder, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(Invalid, match="not a GGUF"):
        folder.adopt(tmp_path / "notes.txt")
    with pytest.raises(Invalid, match="cannot be read"):
        folder.adopt(tmp_path / "nothing.gguf")


def test_the_same_name_twice_is_refused(folder: ModelFolder, own: Path):
    folder.adopt(own)
    with pytest.raises(Conflict, match="already"):
        folder.adopt(own)


def test_removing_takes_the_whole_and_the_partial_file(folder: ModelFolder, own: Path):
    model = folder.adopt(own).model
    folder.partial(model).write_bytes(b"half")
    folder.remove("my-model")
    assert list(folder.path.iterdir()) == []
    for name in ("my-model", "../config"):
        with pytest.raises(NotFound) as refused:
            folder.remove(name)
        assert f"There are: {DEFAULT}" in refused.value.message
    with pytest.raises(NotFound, match="no fetched model"):
        folder.remove(DEFAULT)


def test_half_a_file_is_not_ready(folder: ModelFolder):
    model = CATALOGUE[0]
    folder.require_disk_space(model)
    (folder.path / model.file).write_bytes(b"GGUF")
    assert folder.ready() == []


def test_no_room_is_said_with_what_is_missing(folder: ModelFolder):
    with pytest.raises(NoSpaceForModel, match="MiB more"):
        folder.require_disk_space(CATALOGUE[0], beside=10**18)
