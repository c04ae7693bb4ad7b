"""Writes docs/requirements.md from the requirements table and the tests; `make docs` runs it. With --check it only compares."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from spec.table import PAGE, collect_proofs, page, problems, read_table  # the line above makes it importable


def main(arguments: list[str]) -> int:
    table, proofs = read_table(), collect_proofs()
    for problem in problems(table, proofs):
        print(problem, file=sys.stderr)
    fresh = page(table, proofs)
    if arguments == ["--check"]:
        return 0 if PAGE.is_file() and PAGE.read_text("utf-8") == fresh else 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
