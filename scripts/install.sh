#!/bin/sh
# Makes .venv with everything that running and working on AnyCowork needs, each package pinned by its hash.
set -eu
cd "$(dirname "$0")/.."
PYTHON="${PYTHON:-python3}"

say() { echo "==> $*"; }
fail() { echo "make install: $*" >&2; exit 1; }

command -v "$PYTHON" >/dev/null || fail "there is no '$PYTHON'. On Debian or Ubuntu: sudo apt install python3 python3-venv"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "Python 3.11 or newer is needed, '$PYTHON' is $("$PYTHON" -V). Name another: make install PYTHON=python3.12"
"$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || fail "$("$PYTHON" -V) lacks its venv module.
  On Debian or Ubuntu: sudo apt install python3-venv    (then again: make install)"

# A folder that was moved or half made is of no use: its programs name their old place.
if ! [ -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  say "Creating .venv with $("$PYTHON" -V)"
  "$PYTHON" -m venv --clear .venv
fi

quiet=--quiet
if [ -t 2 ]; then quiet=; fi
packages=$(grep -c '^[A-Za-z0-9].*==' requirements/dev.txt)

say "Installing $packages pinned packages; the first time they are all loaded, later only what changed"
.venv/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/uv.txt
install_pinned() {
  .venv/bin/uv pip install $quiet --python .venv/bin/python --require-hashes "$@" -r requirements/dev.txt
}

# uv is several times faster than pip, but knows certificates of its own, and does not read pip's configuration. Where only the system knows
# the registry's certificate, uv is told to look there. Where packages come from a mirror that only pip knows of, pip installs the same list
# with the same hashes; a pip of 2023 would look for newer versions of what a package asks for with extras.
install_pinned || {
  say "uv could not download the packages (its error is above); trying again with the system's certificates"
  install_pinned --system-certs
} || {
  say "uv could not download the packages (its error is above); trying again with pip"
  .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off -q --no-deps --require-hashes -r requirements/dev.txt
}
.venv/bin/uv pip install --quiet --python .venv/bin/python --offline --no-deps --no-build-isolation -e .
# What a start loads is compiled now, so that the first one need not; a start in an environment that keeps nothing never would.
env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -c 'import anycowork.cli.serve'
env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m pytest --help > /dev/null  # the same for what every test run loads
say "Ready: .venv/bin/anycowork"
