"""Writes docs/requirements.md from the requirements table and the tests; `make docs` runs it. With --check it only compares.

Ends with 1, and says why, if the table and the tests disagree."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from spec.proofs import collect_proofs
from spec.table import PAGE, page, problems, read_table  # the line above makes it importable


def main(arguments: list[str]) -> int:
    table, proofs = read_table(), collect_proofs()
    found, fresh = problems(table, proofs), page(table, proofs)
    if arguments != ["--check"]:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(fresh, "utf-8")
    elif not PAGE.is_file() or PAGE.read_text("utf-8") != fresh:
        found.append("docs/requirements.md is out of date. Run `make docs` and commit it.")
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
