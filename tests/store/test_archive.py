"""One campaign as one file: what comes back is what went in, and nothing else gets in."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelevolve.errors import KernelEvolveError, RecordError, UsageError
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Asked, Closed, Event
from kernelevolve.store.archive import read_archive, write_archive
from kernelevolve.store.archive_read import Limits
from kernelevolve.store.base import Store
from kernelevolve.store.codec import to_bodies
from kernelevolve.store.memory import MemoryStore
from kernelevolve.store.sqlite import SqliteStore
from kernelevolve.testing.campaign_samples import small_tree, whole_campaign
from kernelevolve.testing.samples import sample_judged, sample_opened, sample_proposed

Files = dict[str, bytes]


def kept(store: Store, events: list[Event], path: Path) -> str:
    campaign = store.open_campaign(sample_opened())
    store.append(campaign, events)
    write_archive(store, campaign, path)
    return campaign


def unpacked(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: Files, path: Path, *, stored: bool = False) -> Path:
    kind = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def with_events(lines: list[str], blobs: dict[str, bytes]) -> Files:
    """An archive that is right in all but what `lines` says."""
    text = "".join(f"{line}\n" for line in lines).encode()
    manifest = {
        "format": "kernelevolve.archive/1", "campaign": "x-1", "n_events": len(lines), "n_blobs": len(blobs),
        "events_sha256": hashlib.sha256(text).hexdigest(), "kernelevolve": "",
    }  # fmt: skip
    named = {f"blobs/{name}": data for name, data in blobs.items()}
    return {"manifest.json": json.dumps(manifest).encode(), "events.jsonl": text, **named}


def of_events(events: list[Event]) -> Files:
    return with_events(*to_bodies(events))


@pytest.mark.parametrize("make", [MemoryStore, SqliteStore])
def test_comes_back_as_it_was(tmp_path: Path, make: Callable[[Path], Store]) -> None:
    path = tmp_path / "one.kev"
    store = make(tmp_path / "a")
    campaign = kept(store, whole_campaign(), path)
    other = SqliteStore(tmp_path / "b")
    found = read_archive(other, path)
    assert (found.campaign_id, found.was, found.n_events) == (campaign, campaign, 9)
    assert [event.to_json() for event in other.read(campaign)] == [event.to_json() for event in store.read(campaign)]
    assert other.nodes(campaign) == store.nodes(campaign)
    assert other.campaigns() == store.campaigns()
    write_archive(other, campaign, tmp_path / "two.kev")
    assert (tmp_path / "two.kev").read_bytes() == path.read_bytes()


def test_holds_no_secret_and_brings_none(tmp_path: Path) -> None:
    path = tmp_path / "one.kev"
    store = MemoryStore()
    campaign = kept(store, whole_campaign(), path)
    secret = store.secret(campaign).encode()
    assert all(secret not in data for data in [*unpacked(path).values(), path.read_bytes()])
    other = MemoryStore()
    assert other.secret(read_archive(other, path).campaign_id) != store.secret(campaign)


def test_gets_another_name_where_its_own_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "one.kev"
    store = SqliteStore(tmp_path / "a")
    campaign = kept(store, small_tree(), path)
    found = read_archive(store, path)
    assert found.was == campaign
    assert found.campaign_id.startswith(f"{campaign}-")
    assert store.read(found.campaign_id) == store.read(campaign)
    store.append(found.campaign_id, [sample_judged(6)])  # an unfinished one can go on
    assert len(store.read(campaign)) == 12


def test_never_writes_over_a_file(tmp_path: Path) -> None:
    path = tmp_path / "one.kev"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        kept(MemoryStore(), whole_campaign(), path)
    assert path.read_text() == "mine"
    with pytest.raises(UsageError, match="no folder"):
        kept(MemoryStore(), whole_campaign(), tmp_path / "nowhere" / "one.kev")
    with pytest.raises(UsageError):
        write_archive(MemoryStore(), "unknown", tmp_path / "other.kev")
    assert [found.name for found in tmp_path.iterdir()] == ["one.kev"]
    with pytest.raises(UsageError, match="cannot read"):
        read_archive(MemoryStore(), tmp_path / "missing.kev")


def refused(path: Path, match: str = "", limits: Limits | None = None) -> None:
    store = MemoryStore()
    with pytest.raises((RecordError, UsageError), match=match) as caught:
        read_archive(store, path, limits=limits)
    assert "\n" not in str(caught.value)
    assert store.campaigns() == []


def edit(files: Files, name: str, data: bytes | None) -> Files:
    edited = {**files, name: data or b""}
    if data is None:
        del edited[name]
    return edited


def test_refuses_files_that_do_not_belong(tmp_path: Path) -> None:
    kept(MemoryStore(), whole_campaign(), tmp_path / "good.kev")
    good, bad = unpacked(tmp_path / "good.kev"), tmp_path / "bad.kev"
    blob = next(name for name in good if name.startswith("blobs/"))
    extra = hashlib.sha256(b"x").hexdigest()
    cases: list[tuple[Files, str]] = [
        (edit(good, "../../etc/passwd", b"x"), "another kind"),
        (edit(good, "/abs", b"x"), "another kind"),
        (edit(good, "blobs/../x", b"x"), "another kind"),
        (edit(good, "blobs/" + "A" * 64, b"x"), "another kind"),
        (edit(good, f"blobs/{extra}", b"x"), "no event refers"),
        (edit(good, blob, b'{"changed": true}'), "does not hold"),
        (edit(good, blob, None), "missing"),
        (edit(good, "manifest.json", None), "missing"),
        (edit(good, "events.jsonl", None), "missing"),
        (edit(good, "events.jsonl", b""), "not the ones"),
        (edit(good, "manifest.json", b"[" * 100_000), "not JSON"),
        (edit(good, "manifest.json", b'"text"'), "manifest"),
        (edit(good, "manifest.json", good["manifest.json"].replace(b"archive/1", b"archive/9")), "this version reads"),
        (edit(good, "manifest.json", good["manifest.json"].replace(b'"double-', b'"../double-')), "no campaign id"),
        (edit(good, "events.jsonl", good["events.jsonl"][:-1]), "cut short"),
        (edit(good, "events.jsonl", good["events.jsonl"] + b"{}\n"), "event 9"),
        (edit(good, "events.jsonl", good["events.jsonl"].replace(b"{", b"{ ", 1)), "as kernelevolve writes"),
        (edit(good, "events.jsonl", b"\xff\n" + good["events.jsonl"]), "not text"),
    ]
    for files, match in cases:
        refused(packed(files, bad), match)
    assert read_archive(MemoryStore(), packed(good, bad, stored=True)).n_events == 9


def test_refuses_events_that_make_no_campaign(tmp_path: Path) -> None:
    opened, bad = sample_opened(), tmp_path / "bad.kev"
    orphan = sample_proposed(2, move=Move(operator=Operator.MUTATE, parents=(2,)))
    zeroth = sample_proposed(1, move=Move(operator=Operator.MUTATE, parents=(0,)))
    huge = Asked(ask=2**70, move=Move(operator=Operator.DRAFT), seq=1, elapsed_s=0.0)
    cases: list[tuple[list[Event], str]] = [
        (whole_campaign(), "begins with"),
        ([opened, sample_opened()], "second time"),
        ([opened, sample_proposed(2)], "step 2 after step 0"),
        ([opened, sample_proposed(1), orphan], "does not exist"),
        ([opened, zeroth], "does not exist"),
        ([opened, sample_judged(1)], "never proposed"),
        ([opened, sample_proposed(1), sample_judged(1, same_as=9)], "does not exist"),
        ([opened, Closed(winner=3, reason="", elapsed_s=0.0)], "does not exist"),
        ([opened, huge], "does not exist"),
        ([opened, sample_proposed(1), sample_judged(1), sample_judged(1)], "already judged"),
        ([opened, Closed(winner=None, reason="", elapsed_s=0.0), sample_proposed(1)], "closed"),
        ([opened.model_copy(update={"task": opened.task.model_copy(update={"name": "a\x1b[2Jb"})})], "readable name"),
    ]
    for events, match in cases:
        refused(packed(of_events(events), bad), match)
    body, blobs = to_bodies([opened])
    for line in ("[" * 50_000, '{"kind":"opened"}', "null", '{"kind":"closed","task":{"blob":["a"]}}', body[0][:-3]):
        refused(packed(with_events([*body, line], blobs), bad), "event 1")


def test_refuses_bombs_before_unpacking_them(tmp_path: Path) -> None:
    kept(MemoryStore(), whole_campaign(), tmp_path / "good.kev")
    good = unpacked(tmp_path / "good.kev")
    zeros = bytes(70 * 2**20)
    bomb = packed(edit(good, f"blobs/{hashlib.sha256(zeros).hexdigest()}", zeros), tmp_path / "bomb.kev")
    assert bomb.stat().st_size < 2**20
    refused(bomb, "too large")
    roomy = Limits(file_bytes=100 * 2**20)
    refused(bomb, "times its size", roomy)
    refused(tmp_path / "good.kev", "unpacks to", Limits(total_bytes=5000))
    refused(tmp_path / "good.kev", "too many", Limits(n_files=2))
    refused(tmp_path / "good.kev", "too large", Limits(file_bytes=100))
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        for name, data in good.items():
            archive.writestr(name, data)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("events.jsonl", b"")
    (tmp_path / "twice.kev").write_bytes(twice.getvalue())
    refused(tmp_path / "twice.kev", "two of one name")
    for text in (b"", b"PK\x03\x04", b"hello" * 100):
        (tmp_path / "none.kev").write_bytes(text)
        refused(tmp_path / "none.kev", "no archive")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_noticed_or_harmless(tmp_path: Path, data: st.DataObject) -> None:
    """Any few bytes changed: either refused with our own error and nothing stored, or every event is as it was."""
    good = tmp_path / "good.kev"
    if not good.exists():
        kept(MemoryStore(), whole_campaign(), good)
    raw = bytearray(good.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    bad = tmp_path / "bad.kev"
    bad.write_bytes(raw)
    store = MemoryStore()
    try:
        found = read_archive(store, bad)
    except KernelEvolveError:
        assert store.campaigns() == []
    else:
        assert store.read(found.campaign_id) == [sample_opened(), *whole_campaign()]
