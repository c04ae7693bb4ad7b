#!/bin/sh
# Makes the folder that `make run` works in, with a few real files for a first walk. An existing folder is left as it is.
set -eu
workspace="$1"
[ -e "$workspace" ] && exit 0

mkdir -p "$workspace/notes"
cat > "$workspace/welcome.txt" <<'TEXT'
Welcome to AnyCowork.

This folder is your first workspace: agents read and change the files in here, and nowhere else.
Nothing is changed before you have seen it and allowed it.

Things to try:
  - list the files
  - read notes/shopping.md
  - as planner: replace "cofee" with "coffee" in notes/shopping.md
  - as actor: add "- milk" to notes/shopping.md

With a model of your own (Settings, Models), whatever you want:
  * as planner: plan a packing list for the trip in notes/trip.md
TEXT
cat > "$workspace/notes/shopping.md" <<'TEXT'
# Shopping

- bread
- apples
- cofee filters
TEXT
cat > "$workspace/notes/trip.md" <<'TEXT'
# Weekend trip

Train on Friday at 16:40, back on Sunday evening. The hut has no shop.

TODO: packing list
TEXT
echo "==> Made the workspace $workspace with a few files to try things on"
