#!/bin/sh
# The attacks, and the tests of what they try, as an ordinary user. Started as root it becomes one (uid 12345); anyone else already is.
set -eu
cd "$(dirname "$0")/.."
tests="tests/attacks tests/faults/test_commits.py tests/unit/workspace tests/unit/tools/test_shell.py"
if [ "$(id -u)" != 0 ]; then
  exec .venv/bin/python -m pytest $tests "$@"
fi
become="setpriv --reuid 12345 --regid 12345 --clear-groups --"
home=$(mktemp -d)
chmod 755 "$home" && chown 12345:12345 "$home"
trap 'rm -rf "$home"' EXIT
python=.venv/bin/python
packages=""
if ! $become sh -c "exec $python -c ''" 2>/dev/null; then
  # This environment's Python lies where only root may go: the system's runs the same packages if it is the same version.
  packages=$(ls -d "$PWD"/.venv/lib/python3*/site-packages)
  python=$($become sh -c "command -v $(basename "$(dirname "$packages")")")
fi
env -i PATH="$PATH" HOME="$home" LOGNAME=ordinary TMPDIR="$home" PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY="$home/hypothesis" PYTHONPATH="$packages" \
  $become "$python" -m pytest $tests "$@"
