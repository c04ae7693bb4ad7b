"""Dockerfile and compose.yaml fit the program: what they name exists there, nothing runs as root, no secret is in them."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml
from typer.main import get_command

from anycowork.api.middleware.auth import _OPEN
from anycowork.cli.main import app
from anycowork.config.settings import Settings
from support.live_server import TOKEN, live_server

ROOT = Path(__file__).parents[3]
LINES = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text()).splitlines()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())


JOINED = [*yaml.safe_load_all((ROOT / "examples/kubernetes/joined-workers.yaml").read_text())]
JOIN_TOKEN = "ANYCOWORK_JOIN_TOKEN"


def instructions(name: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in LINES if line.startswith(f"{name} ")]


def test_images_are_pinned_to_a_full_version() -> None:
    images = [line.split()[0] for line in instructions("FROM")] + [COMPOSE["services"]["postgres"]["image"]]
    assert len(images) == 3 and all(re.fullmatch(r"[a-z]+:\d+\.\d+(\.\d+)?-[a-z-]+", image) for image in images)


def test_the_server_runs_as_an_ordinary_user_with_flags_that_exist() -> None:
    [user] = instructions("USER")
    assert user == "anycowork" and f"--shell /usr/sbin/nologin {user}" in "\n".join(LINES)
    [command] = instructions("CMD")
    name, *flags = json.loads(command)
    known = {option for parameter in get_command(app).commands[name].params for option in parameter.opts}  # type: ignore[attr-defined]  # a group
    known |= {o for p in get_command(app).commands[name].params for o in p.secondary_opts}  # type: ignore[attr-defined]  # a group
    assert {flag for flag in flags if flag.startswith("--")} <= known
    assert instructions("VOLUME") == ['["/data"]']


def test_health_is_asked_where_it_is_answered() -> None:
    [check] = instructions("HEALTHCHECK")
    found = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", check)
    assert found is not None
    assert int(found[1]) == Settings.model_fields["port"].default == int(instructions("EXPOSE")[0])
    assert found[2] in _OPEN


def test_what_is_copied_exists() -> None:
    own = [line.split()[:-1] for line in instructions("COPY") if not line.startswith("--from")]
    assert all((ROOT / name).exists() for names in own for name in names)


def test_variables_are_settings_and_secrets_come_from_outside() -> None:
    ours = {name: service for name, service in COMPOSE["services"].items() if name != "postgres"}
    assert set(ours) == {"server", "worker-1", "worker-2", "worker-joined"}
    variables = {name: value for service in ours.values() for name, value in service["environment"].items()}
    variables |= dict(line.split("=", 1) for line in instructions("ENV"))
    settings = {f"ANYCOWORK_{name}".upper() for name in Settings.model_fields}
    assert set(variables) <= settings | {JOIN_TOKEN}
    assert variables["ANYCOWORK_TOKEN"].startswith("${ANYCOWORK_TOKEN:?")
    for text in (
        variables["ANYCOWORK_DATABASE_URL"],
        COMPOSE["services"]["postgres"]["environment"]["POSTGRES_PASSWORD"],
    ):
        assert "${POSTGRES_PASSWORD:?" in text
    volumes = {mount.split(":")[0] for service in COMPOSE["services"].values() for mount in service["volumes"]}
    assert volumes == set(COMPOSE["volumes"])
    assert all(port.startswith("127.0.0.1:") for port in ours["server"]["ports"])


def test_workers_share_the_workspaces_open_no_port_and_give_no_secret_as_an_argument() -> None:
    services = COMPOSE["services"]
    mounts = {name: set(services[name]["volumes"]) for name in ("server", "worker-1", "worker-2")}
    assert set.intersection(*mounts.values()) == {"workspaces:/workspaces"}, (
        "the same path everywhere, and no data folder twice"
    )
    for name in ("worker-1", "worker-2"):
        worker = services[name]
        command, *flags = worker["command"]
        known = {option for parameter in get_command(app).commands[command].params for option in parameter.opts}  # type: ignore[attr-defined]  # a group
        assert {flag for flag in flags if flag.startswith("--")} <= known and "--db" not in flags
        assert "ports" not in worker and "ANYCOWORK_TOKEN" not in worker["environment"]


def flags_of(command: str) -> set[str]:
    parameters = get_command(app).commands[command].params  # type: ignore[attr-defined]  # a group
    return {option for parameter in parameters for option in parameter.opts}


def test_a_joined_worker_holds_an_invitation_and_nothing_else() -> None:
    worker = COMPOSE["services"]["worker-joined"]
    command, *flags = worker["command"]
    assert {flag for flag in flags if flag.startswith("--")} <= flags_of(command)
    assert worker["environment"] == {JOIN_TOKEN: "${ANYCOWORK_JOIN_TOKEN:-}"} and "ports" not in worker
    assert worker["volumes"] == ["worker-joined:/data"], "no folder of the server"
    token = next(each for each in get_command(app).commands["worker"].params if "--token" in each.opts)  # type: ignore[attr-defined]  # a group
    assert token.envvar in (JOIN_TOKEN, [JOIN_TOKEN])


async def test_the_kubernetes_example_fits_the_program(tmp_path: Path) -> None:
    deployment, scaler = JOINED
    pod = deployment["spec"]["template"]["spec"]
    [invite], [worker] = pod["initContainers"], pod["containers"]
    command, *flags = worker["args"]
    assert {flag for flag in flags if flag.startswith("--")} <= flags_of(command) and JOIN_TOKEN in str(
        worker["command"]
    )
    assert "env" not in worker, "the server's token stays with the init container"
    assert pod["securityContext"]["runAsNonRoot"] and f"--uid {pod['securityContext']['runAsUser']}" in "\n".join(LINES)
    assert scaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    [metric] = [each["external"]["metric"]["name"] for each in scaler["spec"]["metrics"]]
    async with live_server(tmp_path) as server:
        async with server.session.get(f"{server.url}/metrics") as answer:
            assert f"\n{metric} 0" in await answer.text()
        script = (
            invite["command"][-1]
            .replace("http://anycowork:8484", server.url)
            .replace("/join/token", str(tmp_path / "token"))
        )
        environment = {**os.environ, "ANYCOWORK_TOKEN": TOKEN}
        invited = await asyncio.to_thread(
            subprocess.run, [sys.executable, *invite["command"][1:-1], script], env=environment, timeout=60
        )
        assert invited.returncode == 0 and (tmp_path / "token").read_text().startswith("ac-join-")
