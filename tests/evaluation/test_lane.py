"""Timing is exclusive; builds are not."""

from __future__ import annotations

import threading
import time

from kernelevolve.evaluation.lane import Lane


def test_timing_waits_for_builds_and_holds_new_ones_back() -> None:
    """PE30"""
    lane, log = Lane(), []
    in_build, go_on = threading.Event(), threading.Event()

    def build(name: str) -> None:
        with lane.building():
            log.append(f"{name} in")
            in_build.set()
            go_on.wait(5)
            log.append(f"{name} out")

    def timed() -> None:
        with lane.timing():
            log.append("timing")
            time.sleep(0.05)
            log.append("timed")

    first = threading.Thread(target=build, args=("one",))
    first.start()
    in_build.wait(5)
    timer = threading.Thread(target=timed)
    timer.start()
    time.sleep(0.05)
    second = threading.Thread(target=build, args=("two",))
    second.start()
    time.sleep(0.05)
    go_on.set()
    for thread in (first, timer, second):
        thread.join(5)
    assert log == ["one in", "one out", "timing", "timed", "two in", "two out"]


def test_two_builds_overlap() -> None:
    lane, both = Lane(), threading.Barrier(2, timeout=5)

    def build() -> None:
        with lane.building():
            both.wait()

    threads = [threading.Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert not both.broken


def test_a_devices_own_clock_waits_for_no_compiler() -> None:
    lane = Lane()
    with lane.building(), lane.timing(alone=False):
        pass
    with lane.timing(alone=False), lane.building():
        pass
