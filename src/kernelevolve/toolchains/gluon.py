"""Gluon: Triton's language in which layouts, shared memory and asynchronous copies are written out."""

from __future__ import annotations

from kernelevolve.toolchains.triton import TritonToolchain


class GluonToolchain(TritonToolchain):
    language = "gluon"
