"""A root folder with nothing in it but what may be read: for kernels that have mount namespaces and no Landlock.

Standard library only, loaded by path. To be called by a process of one thread, before anything foreign runs in it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18


def enter(folder: Path, readable: Iterable[str]) -> bool:
    """Make `folder` the root, with the readable paths in their places, read-only. False where the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNS if uid == 0 else CLONE_NEWNS | CLONE_NEWUSER) != 0:
        return False
    if uid != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1\n")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1\n")
    folder.mkdir(exist_ok=True)
    root = os.fsencode(folder)
    if libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    if libc.mount(b"tmpfs", root, b"tmpfs", MS_NOSUID | MS_NODEV, b"size=4m") != 0:
        return False
    for name in _outermost(readable):
        if not _show(libc, Path(name), folder):
            return False
    if libc.mount(None, root, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, None) != 0:
        return False
    os.chroot(folder)
    os.chdir("/")
    return True


def _outermost(names: Iterable[str]) -> list[str]:
    """Without what lies below another one, links as what they lead to too: libraries are found by both names."""
    every = {str(Path(name)) for name in names if Path(name).exists()}
    every |= {str(Path(name).resolve()) for name in every if not name.startswith("/proc")}
    return sorted(name for name in every if not any(str(parent) in every for parent in Path(name).parents))


def _show(libc: ctypes.CDLL, path: Path, root: Path) -> bool:
    target = root / path.relative_to("/")
    if path.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    source, place = os.fsencode(path), os.fsencode(target)
    if libc.mount(source, place, None, MS_BIND | MS_REC, None) != 0:
        return False
    read_only = libc.mount(None, place, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, None) == 0
    return bool(read_only) or path.parts[1] in ("proc", "sys", "dev")  # those may not be mounted anew
