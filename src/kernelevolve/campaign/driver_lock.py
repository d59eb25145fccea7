"""One driver per campaign: a lock on a file, which the kernel gives back when its holder ends in whatever way."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from kernelevolve.errors import BusyError, MachineError

FOLDER = "drivers"


class DriverLock:
    """Held from its making to `release`. Raises BusyError when another process, or this one, holds it already."""

    def __init__(self, store: Path, campaign_id: str) -> None:
        path = store / FOLDER / f"{campaign_id}.lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise MachineError(f"cannot make the lock {path}: {error}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise BusyError(
                f"campaign {campaign_id} is driven by another one, process {holder or 'unknown'}; end that one, wait "
                "for it, or talk to it when it is a server"
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def __enter__(self) -> DriverLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """May be called twice. The file stays: removing it would let two processes hold two files of one name."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
