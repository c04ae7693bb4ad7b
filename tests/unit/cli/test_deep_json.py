"""Files that are nested without end are refused with a reason, by every command that reads one."""

from pathlib import Path

import pytest

from anycowork.cli.audit import _ChainLog
from anycowork.cli.run import read_plan_file
from anycowork.domain.audit import ChainLink, link, verify
from anycowork.domain.errors import Invalid
from anycowork.domain.people import read_people_change

DEPTH = 100_000
DEEP = [b"[" * DEPTH + b"]" * DEPTH, b'{"steps":' * DEPTH + b"1" + b"}" * DEPTH, b"[" * DEPTH]


@pytest.mark.parametrize("content", DEEP, ids=["lists", "objects", "unended"])
def test_a_deep_plan_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(content)
    with pytest.raises(Invalid, match="not JSON that can be read"):
        read_plan_file(file)


@pytest.mark.parametrize("content", DEEP, ids=["lists", "objects", "unended"])
def test_a_deep_line_of_an_audit_log_does_not_hold(content: bytes) -> None:
    assert not _ChainLog(iter([content])).readable
    broken = verify([ChainLink(1, content, link("", content))], end=link("", content))
    assert broken is not None
    with pytest.raises((ValueError, TypeError)):
        read_people_change(content)
