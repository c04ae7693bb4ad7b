"""What a start does not do: bounds on what is loaded and made, which hold on every machine, instead of bounds on time."""

import gc
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anycowork
from anycowork.domain.patterns import _LatePattern
from anycowork.server.uvicorn_server import tune_gc
from anycowork.store.sqlite.database import migrate

SOURCE = Path(anycowork.__file__).parents[1]
FOR_SOME_WORK_ONLY = (
    "aiohttp",
    "anthropic",
    "anycowork.providers.guide.script",
    "argparse",
    "asyncpg",
    "httpx",
    "jsonschema",
    "markdown_it",
    "opentelemetry.sdk",
    "psycopg",
    "pydantic.v1",
    "pygments",
    "rich",
    "smtplib",
    "sqlparse",
    "tree_sitter",
    "tree_sitter_language_pack",
    "xllamacpp",
    "yaml",
    "yoyo",
)
A_START = """
import asyncio, gc, json, sys
from pathlib import Path
import anycowork.cli.main, anycowork.cli.serve
from fastapi.dependencies.models import Dependant
from pydantic import BaseModel
from anycowork.api.schemas.base import DescribedModel
from anycowork.app import start_services
from anycowork.config.settings import Settings
from anycowork.domain.boundary import Boundary

async def start() -> None:
    async with start_services(Settings(data_dir=Path(sys.argv[1]), probe_local_servers=False), token="t" * 40):
        routes = sum(isinstance(one, Dependant) for one in gc.get_objects())
        shapes = [one for one in gc.get_objects() if isinstance(one, type) and str(one.__module__).startswith("anycowork.api.schemas.")]
        models = [one.__name__ for one in shapes if issubclass(one, BaseModel) and one is not DescribedModel]
        accepted = [one for one in gc.get_objects() if isinstance(one, type) and issubclass(one, Boundary)]
        built = [one.__name__ for one in accepted if one.__pydantic_complete__]
        found = {"modules": sorted(sys.modules), "routes": routes, "shapes": len(shapes), "models_of_answers": models}
        found |= {"accepted": len(accepted), "built": built}
        kinds = [one for one in gc.get_objects() if isinstance(one, type) and issubclass(one, BaseModel) and one is not BaseModel]
        found |= {"models": len(kinds), "worked_out": [f"{one.__module__}.{one.__name__}" for one in kinds if one.__pydantic_complete__]}
        print(json.dumps(found))

asyncio.run(start())
"""


def started(data_dir: Path) -> dict[str, Any]:  # Any: what the script prints
    """Returns what a second start loads and makes: the first one needs the migration library."""
    migrate(data_dir / "anycowork.db")
    done = subprocess.run(
        [sys.executable, "-c", A_START, str(data_dir)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_start_loads_no_library_that_only_some_work_needs(tmp_path: Path) -> None:
    loaded = started(tmp_path)["modules"]
    assert "anycowork.app" in loaded and "fastapi" in loaded
    assert [name for name in FOR_SOME_WORK_ONLY if name in loaded] == []


def test_a_start_works_out_the_parameters_of_no_route(tmp_path: Path) -> None:
    assert started(tmp_path)["routes"] == 0


def test_a_start_makes_no_model_of_an_answer(tmp_path: Path) -> None:
    found = started(tmp_path)
    assert found["shapes"] > 100 and found["models_of_answers"] == []


def test_a_start_works_out_no_parameters_of_a_tool_and_few_bodies_of_requests(tmp_path: Path) -> None:
    found = started(tmp_path)
    assert found["accepted"] > 100 and len(found["built"]) < 10
    assert not [name for name in found["built"] if name.endswith("Parameters")]


def test_a_start_works_out_few_models_ours_and_those_of_fastapi(tmp_path: Path) -> None:
    found = started(tmp_path)
    of_fastapi = [name for name in found["worked_out"] if name.startswith("fastapi.")]
    assert found["models"] > 150 and len(found["worked_out"]) < 20 and len(of_fastapi) < 6


def test_what_describes_the_api_is_worked_out_at_its_first_use() -> None:
    importlib.import_module("anycowork.api")
    models = importlib.import_module("fastapi.openapi.models")
    described = models.OpenAPI(openapi="3.1.0", info={"title": "t", "version": "1"}, paths={"/": {"get": {}}})
    assert described.model_dump(exclude_none=True, by_alias=True)["info"] == {"title": "t", "version": "1"}


def test_each_pattern_that_a_start_leaves_for_later_compiles() -> None:
    importlib.import_module("anycowork.agent.check_runs")
    importlib.import_module("anycowork.providers.guide.script")
    gc.unfreeze()  # what is frozen is not listed
    left = [it for it in gc.get_objects() if isinstance(it, _LatePattern)]
    assert len(left) > 50
    for pattern in left:
        assert pattern.search("") is None or pattern.search("")


def test_a_start_that_put_the_collector_off_ends_with_it_at_work() -> None:
    before = gc.get_threshold()
    gc.disable()
    try:
        tune_gc()
        assert gc.isenabled() and gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.unfreeze()
        gc.set_threshold(*before)
