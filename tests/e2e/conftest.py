"""What the commands' tests share: a scripted model for each file, and a desk whose server it answers."""

from collections.abc import Iterator

import pytest

from support.scripted_model import ScriptedModel, serve_in_thread
from support.typing_people import Desk, Served


@pytest.fixture(scope="module")
def models() -> Iterator[ScriptedModel]:
    with serve_in_thread() as model:
        yield model


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, models: ScriptedModel) -> Iterator[tuple[Desk, Served]]:
    desk = Desk(tmp_path_factory.mktemp("shared"), models.base_url)
    with desk.serving() as server:
        yield desk, server
