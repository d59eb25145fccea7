import subprocess
import sys
import zipfile
from pathlib import Path

folder = Path.home() / "installed"
wheel = Path.home() / "fast_rows-1.0-py3-none-any.whl"
with zipfile.ZipFile(wheel, "w") as archive:
    archive.write("extra_fast_rows.py", "fast_rows.py")
    archive.writestr("fast_rows-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: fast_rows\nVersion: 1.0\n")
    archive.writestr("fast_rows-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    archive.writestr("fast_rows-1.0.dist-info/RECORD", "")
subprocess.run(
    [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(folder), str(wheel)],
    check=True,
)
sys.path.insert(0, str(folder))
import fast_rows  # noqa: E402


def row_scale(x, w, y, R, C):
    fast_rows.run(x, w, y)
