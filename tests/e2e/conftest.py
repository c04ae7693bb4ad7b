"""What the tests share: one loop and one browser; for commands a scripted model for each file, and a command line whose server uses it."""

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from e2e.browsing import PHONE, a_browser, a_page, sharing_a_browser
from support.cli_process import CommandLine, ServeProcess
from support.live_server import LiveServer
from support.scripted_model import ScriptedModel, serve_in_thread


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """A browser lives in the loop that it was started in."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def one_browser() -> AsyncIterator[None]:
    async with sharing_a_browser():
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def page(client: LiveServer) -> AsyncIterator[Page]:
    """The start page of the server that the file's own `client` fixture names."""
    async with a_browser() as browser, a_page(browser, client.url) as page:
        await expect(page.get_by_role("radio", name="Planner", exact=True)).to_be_visible()
        yield page


@pytest_asyncio.fixture(loop_scope="session")
async def phone(client: LiveServer) -> AsyncIterator[Page]:
    """The same at phone width."""
    async with a_browser() as browser, a_page(browser, client.url, viewport=PHONE) as page:
        await expect(page.get_by_role("radio", name="Planner", exact=True)).to_be_visible()
        yield page


@pytest.fixture(scope="module")
def models() -> Iterator[ScriptedModel]:
    with serve_in_thread() as model:
        yield model


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory, models: ScriptedModel
) -> Iterator[tuple[CommandLine, ServeProcess]]:
    cli = CommandLine(tmp_path_factory.mktemp("shared"), models.base_url)
    with cli.serving() as server:
        yield cli, server
