"""Any store: the paths of snapshots, those of this release and those that earlier releases kept as rows; and what a pruning frees."""

import pytest

from anycowork.domain.journal import Change
from anycowork.domain.snapshots import PathImage, PathKind, Snapshot, SnapshotMoment
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.database import Database
from anycowork.store.sql.snapshots import from_stored, to_stored
from support.spec import proves
from support.store_factories import OpenStore
from support.stored import add_chat

IMAGES = (
    PathImage("src/a.py", PathKind.FILE, "h1", 0o644, 3, 1_700_000_000_000_000_000, 2, 1),
    PathImage("src/caf\udce9", PathKind.FILE, "h2", 0o600, 4),  # a name that is not UTF-8
    PathImage("src/ö and\nmore", PathKind.SYMLINK, "h3"),
    PathImage("node_modules/x.js", PathKind.FILE, "h4", 0o644, 1 << 40, kept=False),
    PathImage("made", PathKind.ABSENT),
    PathImage("folder", PathKind.FOLDER, mode=0o755),
)


def taken(id_: str, moment: SnapshotMoment, *images: PathImage, change: str | None = None) -> Snapshot:
    return Snapshot(id_, "c1", "/w", moment, change or id_, images, files=len(images))


async def write(store: Database, *snapshots: Snapshot) -> None:
    await store.journal.write(Change("c1", snapshots))


def as_earlier_releases_did(connection: SqlConnection, id_: str, images: tuple[PathImage, ...]) -> None:
    connection.execute("UPDATE snapshots SET images = NULL WHERE id = ?", (id_,))
    for image in images:
        connection.execute(
            "INSERT INTO snapshot_paths (snapshot_id, path, kind, hash, mode, size, mtime, additions, deletions, kept)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                id_,
                image.path.encode("utf-8", "surrogateescape"),
                image.kind.value,
                image.hash,
                image.mode,
                image.size,
                image.mtime,
                image.additions,
                image.deletions,
                int(image.kept),
            ),
        )


@proves("MIG-2")
@pytest.mark.parametrize("in_rows", [False, True])
async def test_every_field_of_every_path_is_read_as_it_was_written(open_store: OpenStore, in_rows: bool) -> None:
    async with open_store() as store:
        await store.journal.write(add_chat())
        await write(store, taken("s1", SnapshotMoment.BEFORE, *IMAGES))
        if in_rows:
            await store.writer.run(lambda connection: as_earlier_releases_did(connection, "s1", IMAGES))
        found = await store.store.snapshots.find("c1", "s1")
        assert found is not None and set(found.images) == set(IMAGES) and len(found.images) == len(IMAGES)
        (change,) = await store.store.snapshots.changes_since(found)
        assert change.before == found and change.after is None


@proves("SNAP-3")
@pytest.mark.parametrize("in_rows", [False, True])
async def test_contents_are_needed_by_what_a_restore_reads_until_it_is_pruned(
    open_store: OpenStore, in_rows: bool
) -> None:
    def image(name: str, size: int) -> PathImage:
        return PathImage(name, PathKind.FILE, name, 0o644, size)

    async with open_store() as store:
        await store.journal.write(add_chat())
        await write(store, taken("old", SnapshotMoment.BEFORE, image("alone", 10_000), image("shared", 50_000)))
        await write(store, taken("old-after", SnapshotMoment.AFTER, image("only after", 9), change="old"))
        await write(store, taken("new", SnapshotMoment.BEFORE, image("shared", 50_000), image("newest", 10_000)))
        await write(store, taken("goal", SnapshotMoment.MEANT, image("meant", 7), *IMAGES[3:4], change="new"))
        if in_rows:
            first = (image("alone", 10_000), image("shared", 50_000))
            await store.writer.run(lambda connection: as_earlier_releases_did(connection, "old", first))
        assert await store.retention.needed_hashes() == {"alone", "shared", "newest", "meant"}
        await store.retention.forget_oldest(bytes_left=75_000)
        assert await store.retention.needed_hashes() == {"alone", "shared", "newest", "meant"}, "all fits"
        await store.retention.forget_oldest(bytes_left=65_000)
        assert await store.retention.needed_hashes() == {"shared", "newest", "meant"}
        gone, gone_after = (
            await store.store.snapshots.find("c1", "old"),
            await store.store.snapshots.find("c1", "old-after"),
        )
        assert gone is not None and gone.pruned and gone.images == ()
        assert gone_after is not None and gone_after.pruned and gone_after.images == ()
        kept = await store.store.snapshots.find("c1", "new")
        assert kept is not None and not kept.pruned and len(kept.images) == 2
        await store.retention.forget_oldest(bytes_left=0)
        assert await store.retention.needed_hashes() == set()


@pytest.mark.parametrize(
    "spoilt", [b"", b"\x80", b"\xc1", to_stored(IMAGES)[:-1], to_stored(IMAGES[:1])[:40], b"\x91" * 100]
)
def test_what_is_no_stored_value_is_refused(spoilt: bytes) -> None:
    with pytest.raises(ValueError):
        from_stored(spoilt)


def test_a_value_whose_fields_are_not_equally_many_is_refused() -> None:
    spoilt = to_stored(IMAGES[:2]).replace(b"src/a.py\x00", b"src_a.py_")
    with pytest.raises(ValueError):
        from_stored(spoilt)
