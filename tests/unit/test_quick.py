"""`make quick` runs the tests of what changed, and no others."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load_quick():
    spec = importlib.util.spec_from_file_location("quick", ROOT / "scripts" / "quick.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_changed_module_selects_the_unit_tests_that_import_it():
    selected = load_quick().select_test_files(["src/anycowork/permissions/risk.py"])
    assert "tests/unit/permissions/test_risk.py" in selected
    assert all(path.startswith("tests/unit/") for path in selected)
    for path in selected - {"tests/unit/permissions/test_risk.py"}:
        assert "anycowork.permissions.risk" in (ROOT / path).read_text("utf-8"), path


def test_a_changed_test_selects_itself_and_a_page_selects_nothing():
    quick = load_quick()
    assert quick.select_test_files(["tests/attacks/test_paths.py"]) == {"tests/attacks/test_paths.py"}
    assert quick.select_test_files(["docs/ui.md", "tests/support/spec.py"]) == set()
