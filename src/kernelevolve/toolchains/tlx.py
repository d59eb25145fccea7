"""TLX: Triton with low-level extensions (warp specialisation, barriers, asynchronous copies), a plugin of its own."""

from __future__ import annotations

from kernelevolve.toolchains.triton import TritonToolchain


class TlxToolchain(TritonToolchain):
    language = "tlx"
    environment = "tlx"
    modules = frozenset({"triton", "utlx_plugin"})
