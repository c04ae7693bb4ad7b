"""Routes for skills and plugins: list, show, add, trust and remove them."""

import asyncio
from typing import Annotated

from fastapi import Response
from pydantic import Field, JsonValue

from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.routes.workflows import OfChat, OfFolder
from anycowork.api.schemas.skills import PluginImportResponse, PluginList, PluginPage, SkillList, SkillPage
from anycowork.domain.boundary import Boundary
from anycowork.domain.messages import Json
from anycowork.domain.principals import Scope
from anycowork.domain.skills import Skill
from anycowork.domain.values import replace
from anycowork.server.services import Services
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.workspace.plugin_store import InstalledPlugin, PluginImport

routes = Router(tags=["skills"])


class NewSkill(Boundary):
    """The folder of a skill, plugin or marketplace on the server's machine."""

    path: Annotated[str | None, Field(min_length=1, max_length=4096, examples=["/home/ada/skills/pdf-forms"])] = None
    url: Annotated[str | None, Field(max_length=2048, description="Refused: download it, and name its folder.")] = None
    plugins: Annotated[list[str] | None, Field(max_length=200, description="Of a marketplace: these alone.")] = None


class SkillTrust(Boundary):
    """Exactly this content of all its files. A null hash takes the trust back."""

    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None
    workspace: Annotated[str | None, Field(min_length=1, max_length=4096)] = None


class PluginTrust(Boundary):
    """Exactly these files, for its hooks. A null hash takes the trust back."""

    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None


@routes.get("/skills", response_model=SkillList, responses=error_responses(404, 422))
async def list_skills(
    principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """Without a chat or a folder: as in the folder that a new chat gets."""
    skills = await services.skills.skills(await folder_of(services, context_id, workspace))
    return json_response(200, {"skills": [skill.to_json() for skill in skills]})


@routes.get("/skills/{name}", response_model=SkillPage, responses=error_responses(404, 422))
async def show_skill(
    name: str, principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """With all its files: what a person reads before trusting it. Viewers, who read no files, get them without texts."""
    skill = await services.skills.require(await folder_of(services, context_id, workspace), name)
    if Scope.DECIDE not in principal.scopes:
        skill = replace(skill, files=tuple(replace(file, text=None) for file in skill.files))
    return await asyncio.to_thread(json_response, 200, _page(skill))


@routes.post(
    "/skills",
    status_code=201,
    response_model=SkillPage | PluginImportResponse,
    responses=error_responses(409, body=True),
)
async def add_skill(body: NewSkill, principal: Manager, services: ServicesDep) -> Response:
    """Copied into the data folder, for every workspace: a skill, a plugin, or the plugins of a marketplace. Nobody trusts it yet."""
    added = await services.skills.add(principal, body.path, body.url, body.plugins or ())
    return json_response(201, _page(added) if isinstance(added, Skill) else _imported(added))


@routes.delete("/skills/{name}", status_code=204, response_class=Response, responses=error_responses(404, 422, 507))
async def delete_skill(name: str, principal: Manager, services: ServicesDep) -> Response:
    """Of the data folder only; the name of a plugin removes all that it brought."""
    await services.skills.remove(principal, name)
    return Response(status_code=204)


@routes.post("/skills/{name}/trust", response_model=SkillPage, responses=error_responses(404, 409, body=True))
async def trust_skill(name: str, body: SkillTrust, principal: Manager, services: ServicesDep) -> Response:
    """A change of any of its files asks again."""
    return json_response(200, _page(await services.skills.trust(principal, body.workspace, name, body.hash)))


@routes.get("/plugins", response_model=PluginList, responses=error_responses())
async def list_plugins(principal: Reader, services: ServicesDep) -> Response:
    """What each brought, and what of it was not imported."""
    return json_response(200, {"plugins": [_plugin(plugin) for plugin in await services.skills.plugins()]})


@routes.get("/plugins/{name}", response_model=PluginPage, responses=error_responses(404))
async def show_plugin(name: str, principal: Reader, services: ServicesDep) -> Response:
    """With the files that its hooks may use; viewers get them without texts."""
    plugin = await services.skills.plugin(name)
    return await asyncio.to_thread(
        json_response, 200, _plugin_page(plugin, with_texts=Scope.DECIDE in principal.scopes)
    )


@routes.post("/plugins/{name}/trust", response_model=PluginPage, responses=error_responses(404, 409, body=True))
async def trust_plugin(name: str, body: PluginTrust, principal: Manager, services: ServicesDep) -> Response:
    """Its hooks run once a person trusted all files of the plugin. A change of any of them asks again."""
    plugin = await services.skills.trust_hooks(principal, name, body.hash)
    return json_response(200, _plugin_page(plugin, with_texts=True))


async def folder_of(services: Services, context_id: str | None, workspace: str | None) -> str:
    """Returns the folder of the chat, or this one, or that of new chats. Raises: NotFound, BadWorkspace."""
    if context_id is not None:
        return (await require_chat_in_folder(services.store, context_id)).workspace
    return await services.workspaces.find(workspace)


def _page(skill: Skill) -> Json:
    return {**skill.to_json(), "files": [file.to_json() for file in skill.files]}


def _imported(added: PluginImport) -> Json:
    return {
        "name": added.marketplace or added.plugins[0].record.name,
        "plugins": [_plugin(plugin) for plugin in added.plugins],
        "problems": [problem.model_dump() for problem in added.problems],
    }


def _plugin(plugin: InstalledPlugin) -> Json:
    hooks = plugin.hooks and {
        "path": plugin.hooks.file.path,
        "sha256": plugin.hooks.file.sha256,
        "trusted": plugin.hooks.file.trusted,
        "changed": plugin.hooks.file.changed,
        "problems": [problem.to_json() for problem in plugin.hooks.folder.problems],
    }
    return {**plugin.record.model_dump(), "skills": [*plugin.skills], "hooks": hooks}


def _plugin_page(plugin: InstalledPlugin, *, with_texts: bool) -> Json:
    files = plugin.hooks.folder.files if plugin.hooks else ()
    listed: list[JsonValue] = [(file if with_texts else replace(file, text=None)).to_json() for file in files]
    return {**_plugin(plugin), "files": listed}
