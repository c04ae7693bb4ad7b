"""Reads what a person may see: the condition that every list of chats has, and whether one thing is hidden from them."""

from collections.abc import Iterable, Sequence

import msgspec

from anycowork.domain.visibility import Viewer
from anycowork.store.sql.connection import SqlConnection, Table, query

_FOLDER_AROUND = "(chats.workspace = workspaces.root OR substr(chats.workspace, 1, length(workspaces.root) + 1) = workspaces.root || '/')"


def visible_to(viewer: Viewer) -> str:
    """Returns the condition on a row of `chats`: the chat is visible, and so is every registered folder that it works in.

    Its values are those of `values_of`.
    """
    return (
        f"{_shown('chats', viewer)} AND NOT EXISTS (SELECT 1 FROM workspaces WHERE workspaces.visibility <> 'everyone'"
        f" AND NOT {_shown('workspaces', viewer)} AND {_FOLDER_AROUND})"
    )


def values_of(viewer: Viewer) -> list[str]:
    return 2 * [viewer.person_id, *viewer.shared_with]


def _shown(table: str, viewer: Viewer) -> str:
    return f"({table}.owner = ? OR {table}.visibility IN ({', '.join('?' for _ in viewer.shared_with)}))"


_GROUPS = msgspec.json.Decoder(tuple[str, ...])


class VisibilityTable(Table):
    """Says what is hidden from a person. A thing that does not exist is not hidden: its own lookup reports that it is missing."""

    @query
    def hides_chat(connection: SqlConnection, viewer: Viewer, chat_id: str) -> bool:
        row = connection.execute(
            f"SELECT 1 FROM chats WHERE id = ? AND NOT ({visible_to(viewer)})", (chat_id, *values_of(viewer))
        ).fetchone()
        return row is not None

    @query
    def hides_job(connection: SqlConnection, viewer: Viewer, job_id: str) -> bool:
        row = connection.execute(
            f"SELECT 1 FROM jobs JOIN chats ON chats.id = jobs.chat_id WHERE jobs.id = ? AND NOT ({visible_to(viewer)})",
            (job_id, *values_of(viewer)),
        ).fetchone()
        return row is not None

    @query
    def hides_receipt(connection: SqlConnection, viewer: Viewer, receipt_id: str) -> bool:
        row = connection.execute(
            "SELECT 1 FROM receipts JOIN chats ON chats.id = receipts.chat_id"
            f" WHERE receipts.id = ? AND NOT ({visible_to(viewer)})",
            (receipt_id, *values_of(viewer)),
        ).fetchone()
        return row is not None

    @query
    def hides_schedule(connection: SqlConnection, viewer: Viewer, schedule_id: str) -> bool:
        """Whether it runs in a hidden chat or folder."""
        row = connection.execute("SELECT chat_id, workspace FROM schedules WHERE id = ?", (schedule_id,)).fetchone()
        return row is not None and _hides_either(connection, viewer, row[0], row[1])

    @query
    def hides_rule(connection: SqlConnection, viewer: Viewer, rule_id: str) -> bool:
        """Whether it holds in a hidden chat or folder."""
        row = connection.execute("SELECT chat_id, workspace FROM rules WHERE id = ?", (rule_id,)).fetchone()
        return row is not None and _hides_either(connection, viewer, row[0], row[1])

    @query
    def hides_folder(connection: SqlConnection, viewer: Viewer, folder: str) -> bool:
        """Whether a hidden folder is registered here, or around it."""
        return is_inside(folder, VisibilityTable.hidden_roots(connection, viewer))

    @query
    def sees_chat(connection: SqlConnection, viewer: Viewer, chat_id: str) -> bool:
        row = connection.execute(
            f"SELECT 1 FROM chats WHERE id = ? AND {visible_to(viewer)}", (chat_id, *values_of(viewer))
        ).fetchone()
        return row is not None

    @query
    def hidden_chats(connection: SqlConnection, viewer: Viewer, chat_ids: Sequence[str]) -> set[str]:
        """Returns which of these chats are hidden."""
        marks = ", ".join("?" for _ in chat_ids)
        rows = connection.execute(
            f"SELECT id FROM chats WHERE id IN ({marks}) AND NOT ({visible_to(viewer)})",
            (*chat_ids, *values_of(viewer)),
        )
        return {str(chat_id) for (chat_id,) in rows}

    @query
    def hidden_roots(connection: SqlConnection, viewer: Viewer) -> list[str]:
        """Returns the registered folders that are hidden, and those inside them."""
        rows = connection.execute(
            f"SELECT root, {_shown('workspaces', viewer)} FROM workspaces", (viewer.person_id, *viewer.shared_with)
        ).fetchall()
        hidden = [str(root) for root, is_shown in rows if not is_shown]
        return [str(root) for root, _ in rows if is_inside(root, hidden)]

    @query
    def around(connection: SqlConnection, folder: str) -> list[tuple[str, str, str]]:
        """Returns the registered folders here and around that are not for everyone, innermost first: visibility, path and owner."""
        rows = connection.execute(
            "SELECT visibility, root, owner FROM workspaces WHERE visibility <> 'everyone' ORDER BY length(root) DESC"
        )
        return [(visibility, root, owner) for visibility, root, owner in rows if is_inside(folder, (root,))]

    @query
    def hides_any_chat(connection: SqlConnection, viewer: Viewer) -> bool:
        row = connection.execute(
            f"SELECT 1 FROM chats WHERE NOT ({visible_to(viewer)}) LIMIT 1", values_of(viewer)
        ).fetchone()
        return row is not None

    @query
    def groups(connection: SqlConnection) -> set[str]:
        """Returns the groups that people are in."""
        rows = connection.execute("SELECT groups FROM people WHERE removed_at IS NULL")
        return {group for (groups,) in rows for group in _GROUPS.decode(groups)}

    @query
    def of_new(connection: SqlConnection) -> str:
        """Returns the visibility of what a person makes: `everyone` where people were when visibility came, otherwise `private`."""
        row = connection.execute("SELECT first_visibility FROM house").fetchone()
        return "private" if row is None else str(row[0])


def is_inside(folder: str, roots: Iterable[str]) -> bool:
    """Whether the folder is one of these, or lies in one."""
    return any(folder == root or folder.startswith(f"{root.rstrip('/')}/") for root in roots)


def _hides_either(connection: SqlConnection, viewer: Viewer, chat_id: str | None, folder: str | None) -> bool:
    if chat_id is not None and VisibilityTable.hides_chat(connection, viewer, chat_id):
        return True
    return folder is not None and VisibilityTable.hides_folder(connection, viewer, folder)
