"""The folder of downloaded models: which are complete, how much of the others is there, and a person's own files. Blocking."""

import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from anycowork.domain.errors import Conflict, Invalid, NotFound, StorageFault
from anycowork.domain.values import value
from anycowork.providers.local.catalogue import CATALOGUE, MIB, OWN_LIMITS, LocalModel, known

_MAGIC = b"GGUF"
_OWN_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_PIECE = 4 * MIB
_OVERHEAD = 500 * MIB  # bytes of memory besides a person's own weights: the context and the program


class NoSpaceForModel(StorageFault):
    """The disk cannot hold it."""

    code = "no_room"


class NoSuchLocalModel(NotFound):
    def __init__(self, name: str, names: Sequence[str]) -> None:
        super().__init__("local model", name)
        self.message = f"There is no local model '{name[:80]}'. There are: {', '.join(names)}."


@value
class DownloadedModel:
    """A model that is completely downloaded."""

    model: LocalModel
    path: Path


class ModelFolder:
    """`path` is created when something is first stored there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> list[LocalModel]:
        """Returns the catalogue's models, then a person's own."""
        return [*CATALOGUE, *self._own()]

    def find(self, name: str) -> LocalModel:
        """Raises: NotFound."""
        match = next((model for model in self.all() if model.name == name), None)
        if match is None:
            raise NoSuchLocalModel(name, [model.name for model in self.all()])
        return match

    def ready(self) -> list[DownloadedModel]:
        installed = [DownloadedModel(model, self.path / model.file) for model in self.all()]
        return [entry for entry in installed if _size(entry.path) == entry.model.size_bytes]

    def partial(self, model: LocalModel) -> Path:
        return self.path / f"{model.file}.part"

    def fetched_bytes(self, model: LocalModel) -> int:
        """Returns its full size when it is ready."""
        return _size(self.path / model.file) or _size(self.partial(model))

    def require_disk_space(self, model: LocalModel, *, beside: int = 0) -> None:
        """Requires space for the missing part of the model, and `beside` more meanwhile. Raises: NoSpaceForModel."""
        self._create_folder()
        missing = model.size_bytes - _size(self.partial(model)) + beside
        free = shutil.disk_usage(self.path).free
        if free < missing:
            raise NoSpaceForModel(
                f"{model.title} needs {missing // MIB} MiB more in {self.path}, and only {free // MIB} MiB are free. "
                "Free some space, then pull again: what was fetched is kept."
            )

    @contextmanager
    def held(self, model: LocalModel) -> Iterator[None]:
        """Locks the model against other processes. Raises: Conflict."""
        with (self.path / f"{model.file}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Conflict(f"{model.title} is being fetched already. Wait for that, or end it.") from None
            yield

    def keep(self, model: LocalModel) -> DownloadedModel:
        """Verifies the partial file and makes it the model in one step. Raises: Invalid for a wrong hash; then the file is deleted."""
        partial = self.partial(model)
        if _size(partial) != model.size_bytes or _sha256(partial) != model.sha256:
            partial.unlink(missing_ok=True)
            raise Invalid(f"The download of {model.title} has the wrong SHA-256, so it was deleted. Try again.")
        return self._install(partial, model)

    def adopt(self, source: Path, name: str | None = None) -> DownloadedModel:
        """Copies a person's own GGUF file here; a known hash gets its catalogue name. Raises: Invalid, Conflict, NoSpaceForModel."""
        try:
            with source.open("rb") as file:
                magic = file.read(len(_MAGIC))
        except OSError as error:
            raise Invalid(f"{source} cannot be read ({error.strerror}). Name a GGUF file.", param="file") from None
        if magic != _MAGIC:
            raise Invalid(f"{source} is not a GGUF file. Name one that llama.cpp could load.", param="file")
        model = next(
            (listed for listed in CATALOGUE if listed.size_bytes == _size(source) and listed.sha256 == _sha256(source)),
            None,
        )
        model = model or _own(_own_name(name or source.stem), _size(source))
        if _size(self.path / model.file):
            raise Conflict(f"There is a model '{model.name}' already. Remove it first, or choose another name.")
        self.partial(model).unlink(missing_ok=True)
        self.require_disk_space(model)
        shutil.copyfile(source, self.partial(model))
        return self._install(self.partial(model), model)

    def remove(self, name: str) -> None:
        """Removes the model, complete or not. Raises: NotFound if nothing is there."""
        model = self.find(name)
        files = [self.path / model.file, self.partial(model)]
        if not any(file.exists() for file in files):
            raise NotFound("fetched model", name)
        for file in files:
            file.unlink(missing_ok=True)

    def _own(self) -> list[LocalModel]:
        files = sorted(self.path.glob("*.gguf")) if self.path.is_dir() else []
        return [_own(file.stem, _size(file)) for file in files if known(file.stem) is None]

    def _install(self, partial: Path, model: LocalModel) -> DownloadedModel:
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        path = partial.rename(self.path / model.file)
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return DownloadedModel(model, path)

    def _create_folder(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StorageFault(f"{self.path} cannot be created ({error.strerror}).") from error


def _own_name(text: str) -> str:
    name = re.sub(r"[^a-z0-9_.-]+", "-", text.lower())
    if not _OWN_NAME.fullmatch(name) or known(name) is not None:
        raise Invalid(f"A model of your own cannot be called '{name}'. Choose another name with --name.", param="name")
    return name


def _own(name: str, size: int) -> LocalModel:
    return LocalModel(
        name=name,
        title=name,
        size_bytes=size,
        sha256="",
        memory_bytes=size + _OVERHEAD,
        licence="as its publisher says",
        limits=OWN_LIMITS,
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
