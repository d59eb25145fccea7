"""What the tests of CuTe DSL and cuTile share: the task, the examples, and what every one of their builds must hold."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.model.candidate import Candidate
from kernelevolve.model.kernel_facts import KernelFacts
from kernelevolve.model.task import Task
from kernelevolve.tasks import load_task
from kernelevolve.testing.toolchain_case import BUILD_TIMEOUT_S, ModuleCase, made
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cubin import kernel_facts
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path
from kernelevolve.toolchains.dsl import DslToolchain

HERE = Path(__file__).parent
HOST_CODE = b".nv.host"


class DslCase(ModuleCase):
    language = ""
    source = ""
    plan = ""

    def make_task(self) -> Task:
        return load_task(str(HERE.parent / "hostile" / "row_scale")).model_copy(update={"platform": "cuda"})

    def good(self) -> Candidate:
        return self.candidate()

    def candidate(self, source: str = "", plan: str = "") -> Candidate:
        return made(self.language, kernel_py=source or self.source, launch_toml=plan or self.plan)

    def example(self, name: str) -> Candidate:
        folder = HERE / "dsl_examples" / self.language / name
        return self.candidate((folder / "kernel.py").read_text(), (folder / "launch.toml").read_text())

    def failure(self, toolchain: DslToolchain, given: Candidate) -> BuildFailure:
        assert toolchain.inspect(self.make_task(), given) is None
        found = toolchain.build(self.make_task(), given, timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(found, BuildFailure), found
        return found

    def compiled(
        self, toolchain: DslToolchain, given: Candidate | None = None, task: Task | None = None
    ) -> tuple[DeviceBuilt, KernelFacts]:
        """The record, and what its first kernel's machine code says of itself; both must agree."""
        task, given = task or self.make_task(), given or self.good()
        assert toolchain.inspect(task, given) is None
        artifact = toolchain.build(task, given, timeout_s=BUILD_TIMEOUT_S)
        assert isinstance(artifact, Artifact), artifact
        built = DeviceBuilt.from_json(Path(artifact.path).read_text())
        cubin = cubin_path(Path(artifact.path), built.kernels[0]).read_bytes()
        assert HOST_CODE not in cubin, "the driver would run this code in the process that launches the kernel"
        (facts,) = kernel_facts(cubin)
        assert facts.name == built.kernels[0].function
        assert facts.architecture == "sm_90"
        assert facts.code_bytes > 0
        assert len(facts.parameters) == len(built.plan.launch[0].args)
        return built, facts
