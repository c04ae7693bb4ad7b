"""Builds the prompt section with a project's instructions: framed, within a token budget, and only if a person trusted them. Pure."""

from dataclasses import dataclass
from string import Template

from anycowork.domain.ports import SuppliedFile
from anycowork.prompts.text_files import prose
from anycowork.prompts.tokens import BYTES_PER_TOKEN, cut_middle, size

BUDGET = 4_000  # tokens
SHARE = 8  # of what the model can be shown, one part in so many


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
