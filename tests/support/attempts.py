"""What counts as a named attempt: every case of `tests/attacks/`, but those that are about the suite itself."""

from pathlib import Path

ATTACKS = Path(__file__).resolve().parents[1] / "attacks"
_ABOUT_THE_SUITE = ("test_mechanisms", "test_count")


def holds_attempts(file: Path) -> bool:
    return file.parent == ATTACKS and not file.name.startswith(_ABOUT_THE_SUITE)
