"""The child process is gone when `ask` returns, whatever it did."""

from __future__ import annotations

import time
from pathlib import Path

from kernelevolve.tasks.child import ask

FORKS = """\
import os, sys, time
from pathlib import Path
pid = os.fork()
if pid == 0:
    Path(sys.argv[2]).write_text(str(os.getpid()))
    time.sleep(600)
os._exit(0)
"""


def test_a_grandchild_that_holds_the_pipe_dies_at_the_deadline(tmp_path: Path) -> None:
    script, note = tmp_path / "script.py", tmp_path / "pid"
    script.write_text(FORKS)
    start = time.monotonic()
    reply = ask(script, [str(note)], folder=tmp_path, timeout_s=1.5)
    assert time.monotonic() - start < 5
    assert reply.fault.startswith("did not finish within 1.5 s")
    assert _gone(int(note.read_text()))


def test_the_answer_comes_back(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, sys\nprint('noise')\nos.write(int(sys.argv[1]), sys.argv[2].encode())\n")
    assert ask(script, ["yes"], folder=tmp_path, timeout_s=20).data == b"yes"


def test_the_environment_stays_here(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, sys\nos.write(int(sys.argv[1]), ' '.join(sorted(os.environ)).encode())\n")
    names = ask(script, [], folder=tmp_path, timeout_s=20).data.decode().split()
    assert set(names) <= {"PATH", "LD_LIBRARY_PATH", "LANG", "LC_CTYPE", "OMP_NUM_THREADS"}


def _gone(pid: int) -> bool:
    """Whether the process has ended; a zombie waiting for init counts as ended."""
    for _ in range(50):
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        if status.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False
