"""Lets a person create, change and delete custom roles. Each change is recorded, also in the chats that have the role, then takes effect."""

import asyncio
import logging

from anycowork.domain.chats import Chat
from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.journal import Change
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.permissions.roles import RoleDraft, RoleRegistry, checked_role
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.record_factory import RecordFactory
from anycowork.workflows.definition_files import DefinitionFiles

log = logging.getLogger(__name__)
_PAGE = 200


class RoleService:
    """One change at a time. A role's permissions apply at once: the gate looks them up for every call."""

    def __init__(
        self, *, roles: RoleRegistry, files: DefinitionFiles, journal: Journal, store: Store, clock: Clock
    ) -> None:
        self._roles = roles
        self._files = files
        self._journal = journal
        self._store = store
        self._clock = clock
        self._draft = RecordFactory(clock)
        self._changing = asyncio.Lock()

    def find(self, name: str) -> RoleDefinition:
        """Raises: NotFound."""
        role = self._roles.get(name)
        if role is None:
            raise NotFound("role", name[:80])
        return role

    def check(self, principal: Principal, name: str, draft: RoleDraft) -> RoleDefinition:
        """Returns the role that the draft defines, without saving it. Raises: BadRoleDraft."""
        principal.require(Scope.MANAGE)
        return checked_role(name, draft, [role.name for role in self._roles.all()])

    async def create(self, principal: Principal, name: str, draft: RoleDraft) -> RoleDefinition:
        """Raises: BadRoleDraft, Conflict if there is such a role, StorageFault."""
        async with self._changing:
            role = self.check(principal, name, draft)
            if self._roles.get(name) is not None:
                raise Conflict(f"There is a role '{name}' already. Choose another name.", param="name")
            return await self._save(principal, role)

    async def change(self, principal: Principal, name: str, draft: RoleDraft) -> RoleDefinition:
        """Raises: BadRoleDraft, also for a built-in role; NotFound, StorageFault."""
        async with self._changing:
            role = self.check(principal, name, draft)
            if role == self.find(name):
                return role
            return await self._save(principal, role)

    async def delete(self, principal: Principal, name: str) -> None:
        """Chats with the role keep its name, and have no permissions. Raises: NotFound, Invalid, StorageFault."""
        principal.require(Scope.MANAGE)
        async with self._changing:
            if self.find(name).built_in:
                raise Invalid(f"'{name}' is a built-in role and cannot be deleted.", param="name")
            note = f"The role {name} was deleted. It has no permissions any more; choose another role to continue."
            await self._record(principal, name, note, {"role": {"name": name, "deleted": True}})
            await self._files.remove_role(name)
            await self._reload()
            log.info("%s deleted the role %s", principal.label(), name)

    async def _save(self, principal: Principal, role: RoleDefinition) -> RoleDefinition:
        may = [permission.value for permission in Permission if permission in role.permissions]
        note = f"The role {role.name} was changed. Its permissions: {', '.join(may) or 'none'}."
        if role.delegates:
            note += f" It delegates to: {', '.join(role.delegates)}."
        payload: Json = {
            "role": {
                "name": role.name,
                "permissions": [*may],
                "delegates": [*role.delegates],
                "output": role.output.value,
                "prompt": role.prompt,
            }
        }
        await self._record(principal, role.name, note, payload)
        await self._files.save_role(role)
        await self._reload()
        log.info("%s saved the role %s with: %s", principal.label(), role.name, ", ".join(may) or "no permission")
        return role

    async def _reload(self) -> None:
        self._roles.replace_custom(await asyncio.to_thread(self._files.read_roles))

    async def _record(self, principal: Principal, role: str, note: str, payload: Json) -> None:
        """Writes the change to the list of all changes of roles, and into the history and the audit chain of every chat in this role."""
        await self._files.record_role({"at": self._clock.now(), "by": principal.label(), **payload})
        for chat in await self._chats_in(role):
            message = self._draft.message(chat, Speaker.SYSTEM, note, payload=payload)
            await self._journal.write(Change(chat.id, (message,), principal=principal.label()))

    async def _chats_in(self, role: str) -> list[Chat]:
        chats: list[Chat] = []
        cursor: str | None = None
        while True:
            page, cursor = await self._store.chats.page(limit=_PAGE, cursor=cursor, q=None, states=())
            chats += [chat for chat in page if chat.role == role]
            if cursor is None:
                return chats
