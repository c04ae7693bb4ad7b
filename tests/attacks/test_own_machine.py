"""Attempts to reach services of this machine through the proxy, by addresses that look public."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from anycowork.sandbox.network.dialer import why_nearby, why_not_public
from support import own_network
from support.own_network import OWN_V4, OWN_V6
from support.spec import proves

NEIGHBOUR_V6 = "2606:2800:21f::1"
MAPPED = f"::ffff:{OWN_V4}"
FAR = ["1.1.1.1", "2606:4700::1111"]


@cache
def seen_from_a_machine_with_public_addresses() -> dict[str, dict[str, object]]:
    tests = Path(own_network.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, str(own_network.__file__), OWN_V4, OWN_V6, NEIGHBOUR_V6, MAPPED, "127.0.0.1", "::1", *FAR],
        env={"PYTHONPATH": ":".join([str(tests.parent / "src"), str(tests), *filter(None, sys.path)])},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, dict[str, object]] = json.loads(done.stdout)
    return found


@proves("TOOL-4", "SEC-5")
@pytest.mark.parametrize("own", [OWN_V4, OWN_V6])
def test_a_service_on_a_public_address_of_this_machine_is_not_reached(own: str) -> None:
    answer, reached = seen_from_a_machine_with_public_addresses()["asked"][own]  # type: ignore[misc] # JSON
    assert reached == 0 and answer.startswith("HTTP/1.1 403") and "this machine" in answer


@proves("TOOL-4")
@pytest.mark.parametrize("address", [OWN_V4, OWN_V6, MAPPED, NEIGHBOUR_V6, "127.0.0.1", "::1"])
def test_an_address_of_this_machine_or_its_segment_is_known(address: str) -> None:
    assert seen_from_a_machine_with_public_addresses()["nearby"][address]


@pytest.mark.parametrize("address", FAR)
def test_an_address_far_away_is_not_taken_for_this_machine(address: str) -> None:
    assert seen_from_a_machine_with_public_addresses()["nearby"][address] is None
    assert why_nearby(address) is None


METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd20:ce::254",
]


@proves("TOOL-4")
@pytest.mark.parametrize("address", [*METADATA, "64:ff9b::a83f:8110", "2002:a83f:8110::1", "::ffff:168.63.129.16"])
def test_an_address_where_clouds_keep_credentials_is_refused(address: str) -> None:
    assert why_not_public(address)
