"""What a person can do in one chat, as calls of the server. Every call may raise ServerRefused and ServerUnreachable."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec
from pydantic import JsonValue

from anycowork.client.errors import ServerRefused, ServerUnreachable
from anycowork.domain.attached_files import AttachedFile
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json, json_object, json_objects

if TYPE_CHECKING:
    from anycowork.client.http import ServerClient

MOST_SHOWN = 100  # messages of an existing chat
MOST_IN_PAGE = 500
LONGEST_QUERY = 500  # characters that the server takes


def chat_page(url: str, chat_id: str) -> str:
    """Returns the address of a chat on the page of the server at `url`."""
    return f"{url}/#/chat/{chat_id}"


class ChatClient:
    def __init__(self, client: "ServerClient", chat: Json) -> None:
        self._client = client
        self.chat = chat
        self.chat_id = str(chat["id"])

    @property
    def page(self) -> str:
        """Where a person finds the chat."""
        return chat_page(self._client.url, self.chat_id)

    async def messages(self) -> tuple[list[Json], int]:
        """Returns the newest messages, and the number after which events follow them."""
        page = await self._client.get(f"/context/{self.chat_id}/messages?limit={MOST_SHOWN}")
        last = page.get("last_seq")
        return json_objects(page.get("messages")), last if isinstance(last, int) else 0

    async def events(self, after: int) -> AsyncGenerator[Json, None]:
        async for data in self._client.events(self.chat_id, after=after):
            event = msgspec.json.decode(data)
            if isinstance(event, dict):
                yield event

    async def refresh(self) -> Json:
        """Fetches the current state of the chat."""
        self.chat = await self._client.get(f"/context/{self.chat_id}")
        return self.chat

    async def usage(self) -> Json:
        """Returns what the chat has used of its models, and how full its context is."""
        return await self._client.get(f"/context/{self.chat_id}/usage")

    async def approvals(self) -> list[Json]:
        return json_objects((await self._client.get(f"/context/{self.chat_id}/approvals")).get("approvals"))

    async def approved_plans(self) -> list[Json]:
        """Returns each approved plan with the status of its steps."""
        return json_objects((await self._client.get(f"/context/{self.chat_id}/audit")).get("plans"))

    async def history(self) -> tuple[list[Json], int]:
        """Every message from the first, and the number after which events follow them."""
        page = await self._client.get(f"/context/{self.chat_id}/messages?limit={MOST_IN_PAGE}")
        messages, last = json_objects(page.get("messages")), page.get("last_seq")
        while isinstance(before := page.get("next"), str):
            page = await self._client.get(f"/context/{self.chat_id}/messages?limit={MOST_IN_PAGE}&before={before}")
            messages = [*json_objects(page.get("messages")), *messages]
        return messages, last if isinstance(last, int) else 0

    async def send(
        self, text: str, *, images: Sequence[Json] = (), files: Sequence[AttachedFile] = (), queue: bool = False
    ) -> Json:
        """The ids of the message and of its turn. `queue`: while the agent works, the message waits until it has finished."""
        more: Json = {"images": [*images]} if images else {}
        if files:
            more["attachments"] = [file.to_json() for file in files]
        if queue:
            more["when"] = "idle"
        return await self._post("messages", {"content": text, **more})

    async def stop(self) -> None:
        await self._post("stop", {})

    async def run_own_command(self, command: str) -> None:
        """Starts a command of the person's own. Its output and its end come as events."""
        await self._post("person-commands", {"command": command})

    async def own_commands(self) -> list[Json]:
        """Returns the person's own commands that run in this chat now: none of who may run none."""
        try:
            return json_objects((await self._client.get(f"/context/{self.chat_id}/person-commands")).get("running"))
        except ServerRefused as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            return []

    async def stop_own_command(self, command_id: str) -> None:
        await self._post(f"person-commands/{command_id}/stop", {})

    async def continue_turn(self) -> None:
        await self._post("continue", {})

    async def dismiss(self) -> None:
        """Drops the plan or the stopped turn that waits. Raises: ServerRefused if nothing does."""
        await self._post("dismiss", {})

    async def memory_change(self, note: str) -> Json:
        """Returns how remembering this would change the folder's instruction file."""
        return await self._post("memory", {"text": note})

    async def remember(self, note: str, sha256: str | None) -> None:
        """Makes the change that was shown. Raises: ServerRefused if the file changed since."""
        await self._client.put(f"/context/{self.chat_id}/memory", {"text": note, "sha256": sha256})

    async def compact(self) -> None:
        await self._post("compact", {})

    async def choose_model(self, model: str) -> None:
        await self._client.patch(f"/context/{self.chat_id}", {"model": model})

    async def models(self) -> list[str]:
        """Returns what each model server lists now; of one that does not answer, what is known of it."""
        names: list[str] = []
        for provider in json_objects((await self._client.get("/providers")).get("providers")):
            name, configured = str(provider.get("name")), provider.get("models")
            listed: list[JsonValue] = [*configured] if isinstance(configured, list) else []
            if provider.get("kind") in ("openai", "anthropic"):
                try:
                    served = (await self._client.get(f"/providers/{name}/models")).get("models")
                except (ServerRefused, ServerUnreachable):
                    served = None
                listed += served if isinstance(served, list) else []
            names += [f"{name}/{model}" for model in dict.fromkeys(listed)] or [name]
        return names

    async def chats(self) -> tuple[list[Json], bool]:
        """Returns the newest chats that are not archived, and whether these are all."""
        page = await self._client.get(f"/context?limit={MOST_IN_PAGE}&archived=false")
        return json_objects(page.get("contexts")), page.get("next") is None

    async def search(self, text: str) -> list[Json]:
        """Returns the messages of all chats that contain these words, newest first."""
        query = urlencode({"q": text[:LONGEST_QUERY], "limit": 50})
        return json_objects((await self._client.get(f"/search?{query}")).get("results"))

    async def find_files(self, query: str, *, limit: int) -> list[Json]:
        """Returns the files and folders of the workspace that fit best."""
        parameters = urlencode({"q": query, "limit": limit})
        return json_objects(
            (await self._client.get(f"/context/{self.chat_id}/files/search?{parameters}")).get("results")
        )

    async def workflows(self) -> list[Json]:
        return json_objects((await self._client.get(f"/workflows?context_id={self.chat_id}")).get("workflows"))

    async def skills(self) -> list[Json]:
        """Those that a person trusted: the others activate nothing."""
        skills = json_objects((await self._client.get(f"/skills?context_id={self.chat_id}")).get("skills"))
        return [skill for skill in skills if skill.get("trusted") is True]

    async def open_other(self, chat_id: str) -> "ChatClient":
        return ChatClient(self._client, await self._client.get(f"/context/{chat_id}"))

    async def open_new(self) -> "ChatClient":
        """Opens a chat with the folder and the model of this one; as every new chat it starts as actor."""
        same = json_object(self.chat.get("config"))
        settings = {"workspace": self.chat.get("workspace"), "model": same.get("model_id")}
        body = {name: value for name, value in settings.items() if value}
        return ChatClient(self._client, await self._client.post("/context", body))

    async def choose_autonomy(self, autonomy: str) -> None:
        await self._client.patch(f"/context/{self.chat_id}", {"autonomy": autonomy})

    async def groups(self) -> list[str]:
        """Returns the groups that the person is in; for the holder of the server's token, all of them."""
        groups = (await self._client.get("/session")).get("groups")
        return [str(group) for group in groups] if isinstance(groups, list) else []

    async def choose_visibility(self, visibility: str) -> str:
        """Returns who sees the chat from now on."""
        self.chat = await self._client.patch(f"/context/{self.chat_id}", {"visibility": visibility})
        return str(self.chat["visibility"])

    async def sandbox_level(self) -> str:
        sandbox = (await self._client.get("/settings")).get("sandbox")
        return str(sandbox.get("level")) if isinstance(sandbox, dict) else ""

    async def whole_disclosure(self, approval: Json) -> Json:
        """Returns what allowing it grants; reads further pages if not everything was included."""
        disclosure = json_object(approval.get("disclosure"))
        return await self._whole(disclosure, f"/context/{self.chat_id}/approvals/{approval['id']}/disclosure")

    async def plan_disclosure(self, message_id: str) -> Json:
        """All that approving the plan grants."""
        path = f"/context/{self.chat_id}/plans/{message_id}/disclosure"
        return await self._whole(await self._client.get(path), path)

    async def _whole(self, disclosure: Json, path: str) -> Json:
        items, total = json_objects(disclosure.get("items")), disclosure.get("total")
        while isinstance(total, int) and len(items) < total:
            page = json_objects((await self._client.get(f"{path}?after={len(items)}")).get("items"))
            if not page:
                break
            items += page
        return {**disclosure, "items": [*items]}

    async def decide(
        self, approvals: Sequence[str], decision: str, note: str | None, shown_hashes: Mapping[str, str] | None = None
    ) -> None:
        """`shown_hashes` maps approval ids to the hashes of what the person was shown."""
        more: Json = {"note": note} if note else {}
        hashes = shown_hashes if shown_hashes and not decision.startswith("deny") else {}
        decisions: list[JsonValue] = [
            {
                "id": approval_id,
                "decision": decision,
                **more,
                **({"disclosure": hashes[approval_id]} if approval_id in hashes else {}),
            }
            for approval_id in approvals
        ]
        await self._post("approvals", {"decisions": decisions})

    async def answer(
        self, message_id: str, *, value: str | None = None, custom: str | None = None, content: str | None = None
    ) -> None:
        """`content` is a file that the person merged by hand."""
        answer: Json = {"value": value} if value is not None else {"custom": custom}
        if content is not None:
            answer["content"] = content
        await self._post(f"questions/{message_id}/answer", answer)

    async def approve(self, message_id: str, steps: JsonValue = None, *, disclosure_hash: JsonValue = None) -> Json:
        """The id of the turn that carries it out."""
        fields: Json = {"steps": steps, "disclosure": disclosure_hash}
        body: Json = {name: value for name, value in fields.items() if value is not None}
        return await self._post(f"plans/{message_id}/approve", body)

    async def switch(self, role: str, *, confirm: bool) -> None:
        await self._post("mode", {"mode": role, "confirm": confirm})

    async def roles(self) -> list[Json]:
        return json_objects((await self._client.get("/roles")).get("roles"))

    async def answerer(self) -> Json:
        """Returns the provider that answers this chat."""
        providers = json_objects((await self._client.get("/providers")).get("providers"))
        config = self.chat.get("config")
        model = config.get("model_id") if isinstance(config, dict) else None
        provider_name = str(model).partition("/")[0] if model else None
        chosen = [provider for provider in providers if provider.get("name") == provider_name] or [
            provider for provider in providers if provider.get("default")
        ]
        return chosen[0] if chosen else {}

    async def changes(self) -> list[Json]:
        """Returns the snapshots that can be restored, newest first."""
        snapshots = json_objects((await self._client.get(f"/context/{self.chat_id}/snapshots")).get("snapshots"))
        return [
            snapshot
            for snapshot in reversed(snapshots)
            if snapshot.get("moment") == "before" and not snapshot.get("pruned")
        ]

    async def restore(self, snapshot_id: str, *, dry_run: bool) -> Json:
        return await self._client.post(f"/context/{self.chat_id}/snapshots/{snapshot_id}/restore", {"dry_run": dry_run})

    async def _post(self, path: str, body: Json) -> Json:
        return await self._client.post(f"/context/{self.chat_id}/{path}", body)


async def open_chat_client(
    client: "ServerClient", *, workspace: Path, role: str | None, model: str | None, chat_id: str | None, newest: bool
) -> ChatClient:
    """Opens a new chat, the one of this id, or the newest of the workspace. Raises: Invalid if there is none."""
    await client.register(workspace)
    if chat_id is not None:
        return ChatClient(client, await client.get(f"/context/{chat_id}"))
    if newest:
        chats = [
            chat
            for chat in json_objects((await client.get("/context?limit=200")).get("contexts"))
            if _is_in(chat, workspace)
        ]
        if not chats:
            raise Invalid(f"There is no chat in {workspace} to continue. Omit --continue to start one.")
        return ChatClient(client, chats[0])
    fields: Json = {"workspace": str(workspace), "agent_role": role, "model": model}
    return ChatClient(
        client, await client.post("/context", {name: value for name, value in fields.items() if value is not None})
    )


def _is_in(chat: Json, workspace: Path) -> bool:
    return Path(str(chat.get("workspace"))) == workspace.resolve()
