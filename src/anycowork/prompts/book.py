"""The book of system prompts: the built-in one and those that people wrote, and what a role's whole prompt is with each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from anycowork.domain.asking import Offer
from anycowork.domain.errors import BuiltIn, NotFound
from anycowork.domain.messages import Json
from anycowork.domain.ports import InstructionFiles, SystemPrompts, Toolbox
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.system_prompts import DEFAULT_ID, SystemPrompt
from anycowork.domain.tools import ToolSpec
from anycowork.prompts.brief import brief_prompt, brief_tools
from anycowork.prompts.catalogue import catalogue
from anycowork.prompts.enhance import TOOL_BUDGET, Enhanced, enhance, offer_tokens, offered_tools
from anycowork.prompts.instructions import NOTHING, Section, instructions_section
from anycowork.prompts.prose import prose, role_text
from anycowork.prompts.replies import reply_schema

_CHANGES_FILES = {Permission.WRITE_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES}


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a chat takes place, how many tokens its model can be shown in all, and the request that it was opened with."""

    workspace: str
    room: int
    request: str = ""


@dataclass(frozen=True, slots=True)
class Offered:
    """Tools as a provider is offered them beside the messages, and what they weigh there."""

    tools: tuple[Offer, ...]
    tokens: int


NOT_OFFERED = Offered((), 0)


class PromptBook:
    """`written` holds what people wrote, `supplied` what folders bring along. A prompt is put together once, and anew when the tools have
    changed."""

    def __init__(self, written: SystemPrompts, toolbox: Toolbox, supplied: InstructionFiles | None = None) -> None:
        self._written = written
        self._supplied = supplied
        self._specs = toolbox.specs
        self._known = toolbox.specs()

        @lru_cache(maxsize=64)
        def together(base: str, role: RoleDefinition, offered: bool, instructions: Section, request: str) -> Enhanced:
            return enhance(
                base,
                role,
                role_text(role),
                toolbox.specs(),
                offered=offered,
                instructions=instructions,
                request=request,
            )

        @lru_cache(maxsize=64)
        def shortly(base: str | None, role: RoleDefinition, instructions: Section, request: str) -> str:
            return brief_prompt(base, role, toolbox.specs(), instructions, request=request)

        @lru_cache(maxsize=64)
        def replies(
            role: RoleDefinition, brief: bool, without: frozenset[str], only: frozenset[str], request: str
        ) -> Json:
            specs = toolbox.specs()
            others = _others(role, specs, brief=brief, request=request)
            return reply_schema(role, specs, brief=brief, without=without, only=only, others=others)

        @lru_cache(maxsize=64)
        def offers(role: RoleDefinition, request: str) -> Offered:
            found = offered_tools(toolbox.specs(), role, request=request)
            tools = tuple(Offer(spec.name, spec.description, spec.schema) for spec in found.shown)
            return Offered(tools, offer_tokens(found))

        @lru_cache(maxsize=64)
        def crowded(role: RoleDefinition) -> bool:
            return _crowded(role, toolbox.specs())

        self._together, self._shortly, self._replies, self._offers = together, shortly, replies, offers
        self._crowded = crowded

    async def all(self) -> list[SystemPrompt]:
        """The built-in one first, then the oldest."""
        return [_built_in(), *await self._written.all()]

    async def find(self, prompt_id: str) -> SystemPrompt | None:
        return _built_in() if prompt_id == DEFAULT_ID else await self._written.find(prompt_id)

    async def require(self, prompt_id: str) -> SystemPrompt:
        """Raises: NotFound."""
        found = await self.find(prompt_id)
        if found is None:
            raise NotFound("system prompt", prompt_id)
        return found

    async def add(self, *, name: str, content: str) -> SystemPrompt:
        return await self._written.add(name=name, content=content)

    async def change(self, prompt_id: str, *, name: str, content: str) -> SystemPrompt:
        """Its next version. Raises: NotFound, BuiltIn."""
        _require_own(prompt_id)
        return await self._written.change(prompt_id, name=name, content=content)

    async def remove(self, prompt_id: str) -> None:
        """A chat that uses it goes on with the default. Raises: NotFound, BuiltIn."""
        _require_own(prompt_id)
        await self._written.remove(prompt_id)

    async def enhanced(self, prompt: SystemPrompt, role: RoleDefinition, setting: Setting | None = None) -> Enhanced:
        """The same prompt, role and setting give the same bytes. Without a setting, no folder's instructions are in it."""
        instructions = await self._instructions(setting, brief=False) if setting else NOTHING
        request = self._aim(role, setting.request if setting else "")
        return self._together(prompt.content, role, False, instructions, request)

    async def for_chat(
        self,
        prompt_id: str | None,
        role: RoleDefinition,
        setting: Setting,
        *,
        brief: bool = False,
        offered: bool = False,
    ) -> str:
        """What the model is told; not of the tools if they are `offered` apart. A chat whose prompt is gone gets the default."""
        chosen = await self.find(prompt_id or DEFAULT_ID) or _built_in()
        instructions = await self._instructions(setting, brief=brief)
        request = self._aim(role, setting.request)
        if brief:
            return self._shortly(None if chosen.id == DEFAULT_ID else chosen.content, role, instructions, request)
        return self._together(chosen.content, role, offered, instructions, request).content

    async def _instructions(self, setting: Setting, *, brief: bool) -> Section:
        found = await self._supplied.instructions(setting.workspace) if self._supplied else None
        return instructions_section(found, room=setting.room, brief=brief)

    def offers(self, role: RoleDefinition, *, request: str = "") -> Offered:
        """The tools that the role grants, and no other, for a model that calls natively; if they are too many, those that the chat's
        opening `request` speaks of."""
        return self._offers(role, self._aim(role, request))

    def tools(self, role: RoleDefinition) -> frozenset[str]:
        """The names of those that the role grants."""
        return frozenset(spec.name for spec in self._specs() if role.grants(spec.permissions))

    def changers(self) -> frozenset[str]:
        """The names of the tools that are there to change files."""
        return frozenset(spec.name for spec in self._specs() if spec.permissions & _CHANGES_FILES)

    def replies(
        self,
        role: RoleDefinition,
        *,
        brief: bool,
        without: frozenset[str] = frozenset(),
        only: frozenset[str] = frozenset(),
        request: str = "",
    ) -> Json:
        """The schema of what the role may reply, for a decoder that can be held to one. Not to be changed by whoever gets it."""
        return self._replies(role, brief, without, only, self._aim(role, request))

    def _aim(self, role: RoleDefinition, request: str) -> str:
        """The request if it has a say in what is shown; empty as long as there is room for every tool, so that all chats share one prompt."""
        if self._known is not (found := self._specs()):
            self._known = found
            for kept in (self._together, self._shortly, self._replies, self._offers, self._crowded):
                kept.cache_clear()
        return request if request and self._crowded(role) else ""


def _crowded(role: RoleDefinition, specs: Sequence[ToolSpec]) -> bool:
    return (
        not catalogue(specs, role, budget_tokens=TOOL_BUDGET).whole
        or bool(offered_tools(specs, role).left_out)
        or bool(brief_tools(role, specs).left_out)
    )


def _others(role: RoleDefinition, specs: Sequence[ToolSpec], *, brief: bool, request: str) -> tuple[str, ...]:
    """What the prompt names without describing it."""
    if brief:
        return brief_tools(role, specs, request=request).left_out
    return catalogue(specs, role, budget_tokens=TOOL_BUDGET, request=request).left_out


def _built_in() -> SystemPrompt:
    return SystemPrompt(DEFAULT_ID, "Default", prose("base"))


def _require_own(prompt_id: str) -> None:
    if prompt_id == DEFAULT_ID:
        raise BuiltIn(
            "The system prompt 'default' is built in: it cannot be changed or deleted. Add one of your own instead."
        )
