"""A campaign as one file, to keep or to give away: a zip of `manifest.json`, `events.jsonl` and `blobs/<sha256>`.

The same campaign makes the same bytes. A campaign's secret is not in it. What is in one that came from elsewhere is
what its sender says: numbers to try again, no proof.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernelevolve import __version__
from kernelevolve.errors import MachineError, UsageError
from kernelevolve.store.archive_read import EVENTS, MANIFEST, Archive, Limits, Manifest
from kernelevolve.store.base import Store
from kernelevolve.store.codec import to_bodies

PAGE = 2000
"""Events in memory at a time."""


@dataclass(frozen=True, kw_only=True)
class Archived:
    campaign_id: str
    n_events: int
    n_blobs: int
    n_bytes: int


@dataclass(frozen=True, kw_only=True)
class Unarchived:
    """`campaign_id` differs from `was` when the store had a campaign of that name."""

    campaign_id: str
    was: str
    n_events: int


def write_archive(store: Store, campaign_id: str, path: Path) -> Archived:
    """The campaign as it is now. `path` must not exist; it appears when whole. Raises UsageError, MachineError."""
    if path.exists():
        raise UsageError(f"{path} exists: choose another file, or remove it")
    try:
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".archive-")
        try:
            with os.fdopen(handle, "wb") as file:
                manifest = _write(store, campaign_id, file)
                file.flush()
                os.fsync(file.fileno())
                n_bytes = file.tell()
            os.link(partial, path)  # unlike a rename it fails when somebody made the file meanwhile
        finally:
            Path(partial).unlink(missing_ok=True)
    except FileExistsError as error:
        raise UsageError(f"{path} exists: choose another file, or remove it") from error
    except FileNotFoundError as error:
        raise UsageError(f"{path.parent} is no folder to write to") from error
    except OSError as error:
        raise MachineError(f"cannot write {path}: {error.strerror}") from error
    return Archived(campaign_id=campaign_id, n_events=manifest.n_events, n_blobs=manifest.n_blobs, n_bytes=n_bytes)


def read_archive(store: Store, path: Path, *, limits: Limits | None = None) -> Unarchived:
    """Into `store`, all of it or nothing. Raises UsageError, and RecordError for a file that is not what it should
    be."""
    try:
        with path.open("rb") as file:
            archive = Archive(file, limits=limits or Limits(), where=str(path))
            for _ in archive.events():  # everything is checked before anything is stored
                pass
            was = archive.manifest.campaign
            return Unarchived(
                campaign_id=store.adopt(was, archive.events()), was=was, n_events=archive.manifest.n_events
            )
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _write(store: Store, campaign_id: str, file: IO[bytes]) -> Manifest:
    names: set[str] = set()
    digest, n_events = hashlib.sha256(), 0
    with zipfile.ZipFile(file, "w") as archive, tempfile.TemporaryFile() as lines:
        while page := store.read(campaign_id, n_events, n_events + PAGE):
            bodies, blobs = to_bodies(page)
            for name, data in blobs.items():
                if name not in names:
                    archive.writestr(_entry(f"blobs/{name}"), data)
            names |= blobs.keys()
            for body in bodies:
                line = body.encode() + b"\n"
                digest.update(line)
                lines.write(line)
            n_events += len(page)
        lines.seek(0)
        with archive.open(_entry(EVENTS), "w", force_zip64=True) as entry:
            while chunk := lines.read(2**20):
                entry.write(chunk)
        manifest = Manifest(
            campaign=campaign_id, n_events=n_events, n_blobs=len(names), events_sha256=digest.hexdigest(),
            kernelevolve=__version__,
        )  # fmt: skip
        archive.writestr(_entry(MANIFEST), manifest.to_json())
    return manifest


def _entry(name: str) -> zipfile.ZipInfo:
    """Without the time of writing, so that the same campaign is the same file."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry
