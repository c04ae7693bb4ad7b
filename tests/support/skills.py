"""Skills put where the server finds them, and trusted over HTTP."""

from pathlib import Path

from support.live_server import Caller, Json

FOLDER = ".agents/skills"


def skill_text(name: str, *, description: str = "Sorts notes.", body: str = "Do it well.", **fields: str) -> str:
    """A `SKILL.md`; `allowed_tools` becomes `allowed-tools`, and a value may be a block of YAML."""
    lines = [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
    return "\n".join(["---", f"name: {name}", f"description: {description}", *lines, "---", body, ""])


def skill_files(name: str, text: str = "", **fields: str) -> dict[str, str]:
    """For `live_server(files=…)`: a skill of the workspace."""
    return {f"{FOLDER}/{name}/SKILL.md": text or skill_text(name, **fields)}


def put_skill(folder: Path, name: str, text: str = "", **fields: str) -> Path:
    """Writes a skill below this folder of skills."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(text or skill_text(name, **fields))
    return folder / name


async def listed_skills(client: Caller, **query: str) -> dict[str, Json]:
    """By name; of two with one name the first, which holds."""
    skills = (await client.ask("GET", "/skills", params=query))["skills"]
    return {skill["name"]: skill for skill in reversed(skills)}


async def trust_skill(client: Caller, name: str, *, expect: int = 200) -> Json:
    """A person trusts it as it is now."""
    skill = (await listed_skills(client))[name]
    return await client.ask("POST", f"/skills/{name}/trust", {"hash": skill["sha256"]}, expect=expect)
