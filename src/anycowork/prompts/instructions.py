"""Builds the prompt sections with a project's trusted instructions and with skills, framed and within a budget of tokens. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from string import Template

from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.skills import SKILL_FILE, Skill, SkillSource
from anycowork.prompts.text_files import prose
from anycowork.prompts.tokens import BYTES_PER_TOKEN, cut_middle, size

BUDGET = 4_000  # tokens
SHARE = 8  # of what the model can be shown, one part in so many
MOST_LISTED = 30
_LONGEST_LINE = 300
_SHARE = 4  # of what the model can be shown, one part in so many


@dataclass(frozen=True, slots=True)
class InstructionsSection:
    """`left_out` says how much of the file exceeded the budget; empty if nothing did."""

    text: str = ""
    left_out: tuple[str, ...] = ()


NOTHING = InstructionsSection()


def instructions_section(file: SuppliedFile | None, *, context_tokens: int, brief: bool = False) -> InstructionsSection:
    """The same file and budget give the same bytes. Nothing of a file that nobody trusted, nor of one that changed since.

    `context_tokens` is how many tokens the model can be shown in all.
    """
    if file is None or not file.trusted or file.text is None or not file.text.strip():
        return NOTHING
    text, budget = file.text.strip(), min(BUDGET, context_tokens // SHARE) * BYTES_PER_TOKEN
    shortened = cut_middle(text, budget, way_out=f"all of it is in {file.path}")
    # The mark contains the content's hash, which the content itself cannot contain, so the file cannot fake its end.
    framed = Template(prose("brief/instructions" if brief else "instructions")).substitute(
        path=file.path, mark=f"{file.path} {file.sha256[:16]}", text=shortened
    )
    cut = size(text) - size(shortened)
    return InstructionsSection(framed, (f"{file.path}: {cut:,} of {size(text):,} bytes",) if cut > 0 else ())


def activated_skill(payload: Json | None, *, context_tokens: int) -> str:
    """Returns the skill's text, framed as the person's choice for this turn; empty if the message activated none."""
    stored = payload.get("skill") if payload else None
    if not isinstance(stored, dict):
        return ""
    name, path, sha256 = (str(stored.get(key)) for key in ("name", "path", "sha256"))
    in_workspace = stored.get("source") == SkillSource.WORKSPACE
    folder = f"Paths in it are below {path}/." if in_workspace else "Its other files are not in the workspace."
    way_out = f"all of it is in {path}/{SKILL_FILE}" if in_workspace else "the rest does not fit"
    budget = context_tokens // _SHARE * BYTES_PER_TOKEN
    text = cut_middle(str(stored.get("content")).strip(), budget, way_out=way_out)
    # The mark contains the content's hash, which the content itself cannot contain, so the skill cannot fake its end.
    mark = f"skill {name} {sha256[:16]}"
    return Template(prose("skill")).substitute(name=name, folder=folder, mark=mark, text=text)


def skills_section(skills: Iterable[Skill]) -> str:
    """Returns the section that names the trusted skills; empty without any."""
    lines = [_line(skill) for skill in skills if skill.trusted and not skill.problems]
    if not lines:
        return ""
    if len(lines) > MOST_LISTED:
        lines = [*lines[:MOST_LISTED], f"- and {len(lines) - MOST_LISTED} more that are not listed here"]
    return prose("skills").replace("{{skills}}", "\n".join(lines))


def _line(skill: Skill) -> str:
    file = f" ({skill.path}/{SKILL_FILE})" if skill.source is SkillSource.WORKSPACE else ""
    return f"- `{skill.name}`{file}: {skill.description}"[:_LONGEST_LINE]
