"""Blobs on disk, named by the sha256 of their content: `blobs/ab/cdef...`."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kernelevolve.errors import MachineError, RecordError, UsageError

_NAME = re.compile(r"^[0-9a-f]{64}$")


class BlobFolder:
    """A file appears under its name only when it is whole and on the disk, so a crash leaves at most a stray
    temporary file. Writers of the same content do not disturb each other. Nothing is ever deleted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        self.put_all({name: data})
        return name

    def put_all(self, blobs: Mapping[str, bytes]) -> None:
        """Every one of `blobs`, already named by its content; each folder is synced once."""
        fresh: set[Path] = set()
        for name, data in blobs.items():
            path = self._path(name)
            if path.exists():
                continue
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(path)
            except OSError as error:
                raise MachineError(f"cannot write blob {path}: {error}") from error
            fresh.add(path.parent)
        for folder in fresh:
            _sync_folder(folder)

    def get(self, name: str) -> bytes:
        path = self._path(name)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise UsageError(f"no blob {name} in {self._folder}") from error
        except OSError as error:
            raise MachineError(f"cannot read blob {path}: {error}") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise RecordError(f"blob {path} does not hold what its name says: it was damaged or edited")
        return data

    def _path(self, name: str) -> Path:
        if not _NAME.match(name):
            raise UsageError(f"'{name}' is not the name of a blob (64 hex digits)")
        return self._folder / name[:2] / name[2:]


def _sync_folder(folder: Path) -> None:
    """A rename is only on the disk when its folder is."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise MachineError(f"cannot write blobs to {folder}: {error}") from error
