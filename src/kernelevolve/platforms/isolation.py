"""Which sandbox mechanisms this host offers, said honestly."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from kernelevolve.platforms.base import Check


def isolation_checks() -> list[Check]:
    namespaces = _unshare_works()
    landlock = Path("/sys/kernel/security/lsm")
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
        Check(
            name="landlock",
            ok=landlock.exists() and "landlock" in landlock.read_text(),
            detail="offered by the kernel; not needed beside chroot",
        ),
    ]


def _unshare_works() -> bool:
    if shutil.which("unshare") is None:
        return False
    flags = "-pnimf" if os.geteuid() == 0 else "-Urpnimf"
    finished = subprocess.run(["unshare", flags, "true"], capture_output=True, timeout=10, check=False)
    return finished.returncode == 0
