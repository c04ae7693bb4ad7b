"""Manages system prompts, the built-in one and those of users, and builds the complete prompt of a role."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from anycowork.domain.errors import BuiltIn, NotFound
from anycowork.domain.messages import Json
from anycowork.domain.model import ToolDefinition
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.roles import RoleDefinition
from anycowork.domain.system_prompts import DEFAULT_ID, SystemPrompt
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.tools import ToolSpec
from anycowork.prompts.agent_list import LEADS_FROM
from anycowork.prompts.enhance import TOOL_BUDGET, EnhancedPrompt, enhance
from anycowork.prompts.instructions import NOTHING, InstructionsSection, instructions_section
from anycowork.prompts.native_tools import OFFER_BUDGET, all_fit_whole, offer_tokens, offered_tools
from anycowork.prompts.reply_schema import reply_schema
from anycowork.prompts.small_model import TOOL_BUDGET as BRIEF_BUDGET
from anycowork.prompts.small_model import small_model_prompt, small_model_tools
from anycowork.prompts.text_files import prose, role_text
from anycowork.prompts.tool_list import tool_list
from anycowork.store.sql.system_prompts import SystemPrompts

_BESIDE_OFFERS = 1_100  # tokens that the rest of the prompt and a first result need
_AMPLE = 8_000  # tokens: with this many, every budget is what it is meant to be


@dataclass(frozen=True, slots=True)
class PromptScope:
    """The chat's workspace, the size of its model's context, the request that started the chat, and the chat itself. An agent that
    `works_alone` can give no task to another one."""

    workspace: str
    context_tokens: int
    request: str = ""
    chat_id: str = ""
    works_alone: bool = False

    @property
    def target(self) -> "PromptTarget":
        return PromptTarget.of(self.request, self.context_tokens, self.chat_id, works_alone=self.works_alone)


@dataclass(frozen=True, slots=True)
class PromptTarget:
    """The criteria for selecting tools: the request that started the chat, the size of its model's context, `context_tokens`, and the
    chat, if there are tools for it alone. The prompt of an agent that `works_alone` lists no tool that needs another agent."""

    request: str = ""
    context_tokens: int = _AMPLE
    chat_id: str = ""
    works_alone: bool = False

    @classmethod
    def of(cls, request: str, context_tokens: int, chat_id: str = "", *, works_alone: bool = False) -> "PromptTarget":
        ample = min(context_tokens, _AMPLE)  # all with ample context share one prompt
        return cls(request, ample, chat_id, works_alone)

    def has_room_for(self, spec: ToolSpec) -> bool:
        """Whether a tool is worth its place: in a small prompt, those for other agents and the web take too much."""
        if spec.web and self.context_tokens < LEADS_FROM:
            return False
        return not (spec.asks_agents and self.works_alone)

    @property
    def listed(self) -> int:
        return min(TOOL_BUDGET, self.context_tokens // 2)

    @property
    def offered(self) -> int:
        return min(OFFER_BUDGET, self.context_tokens * 3 // 5, max(0, self.context_tokens - _BESIDE_OFFERS))

    @property
    def brief(self) -> int:
        return min(BRIEF_BUDGET, self.context_tokens // 4)


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Native tool definitions, and their size in tokens."""

    tools: tuple[ToolDefinition, ...]
    tokens: int


NOT_OFFERED = OfferedTools((), 0)


ReadInstructions = Callable[[str], Awaitable[SuppliedFile | None]]
"""Returns the current instructions file of a workspace; None if there is none."""


class PromptService:
    """`written` holds the users' prompts, `supplied` reads a workspace's instructions. A prompt is cached until the tools change."""

    def __init__(self, written: SystemPrompts, toolbox: Toolbox, supplied: ReadInstructions | None = None) -> None:
        self._written = written
        self._supplied = supplied
        self._specs = toolbox.specs
        self._known: Sequence[ToolSpec] = ()

        def specs_for(aim: PromptTarget) -> list[ToolSpec]:
            return [spec for spec in toolbox.specs() if spec.is_for(aim.chat_id) and aim.has_room_for(spec)]

        @lru_cache(maxsize=64)
        def together(
            base: str, role: RoleDefinition, offered: bool, instructions: InstructionsSection, aim: PromptTarget
        ) -> EnhancedPrompt:
            return enhance(
                base,
                role,
                role_text(role),
                specs_for(aim),
                budget_tokens=aim.offered if offered else aim.listed,
                request=aim.request,
                offered=offered,
                instructions=instructions,
            )

        @lru_cache(maxsize=64)
        def shortly(
            base: str | None, role: RoleDefinition, instructions: InstructionsSection, aim: PromptTarget
        ) -> str:
            specs = specs_for(aim)
            return small_model_prompt(base, role, specs, instructions, budget_tokens=aim.brief, request=aim.request)

        @lru_cache(maxsize=64)
        def replies(
            role: RoleDefinition, brief: bool, without: frozenset[str], only: frozenset[str], aim: PromptTarget
        ) -> Json:
            specs = specs_for(aim)
            others = _others(role, specs, aim, brief=brief)
            return reply_schema(role, specs, brief=brief, without=without, only=only, others=others)

        @lru_cache(maxsize=64)
        def offers(role: RoleDefinition, aim: PromptTarget, unlisted: tuple[str, ...]) -> OfferedTools:
            selection = offered_tools(specs_for(aim), role, budget_tokens=aim.offered, request=aim.request)
            more = [tool.spec for name in unlisted if (tool := toolbox.find(name)) is not None]
            offered_specs = [*selection.tools, *(spec for spec in more if role.grants(spec.permissions))]
            tools = tuple(ToolDefinition(spec.name, spec.description, spec.schema) for spec in offered_specs)
            return OfferedTools(tools, offer_tokens(offered_specs))

        @lru_cache(maxsize=64)
        def crowded(role: RoleDefinition, aim: PromptTarget) -> bool:
            return _crowded(role, specs_for(aim), aim)

        self._together, self._shortly, self._replies, self._offers = together, shortly, replies, offers
        self._crowded = crowded

    async def all(self) -> list[SystemPrompt]:
        """Returns all prompts, the built-in one first, then the oldest."""
        return [_built_in(), *await self._written.all()]

    async def find(self, prompt_id: str) -> SystemPrompt | None:
        return _built_in() if prompt_id == DEFAULT_ID else await self._written.find(prompt_id)

    async def require(self, prompt_id: str) -> SystemPrompt:
        """Raises: NotFound."""
        prompt = await self.find(prompt_id)
        if prompt is None:
            raise NotFound("system prompt", prompt_id)
        return prompt

    async def add(self, *, name: str, content: str) -> SystemPrompt:
        return await self._written.add(name=name, content=content)

    async def change(self, prompt_id: str, *, name: str, content: str) -> SystemPrompt:
        """Stores the next version. Raises: NotFound, BuiltIn."""
        _require_own(prompt_id)
        return await self._written.change(prompt_id, name=name, content=content)

    async def remove(self, prompt_id: str) -> None:
        """Removes a prompt; chats that use it continue with the default. Raises: NotFound, BuiltIn."""
        _require_own(prompt_id)
        await self._written.remove(prompt_id)

    async def enhanced(
        self, prompt: SystemPrompt, role: RoleDefinition, setting: PromptScope | None = None
    ) -> EnhancedPrompt:
        """The same prompt, role and setting give the same bytes. Without a setting, no folder's instructions are in it."""
        instructions = await self._instructions(setting, brief=False) if setting else NOTHING
        aim = self._aim(role, setting.target if setting else PromptTarget())
        return self._together(prompt.content, role, False, instructions, aim)

    async def for_chat(
        self,
        prompt_id: str | None,
        role: RoleDefinition,
        setting: PromptScope,
        *,
        brief: bool,
        offered: bool,
    ) -> str:
        """Builds the system prompt of a chat, without tools if they are `offered` natively. A missing prompt is replaced by the default."""
        chosen = await self.find(prompt_id or DEFAULT_ID) or _built_in()
        instructions = await self._instructions(setting, brief=brief)
        aim = self._aim(role, setting.target)
        if brief:
            return self._shortly(None if chosen.id == DEFAULT_ID else chosen.content, role, instructions, aim)
        return self._together(chosen.content, role, offered, instructions, aim).content

    async def _instructions(self, setting: PromptScope, *, brief: bool) -> InstructionsSection:
        file = await self._supplied(setting.workspace) if self._supplied else None
        return instructions_section(file, context_tokens=setting.context_tokens, brief=brief)

    def offers(self, role: RoleDefinition, aim: PromptTarget, *, unlisted: tuple[str, ...] = ()) -> OfferedTools:
        """The tools that the role grants, and no other, for a model that calls natively; if they are too many, those that the chat's
        opening request speaks of. `unlisted` tools, which the prompt does not list, come with them."""
        return self._offers(role, self._aim(role, aim), unlisted)

    def tools(self, role: RoleDefinition) -> frozenset[str]:
        """Returns the names of the tools that the role grants in every chat."""
        return frozenset(spec.name for spec in self._specs() if spec.is_for("") and role.grants(spec.permissions))

    def changers(self) -> frozenset[str]:
        """The names of the tools that are there to change files."""
        return frozenset(spec.name for spec in self._specs() if spec.changes_files)

    def runners(self) -> frozenset[str]:
        """The names of the tools that run commands."""
        return frozenset(spec.name for spec in self._specs() if spec.runs_commands)

    def replies(
        self,
        role: RoleDefinition,
        *,
        brief: bool,
        without: frozenset[str] = frozenset(),
        only: frozenset[str] = frozenset(),
        aim: PromptTarget = PromptTarget(),  # noqa: B008  (it is frozen)
    ) -> Json:
        """Returns the schema of the role's replies, for constrained decoding. Callers must not modify it."""
        return self._replies(role, brief, without, only, self._aim(role, aim))

    def _aim(self, role: RoleDefinition, aim: PromptTarget) -> PromptTarget:
        """Drops the request while all tools fit: then it has no influence, and all chats share one prompt."""
        if self._known is not (specs := self._specs()):
            self._known = specs
            for cached in (self._together, self._shortly, self._replies, self._offers, self._crowded):
                cached.cache_clear()
        if not any(spec.only_chat == aim.chat_id for spec in specs):
            aim = replace(aim, chat_id="")  # it has no tools that others lack
        anyhow = replace(aim, request="")
        return aim if aim.request and self._crowded(role, anyhow) else anyhow


def _crowded(role: RoleDefinition, specs: Sequence[ToolSpec], aim: PromptTarget) -> bool:
    return (
        not tool_list(specs, role, budget_tokens=aim.listed).complete
        or not all_fit_whole(specs, role, budget_tokens=aim.offered)
        or bool(
            small_model_tools(role, [spec for spec in specs if not spec.asks_agents], budget_tokens=aim.brief).left_out
        )
    )


def _others(role: RoleDefinition, specs: Sequence[ToolSpec], aim: PromptTarget, *, brief: bool) -> tuple[str, ...]:
    """Returns the tools that the prompt names without a description."""
    if brief:
        return small_model_tools(role, specs, budget_tokens=aim.brief, request=aim.request).left_out
    return tool_list(specs, role, budget_tokens=aim.listed, request=aim.request).left_out


def _built_in() -> SystemPrompt:
    return SystemPrompt(DEFAULT_ID, "Default", prose("base"))


def _require_own(prompt_id: str) -> None:
    if prompt_id == DEFAULT_ID:
        raise BuiltIn(
            "The system prompt 'default' is built in: it cannot be changed or deleted. Add one of your own instead."
        )
