"""Which sandbox mechanisms this host offers, said honestly."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from kernelevolve.platforms.base import Check
from kernelevolve.toolchains.confine import landlock_version


def isolation_checks() -> list[Check]:
    namespaces = _unshare_works()
    return [
        Check(
            name="namespaces",
            ok=namespaces,
            detail="pid, net, ipc and mount namespaces" if namespaces else "refused by this host",
            fix="" if namespaces else "candidates are killed by process group only and can open no sockets (seccomp)",
        ),
        Check(
            name="seccomp",
            ok=Path("/proc/sys/kernel/seccomp").exists(),
            detail="forbidden system calls kill the candidate"
            if Path("/proc/sys/kernel/seccomp").exists()
            else "absent",
            fix="" if Path("/proc/sys/kernel/seccomp").exists() else "use a kernel with CONFIG_SECCOMP_FILTER",
        ),
        Check(
            name="own uid",
            ok=os.geteuid() == 0,
            detail="candidates run under a uid of their own" if os.geteuid() == 0 else "candidates run under your uid",
            fix="" if os.geteuid() == 0 else "optional: run as root to give candidates a uid of their own",
        ),
        _landlock_check(),
    ]


def device_host_checks() -> list[Check]:
    """What a Python module on a GPU needs around it: it may start compilers, in a sandbox of its own kind."""
    proc = _unshare_works("--mount-proc")
    compiler = next((name for name in ("gcc", "clang", "cc") if shutil.which(name)), None)
    headers = Path(sysconfig.get_path("include"), "Python.h").exists()
    missing = [what for what, has in (("C compiler", compiler), ("Python.h", headers)) if not has]
    return [
        Check(
            name="namespaces", ok=proc,
            detail="pid, net, ipc and mount namespaces with a /proc of their own" if proc else "refused by this host",
            fix="" if proc else "Python modules have no scratch folder and start no compilers (Triton, torch.compile); "
            "run as root, in a container one that may mount",
        ),
        _landlock_check(),
        Check(
            name="jit", ok=not missing,
            detail=f"no {' and no '.join(missing)}: no Triton and no torch.compile inside Python modules" if missing
            else f"{compiler} and Python.h, for Triton and torch.compile inside Python modules",
            fix="apt-get install gcc python3-dev" if missing else "",
        ),
    ]  # fmt: skip


def _landlock_check() -> Check:
    """By the kernel's own word: its list of security modules is mounted in few containers."""
    version = landlock_version(ctypes.CDLL(None, use_errno=True)) if sys.platform.startswith("linux") else 0
    if version > 0:
        return Check(name="landlock", ok=True, detail=f"version {version}: Python modules read no files of yours")
    return Check(
        name="landlock", ok=False, detail="not offered: Python modules read what mount namespaces do not hide",
        fix="use a kernel with CONFIG_SECURITY_LANDLOCK, and have it in the list lsm=",
    )  # fmt: skip


def _unshare_works(*more: str) -> bool:
    if shutil.which("unshare") is None:
        return False
    flags = "-pnimf" if os.geteuid() == 0 else "-Urpnimf"
    finished = subprocess.run(["unshare", flags, *more, "true"], capture_output=True, timeout=10, check=False)
    return finished.returncode == 0
