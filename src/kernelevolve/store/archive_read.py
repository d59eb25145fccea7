"""Reading an archive that anyone may have made: nothing of it is believed before it was checked."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final, Literal

from pydantic import Field

from kernelevolve.errors import KernelEvolveError, RecordError
from kernelevolve.model.events import Closed, Event, Judged, Opened, Proposed
from kernelevolve.model.value import Value
from kernelevolve.store.codec import from_body, to_bodies
from kernelevolve.store.rules import check_campaign_id, first_event, slot_of

FORMAT: Final = "kernelevolve.archive/1"
MANIFEST, EVENTS = "manifest.json", "events.jsonl"
_BLOB = re.compile(r"blobs/([0-9a-f]{64})")
_LARGEST = 2**31 - 1  # of the numbers in tables


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What an archive may take, all of it unpacked. `ratio`: unpacked to packed, for archives above `small_bytes`."""

    total_bytes: int = 16 * 2**30
    file_bytes: int = 64 * 2**20  # of a blob, and of a line of events
    n_files: int = 2_000_000
    ratio: float = 200.0
    small_bytes: int = 64 * 2**20


class Manifest(Value):
    format: Literal["kernelevolve.archive/1"] = FORMAT
    campaign: str
    n_events: int = Field(ge=1)
    n_blobs: int = Field(ge=1)
    events_sha256: str
    kernelevolve: str = Field(default="", description="version that wrote it")


class Archive:
    """An open archive. Making one checks the list of its files; `events` checks each event as it goes by."""

    def __init__(self, file: IO[bytes], *, limits: Limits, where: str) -> None:
        self._limits = limits
        self._where = where
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise RecordError(f"{where} is no archive of a campaign: {error}") from error
        self._check_files(self._zip.infolist(), file)
        self._used: set[str] = set()
        self.manifest = self._read_manifest()

    def events(self) -> Iterator[Event]:
        """In order. Raises RecordError at the first that does not fit; at the end when something is left over."""
        digest, n_events, n_steps = hashlib.sha256(), 0, 0
        with self._guard(), self._zip.open(EVENTS) as lines:
            while line := lines.readline(self._limits.file_bytes + 1):
                if len(line) > self._limits.file_bytes or not line.endswith(b"\n"):
                    raise self._wrong(f"event {n_events} is cut short or too long")
                digest.update(line)
                event = self._event(line[:-1], n_events)
                n_steps += isinstance(event, Proposed)
                self._check_numbers(event, n_events, n_steps)
                yield event
                n_events += 1
        if n_events != self.manifest.n_events or digest.hexdigest() != self.manifest.events_sha256:
            raise self._wrong("its events are not the ones its manifest names")
        if len(self._used) != self.manifest.n_blobs or len(self._zip.namelist()) != len(self._used) + 2:
            raise self._wrong("it holds blobs that no event refers to")

    def _event(self, line: bytes, number: int) -> Event:
        try:
            text = line.decode()
            event = from_body(text, self._blob)
            (body,), _ = to_bodies([event])
        except UnicodeError as error:
            raise self._wrong(f"event {number} is not text") from error
        except KernelEvolveError as error:
            raise self._wrong(f"event {number}: {error}") from error
        if body != text:
            raise self._wrong(f"event {number} is not written as kernelevolve writes it")
        return event

    def _check_numbers(self, event: Event, number: int, n_steps: int) -> None:
        """What no schema says, and what the tree and the tables rely on."""
        if number == 0:
            task = first_event(event).task
            if not task.name.isprintable() or len(task.name) > 200:
                raise self._wrong("its task has no readable name")
        elif isinstance(event, Opened):
            raise self._wrong(f"event {number} opens the campaign a second time")
        if isinstance(event, Proposed) and event.step != n_steps:
            raise self._wrong(f"event {number} proposes step {event.step} after step {n_steps - 1}")
        numbers = (getattr(event, "ask", 0) or 0, slot_of(event))
        steps, newest = _steps_named(event), n_steps - isinstance(event, Proposed)  # a parent is an earlier step
        if any(not 1 <= step <= newest for step in steps) or any(not 0 <= value <= _LARGEST for value in numbers):
            raise self._wrong(f"event {number} refers to a step that does not exist")

    def _blob(self, name: str) -> bytes:
        if not isinstance(name, str) or not _BLOB.fullmatch(f"blobs/{name}"):
            raise RecordError("it refers to a blob by something that is no sha256")
        try:
            data = self._zip.read(f"blobs/{name}")
        except KeyError as error:
            raise RecordError(f"blob {name} is missing") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise RecordError(f"blob {name} does not hold what its name says")
        self._used.add(name)
        return data

    def _read_manifest(self) -> Manifest:
        with self._guard():
            text = self._zip.read(MANIFEST)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._wrong("its manifest is not JSON") from error
        if isinstance(found, dict) and found.get("format", FORMAT) != FORMAT:
            raise self._wrong(f"its format is {str(found['format'])[:60]!r}, this version reads {FORMAT}")
        try:
            manifest = Manifest.from_json(text)
            check_campaign_id(manifest.campaign)
        except KernelEvolveError as error:
            raise self._wrong(f"manifest: {error}") from error
        return manifest

    def _check_files(self, files: list[zipfile.ZipInfo], file: IO[bytes]) -> None:
        names = [info.filename for info in files]
        if len(files) > self._limits.n_files or len(set(names)) != len(names):
            raise self._wrong("it holds too many files, or two of one name")
        if {MANIFEST, EVENTS} - set(names):
            raise self._wrong(f"{MANIFEST} or {EVENTS} is missing")
        for info in files:
            if info.filename not in (MANIFEST, EVENTS) and not _BLOB.fullmatch(info.filename):
                raise self._wrong(f"it holds a file of another kind: {info.filename[:80]!r}")
            if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self._wrong(f"{info.filename} is encrypted, or packed in a way that is not read")
            if info.file_size > (self._limits.total_bytes if info.filename == EVENTS else self._limits.file_bytes):
                raise self._wrong(f"{info.filename} is too large: {info.file_size} bytes")
        unpacked, packed = sum(info.file_size for info in files), file.seek(0, 2)
        if unpacked > self._limits.total_bytes:
            raise self._wrong(f"it unpacks to {unpacked} bytes, more than {self._limits.total_bytes}")
        if unpacked > self._limits.small_bytes and unpacked > self._limits.ratio * packed:
            raise self._wrong(f"it unpacks to {unpacked / packed:.0f} times its size")

    def _wrong(self, what: str) -> RecordError:
        return RecordError(f"{self._where} is no archive of a campaign, or a damaged one: {what}")

    def _guard(self) -> _Guard:
        return _Guard(self)


def _steps_named(event: Event) -> tuple[int, ...]:
    if isinstance(event, Proposed):
        return event.move.parents
    if isinstance(event, Judged):
        return () if event.same_as is None else (event.same_as,)
    return (event.winner,) if isinstance(event, Closed) and event.winner is not None else ()


class _Guard:
    """Turns what zipfile raises on damaged content into our error."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, zipfile.BadZipFile | zlib.error | EOFError | NotImplementedError | ValueError | OSError):
            raise self._archive._wrong(str(error)) from error
