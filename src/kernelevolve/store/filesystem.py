"""Which file system a folder is on. SQLite's locks do not hold on network file systems and files get damaged."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.errors import UsageError

_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "beegfs", "fuse.sshfs", "9p"}
_MOUNTS = Path("/proc/self/mounts")


def refuse_network_folder(folder: Path, mounts: str | None = None) -> None:
    """Raises UsageError when `folder` is on a network file system. `mounts` has the format of /proc/mounts."""
    if mounts is None:
        mounts = _MOUNTS.read_text() if _MOUNTS.exists() else ""
    kind, at = _mount_of(folder.resolve(), mounts)
    if kind in _NETWORK:
        raise UsageError(
            f"{folder} is on a network file system ({kind} at {at}), where SQLite files get damaged: "
            f"choose a store folder on a local disk"
        )


def _mount_of(folder: Path, mounts: str) -> tuple[str, str]:
    best = ("", "")
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        at = fields[1].encode().decode("unicode_escape")  # a space in a path is written \040
        if folder.is_relative_to(at) and len(at) >= len(best[1]):
            best = (fields[2], at)
    return best
