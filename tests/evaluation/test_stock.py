"""Fresh content: one process never gets a draw twice, another one gets the same draws."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.evaluation.defences import Defences
from kernelevolve.evaluation.draws import joint_layout
from kernelevolve.evaluation.exam import Exam
from kernelevolve.evaluation.stock import Allowance, Feed, Stock
from kernelevolve.model.task import Task

SHAPE = {"R": 7, "C": 5}


def exam(task: Task, folder: Path, *, without: tuple[str, ...] = ()) -> Exam:
    made = Exam(task, folder, defences=Defences(without=without), device=None)
    made.use("secret")
    return made


def contents(feed: Feed, count: int) -> list[bytes]:
    return [draw.contents["x"].tobytes() for draw in feed.take(count)]


def test_no_content_twice_in_a_process_and_the_same_in_the_next(row_scale: Task, tmp_path: Path) -> None:
    made = exam(row_scale, tmp_path)
    feed = made.feed(SHAPE)
    first = contents(feed, 3) + contents(feed, 4)
    assert len(set(first)) == 7
    assert contents(made.feed(SHAPE), 7) == first
    made.use("another secret")
    assert not set(contents(made.feed(SHAPE), 7)) & set(first)


def test_beyond_what_is_kept_draws_are_made_again_and_stay_the_same(row_scale: Task, tmp_path: Path) -> None:
    made = exam(row_scale, tmp_path)
    whole = made.stock(SHAPE)
    small = Stock(whole._make, allowance=Allowance(1))
    layout = joint_layout([whole[0]])
    assert contents(Feed(small, layout=layout), 5) == contents(Feed(whole, layout=layout), 5)
    assert small[4].answers["y"].judge(whole[4].contents["x"], SHAPE) is not None, "an input is no answer"


def test_the_switch_repeats_content(row_scale: Task, tmp_path: Path) -> None:
    made = exam(row_scale, tmp_path, without=("fresh_content",))
    assert len(set(contents(made.feed(SHAPE), 4))) == 1
