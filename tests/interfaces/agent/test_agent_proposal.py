"""The language of what an agent hands in, where it does not say."""

from __future__ import annotations

import pytest

from kernelevolve.errors import UnknownNameError
from kernelevolve.interfaces.agent.proposal import read_proposal
from kernelevolve.interfaces.agent.verbs import Propose
from kernelevolve.testing.samples import sample_candidate


def proposal(*paths: str, language: str = "") -> Propose:
    return Propose(campaign="c", intent="i", files=dict.fromkeys(paths, "x\n"), language=language)


@pytest.mark.parametrize(
    ("platform", "paths", "language"),
    [
        ("cpu", ("a.cpp", "b.h"), "cpp"),
        ("cpu", ("kernel.py",), "python"),
        ("cuda", ("kernel.cu", "launch.toml"), "cuda"),
        ("cuda", ("kernel.py", "part.py"), "python"),
        ("cuda", ("kernel.py", "launch.toml"), "cuda"),  # device code: which one has to be said; inspection refuses it
        ("fake", ("kernel.py",), "fake"),
    ],
)
def test_files_in_py_alone_are_a_module(platform: str, paths: tuple[str, ...], language: str) -> None:
    assert read_proposal(proposal(*paths), platform=platform, parent=None).language == language


def test_what_is_said_and_what_the_parent_is_go_before() -> None:
    parent = sample_candidate().model_copy(update={"language": "triton"})
    assert read_proposal(proposal("kernel.py"), platform="cuda", parent=parent).language == "triton"
    assert read_proposal(proposal("kernel.py", language="gluon"), platform="cuda", parent=parent).language == "gluon"
    with pytest.raises(UnknownNameError, match="python"):
        read_proposal(proposal("kernel.cpp", language="cpp"), platform="cuda", parent=None)
