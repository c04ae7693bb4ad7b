#!/bin/sh
# The attacks once more, as an ordinary user; the arguments are pytest's. Started as root it becomes one (uid 12345);
# whoever is one already has run them so.
# Fails, and says why, where this machine gives that user no way to run them: a run that did not happen is never a green one.
set -eu
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
  echo "==> You are an ordinary user: the attacks were run as one already"
  exit 0
fi
echo "==> Running the attacks as an ordinary user"

here=$PWD
home=$(mktemp -d /tmp/anycowork-attacks.XXXXXX)
trap 'rm -rf "$home"' EXIT
chmod 755 "$home" && mkdir "$home/own" && chown 12345:12345 "$home/own"
packages=$(ls -d "$here"/.venv/lib/python3*/site-packages)
version=$(basename "$(dirname "$packages")")
programs=$here/.venv/bin
libraries=""

as_user() {
  env -i PATH="$programs:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" HOME="$home/own" TMPDIR="$home/own" LOGNAME=ordinary \
    PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY="$home/own/hypothesis" PYTHONPATH="$packages" LD_LIBRARY_PATH="$libraries" \
    setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=-all -- timeout 2700 "$@"  # not by setpriv itself: it still has root's ways
}

can_run() {
  as_user "$1" -c "import sys, pytest, pydantic_core; assert f'python{sys.version_info[0]}.{sys.version_info[1]}' == '$version'" 2>> "$home/why"
}

give_up() {
  echo "The attacks were NOT run as an ordinary user: $1" >&2
  [ ! -s "$home/why" ] || tail -n 3 "$home/why" >&2
  echo "Run 'make attacks' as an ordinary user instead." >&2
  exit 1
}

command -v setpriv > /dev/null || give_up "'setpriv' (util-linux) is missing."

if ! as_user test -r "$here/pyproject.toml" -a -x "$packages"; then
  # The project lies where only root may go.
  mkdir "$home/project" "$home/project/bin"
  cp -rp pyproject.toml src tests benchmarks scripts docs "$home/project"  # with their times: compiled modules stay valid
  [ ! -e .venv/bin/rg ] || cp .venv/bin/rg "$home/project/bin"
  chmod -R a+rX "$home/project"
  # Links cost nothing; only the folders are new, so only their modes are touched.
  cp -rl "$packages" "$home/project/packages" 2> /dev/null || cp -rf "$packages/." "$home/project/packages"
  find "$home/project/packages" -type d -exec chmod a+rx {} +
  here=$home/project packages=$home/project/packages programs=$home/project/bin
fi

copy_of_python() {
  # The interpreter with its own library, without what others put there: it finds the one from where the other lies.
  base=$(.venv/bin/python -c "import sys; print(sys.base_prefix)")
  mkdir -p "$home/python/bin" "$home/python/lib"
  cp "$base/bin/$version" "$home/python/bin/"
  cp -P "$base"/lib/libpython*.so* "$home/python/lib/" 2> /dev/null || true
  tar -C "$base/lib" --exclude=site-packages --exclude=test --exclude='config-*' -cf - "$version" | tar -C "$home/python/lib" -xf -
  chmod -R a+rX "$home/python"
  libraries=$home/python/lib
}

python=$PWD/.venv/bin/python
if ! can_run "$python"; then
  python=/usr/bin/$version  # the same packages run on the system's, if it is the same version
  if [ ! -x "$python" ] || ! can_run "$python"; then
    copy_of_python
    python=$home/python/bin/$version
    can_run "$python" || give_up "no Python that it could run was found, and a copy of this one does not start."
  fi
fi
cd "$here"
as_user "$python" scripts/run_tests.py -n "${WORKERS:-auto}" --dist loadfile --no-loadscope-reorder "$@"
