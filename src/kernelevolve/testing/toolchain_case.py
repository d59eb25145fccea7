"""What every toolchain must do. Subclass `ToolchainCase` (or `ModuleCase`, where building runs the candidate's own
module), write its parts, and pytest runs the rest."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import time
from abc import ABC, abstractmethod
from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import CompileMessage
from kernelevolve.toolchains.base import Artifact, BuildFailure, Toolchain
from kernelevolve.toolchains.confine import landlock_version

BUILD_TIMEOUT_S = 120.0
X86_64 = platform.machine() == "x86_64"


def made(language: str, **texts: str) -> Candidate:
    """A candidate of these files; in names `_` before the suffix stands for the dot: kernel_py="..."."""
    files = tuple(SourceFile(path=".".join(name.rsplit("_", 1)), text=text) for name, text in texts.items())
    return Candidate(language=language, files=files, origin=Origin(proposer="tests"))


class ToolchainCase(ABC):
    @abstractmethod
    def make_toolchain(self, cache: Path) -> Toolchain: ...

    @abstractmethod
    def make_task(self) -> Task: ...

    @abstractmethod
    def good(self) -> Candidate:
        """One that compiles for the task."""

    @abstractmethod
    def broken(self) -> tuple[Candidate, str, int]:
        """One that passes inspection and does not compile, and the file and line it is at."""

    @pytest.fixture
    def toolchain(self, tmp_path: Path) -> Toolchain:
        toolchain = self.make_toolchain(tmp_path / "cache")
        problem = toolchain.problem()
        if problem is not None and os.environ.get("KERNELEVOLVE_OFFLINE"):
            pytest.skip(f"{problem} (KERNELEVOLVE_OFFLINE is set)")
        assert problem is None, problem
        return toolchain

    def test_what_compiles_is_inspected_and_built(self, toolchain: Toolchain) -> None:
        task, candidate = self.make_task(), self.good()
        assert toolchain.inspect(task, candidate) is None
        built = toolchain.build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(built, Artifact), built
        assert not built.cached

    def test_the_hash_is_over_the_file(self, toolchain: Toolchain) -> None:
        built = toolchain.build(self.make_task(), self.good(), timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(built, Artifact), built
        assert hashlib.sha256(Path(built.path).read_bytes()).hexdigest() == built.sha256

    def test_building_twice_compiles_once(self, toolchain: Toolchain, tmp_path: Path) -> None:
        task, candidate = self.make_task(), self.good()
        first = toolchain.build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
        again = self.make_toolchain(tmp_path / "cache").build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(first, Artifact), first
        assert isinstance(again, Artifact), again
        assert (first.cached, again.cached, first.sha256) == (False, True, again.sha256)

    def test_a_damaged_artifact_is_built_again(self, toolchain: Toolchain) -> None:
        task, candidate = self.make_task(), self.good()
        first = toolchain.build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(first, Artifact), first
        path = Path(first.path)
        for damaged in (path, *path.parent.glob("*.cubin")):
            damaged.write_bytes(b"something else")
        again = toolchain.build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(again, Artifact), again
        assert not again.cached

    def test_a_failing_build_is_a_value_that_names_the_line(self, toolchain: Toolchain) -> None:
        candidate, file, line = self.broken()
        task = self.make_task()
        assert toolchain.inspect(task, candidate) is None
        for _ in range(2):
            built = toolchain.build(task, candidate, timeout_s=BUILD_TIMEOUT_S)
            assert isinstance(built, BuildFailure)
            first = built.messages[0]
            assert (first.file, first.line, first.severity) == (file, line, "error"), first

    def test_another_language_is_refused(self, toolchain: Toolchain) -> None:
        other = self.good().model_copy(update={"language": "unheard"})
        assert "unheard" in str(toolchain.inspect(self.make_task(), other))


class ModuleCase(ToolchainCase):
    """Hostile modules: each does something at import; the build must end soon, and nothing may have happened."""

    def with_code(self, code: str) -> Candidate:
        """The good candidate whose first file runs this code at its end."""
        first, *rest = self.good().files
        changed = first.model_copy(update={"text": f"{first.text}\n\n{code}\n"})
        return self.good().model_copy(update={"files": (changed, *rest)})

    def built(self, toolchain: Toolchain, code: str, *, timeout_s: float = BUILD_TIMEOUT_S) -> Artifact | BuildFailure:
        return toolchain.build(self.make_task(), self.with_code(code), timeout_s=timeout_s)

    def messages(self, toolchain: Toolchain, code: str) -> tuple[CompileMessage, ...]:
        built = self.built(toolchain, code)
        assert isinstance(built, BuildFailure), built
        return built.messages

    @pytest.mark.skipif(landlock_version(ctypes.CDLL(None)) < 1, reason="this kernel has no Landlock")
    def test_files_of_the_user_cannot_be_read(self, toolchain: Toolchain, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text("told")
        for path in (secret, Path(__file__), Path("/etc/passwd")):
            first = self.messages(toolchain, f"print(open({str(path)!r}).read())")[0]
            assert "Permission" in first.message, (path, first)

    def test_nothing_can_be_written_or_removed(self, toolchain: Toolchain, tmp_path: Path) -> None:
        kept = tmp_path / "kept"
        kept.write_text("still here")
        for code in (f"open({str(tmp_path / 'new')!r}, 'w').write('x')", f"open({str(kept)!r}, 'a').write('x')",
                     f"import os\nos.remove({str(kept)!r})", f"import os\nos.mkdir({str(tmp_path / 'new')!r})",
                     f"import os\nos.truncate({str(kept)!r}, 0)"):  # fmt: skip
            self.messages(toolchain, code)
        assert kept.read_text() == "still here"
        assert not (tmp_path / "new").exists()

    @pytest.mark.skipif(not X86_64, reason="system calls are filtered on x86-64 only")
    @pytest.mark.parametrize(
        "code",
        ["import socket\nsocket.socket()", "import os\nos.fork()", "import os\nos.kill(os.getppid(), 9)",
         "import subprocess\nsubprocess.run(['true'])", "import os\nos.execv('/bin/true', ['true'])"],
    )  # fmt: skip
    def test_no_network_no_process_no_signal(self, toolchain: Toolchain, code: str) -> None:
        line = self.with_code(code).files[0].text.rstrip().count("\n") + 1
        first = self.messages(toolchain, code)[0]
        assert "rmission" in first.message or "permitted" in first.message, first
        assert first.line == line

    def test_an_endless_loop_ends(self, toolchain: Toolchain) -> None:
        started = time.monotonic()
        built = self.built(toolchain, "while True:\n    pass", timeout_s=6.0)
        assert isinstance(built, BuildFailure)
        assert "longer than 6 s" in built.messages[0].message
        assert time.monotonic() - started < 20

    @pytest.mark.parametrize(
        "code",
        ["import os, sys\nfor _ in range(1000):\n    os.write(1, b'x' * 2**20)",
         "import os\nfor fd in range(3, 40):\n    try:\n        while True:\n            os.write(fd, b'0' * 2**20)\n"
         "    except OSError:\n        pass"],
    )  # fmt: skip
    def test_floods_are_cut(self, toolchain: Toolchain, code: str) -> None:
        found = self.messages(toolchain, code)
        assert sum(len(message.message) for message in found) < 20_000

    @pytest.mark.parametrize(
        "answer",
        ["{}", '{"facts": [{"threads": 32}], "sizes": [4]}\\n\\x7fELF', '{"facts": 3, "sizes": []}\\n', "[" * 10_000,
         '{"facts": [{"threads": 10**9, "shared_bytes": -1}], "sizes": [0]}\\n', '{"sizes": [-1, 1]}\\n', "\\xff" * 99],
    )  # fmt: skip
    def test_a_forged_answer_is_a_failure(self, toolchain: Toolchain, answer: str) -> None:
        code = (
            f"import os\nfor fd in range(3, 40):\n    try:\n        os.write(fd, b'''{answer}''')\n"
            "    except OSError:\n        pass\nos._exit(0)"
        )
        self.messages(toolchain, code)

    @pytest.mark.parametrize("code", ["import os\nos._exit(0)", "import os\nos.abort()", "raise SystemExit(0)"])
    def test_an_early_end_is_a_failure(self, toolchain: Toolchain, code: str) -> None:
        self.messages(toolchain, code)

    def test_too_much_memory_is_a_failure(self, toolchain: Toolchain) -> None:
        assert "Memory" in self.messages(toolchain, "held = b'x' * 2**40")[0].message
