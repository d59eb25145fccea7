"""Fixed campaigns and the briefs asked of them. `python -m tests.briefs.trees` writes the golden files again."""

from __future__ import annotations

from pathlib import Path

from kernelevolve.briefs.render import Rendered, render
from kernelevolve.campaign.brief import BriefWriter
from kernelevolve.campaign.remembering import Counts
from kernelevolve.model.brief import Brief, Memory, Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.diagnosis import Bottleneck, Cause, Diagnosis, Evidence, Unknown
from kernelevolve.model.events import Diagnosed, Event, Insight, Judged, Opened, Proposed, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import CompileMessage, Mismatch, Outcome, Verdict
from kernelevolve.search.tree import Tree
from kernelevolve.testing.samples import sample_opened, sample_task, sample_verdict

GOLDEN = Path(__file__).parent / "golden"
CPU = PlatformFacts(
    name="cpu", kind="cpu", model="Sample CPU", n_cores=2, isa=("avx2", "avx512f"), l1d_bytes=32768, l2_bytes=1048576,
    l3_bytes=33554432, copy_gb_per_s=44.0, cached_copy_gb_per_s=215.0, fma_gflop_per_s=519.0, compilers=("g++ 12.2.0",),
)  # fmt: skip
GPU = PlatformFacts(
    name="cuda", kind="cuda", model="Sample GPU", n_cores=132, isa=("sm_90",), l2_bytes=52428800,
    memory_bytes=151397597184, copy_gb_per_s=4130.0,
)  # fmt: skip
LOOP = """extern "C" int double_(const float* x, float* out, int64_t N) {{
{pragma}    for (int64_t n = 0; n < N; n += {width})
        for (int64_t k = n; k < (n + {width} < N ? n + {width} : N); ++k) out[k] = 2.0f * x[k];
    return 0;
}}
"""
KERNEL = """extern "C" __global__ void scale(const float* x, float* out, long long N) {
    const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (n < N) out[n] = 2.0f * x[n];
}
"""
PLAN = """[[launch]]
kernel = "scale"
grid = ["(N+255)/256", "1", "1"]
block = ["256", "1", "1"]
args = ["x", "out", "N"]
"""


def cpp(width: int, intent: str, *, pragma: str = "") -> Candidate:
    text = LOOP.format(width=width, pragma=pragma and f"#pragma {pragma}\n")
    origin = Origin(proposer="sample", recipe="double/loop", parameters={"width": str(width)}, intent=intent)
    return Candidate(language="cpp", files=(SourceFile(path="double.cpp", text=text),), origin=origin)


def mutate(parent: int, memory: Memory = Memory.LINEAGE) -> Move:
    return Move(operator=Operator.MUTATE, parents=(parent,), memory=memory)


def cross(first: int, second: int) -> Move:
    return Move(operator=Operator.CROSS, parents=(first, second), memory=Memory.FUSE)


class Campaign:
    """Collects events; steps and times count up."""

    def __init__(self, opened: Opened) -> None:
        self.events: list[Event] = [opened]
        self.opened = opened
        self._step = 0

    def add(
        self, candidate: Candidate, *, parents: tuple[int, ...] = (), speedup: float | None = None,
        verdict: Verdict | None = None, diagnosis: Diagnosis | None = None, pending: bool = False,
    ) -> int:  # fmt: skip
        """`speedup` None: wrong."""
        self._step += 1
        operator = (Operator.DRAFT, Operator.MUTATE, Operator.CROSS)[len(parents)]
        move, time = Move(operator=operator, parents=parents), float(self._step)
        self.events.append(Proposed(step=self._step, move=move, candidate=candidate, elapsed_s=time))
        if pending:
            return self._step
        if verdict is None and speedup is None:
            verdict = sample_verdict(candidate, outcome=Outcome.WRONG)
        verdict = verdict or sample_verdict(candidate, speedup=speedup or 0.0)
        self.events.append(Judged(step=self._step, verdict=verdict, elapsed_s=time + 0.5))
        if diagnosis is not None:
            self.events.append(Diagnosed(step=self._step, diagnosis=diagnosis))
        return self._step

    def brief(self, move: Move, *, counts: Counts | None = None, ask: int = 1, seq: int | None = None) -> Brief:
        tree = Tree(self.events[:seq])
        return BriefWriter(opened=self.opened, tree=tree, counts=counts).write(move, ask=ask)


MEMORY_BOUND = Diagnosis(
    bottleneck=Bottleneck.MEMORY,
    evidence=(
        Evidence(name="latency", value=12.3456, unit="us", note="N=4099"),
        Evidence(name="bytes_moved", value=32792.0, unit="B", note="N=4099; in cache"),
        Evidence(name="share_of_floor", value=0.512345, unit="1", note="N=4099", threshold=0.9, source="judge"),
    ),
    advice="N=4099 moves data at 51% of the cache copy rate: fuse passes.",
)


def cpu_campaign(settings: Settings | None = None) -> Campaign:
    """
    1 loop, 1.2x -- 2 wider, 1.4x -- 4 wider, 1.6x [memory] -- 5 wider still, 1.5x
       |               |                   |---------------- 6 wrong
       |               |                   |---------------- 7 two threads, 1.9x -- 10 does not build
       |               '- 8 wrong          '---------------- 11 in work
       '- 9 another line, 1.3x             3 a new start, 2.0x
    """
    opened = sample_opened(settings or Settings(knowledge="shipped", max_candidates=40))
    made = Campaign(opened.model_copy(update={"facts": CPU}))
    made.add(cpp(1, "one loop"), speedup=1.2)
    made.add(cpp(4, "width 1 -> 4"), parents=(1,), speedup=1.4)
    made.add(cpp(64, "blocks from the start", pragma="omp simd"), speedup=2.0)
    made.add(cpp(8, "width 4 -> 8"), parents=(2,), speedup=1.6, diagnosis=MEMORY_BOUND)
    made.add(cpp(16, "width 8 -> 16"), parents=(4,), speedup=1.5)
    made.add(cpp(7, "width 8 -> 7"), parents=(4,))
    made.add(cpp(8, "on two threads", pragma="omp parallel for"), parents=(4,), speedup=1.9)
    made.add(cpp(5, "width 4 -> 5"), parents=(2,))
    made.add(cpp(2, "", pragma="omp simd"), parents=(1,), speedup=1.3)
    message = CompileMessage(file="double.cpp", line=2, column=9, message="'omp' is not a name; N = 4099 was given")
    broken = cpp(8, "with a directive of our own", pragma="omp everything")
    failed = sample_verdict(broken, outcome=Outcome.BUILD_FAILED).model_copy(update={"compile_messages": (message,)})
    made.add(broken, parents=(7,), verdict=failed)
    made.add(cpp(32, "width 8 -> 32"), parents=(4,), pending=True)
    made.events.append(
        Insight(number=1, text="Odd widths were always wrong.", steps=(6, 8), author="agent", elapsed_s=12)
    )
    made.events.append(Insight(number=2, text="N=7013 is slow on this machine.", elapsed_s=13))
    return made


def gpu_task() -> Task:
    shapes = sample_task().shapes
    return sample_task().model_copy(update={"platform": "cuda", "shapes": shapes})


def gpu_campaign() -> Campaign:
    opened = sample_opened(Settings(platform="cuda", knowledge="shipped"))
    made = Campaign(opened.model_copy(update={"facts": GPU, "task": gpu_task()}))
    files = (SourceFile(path="kernel.cu", text=KERNEL), SourceFile(path="launch.toml", text=PLAN))
    origin = Origin(proposer="sample", recipe="double/scale.cuda", intent="one element a thread")
    found = Diagnosis(
        bottleneck=Bottleneck.MEMORY,
        cause=Cause.NARROW_ACCESS,
        also=(Cause.SMALL_GRID,),
        kernel="scale",
        scope="static",
        evidence=(Evidence(name="bytes_a_thread", value=4, unit="B", threshold=16, source="sass"),),
        unknown=(Unknown(what="stalls", why="no counters were read"),),
        advice="Most global accesses move less than 16 bytes a thread: load and store vectors.",
    )
    made.add(Candidate(language="cuda", files=files, origin=origin), speedup=0.8, diagnosis=found)
    return made


def wrong_verdict(candidate: Candidate) -> Verdict:
    mismatch = Mismatch(tensor="out", shape={"N": 4099}, n_wrong=7, n_total=4099, got="1.5", expected="3.0")
    update = {"mismatch": mismatch, "message": "7 of 4099 elements of out wrong at N=4099"}
    return sample_verdict(candidate, outcome=Outcome.WRONG).model_copy(update=update)


def failed_campaign() -> Campaign:
    opened = sample_opened(Settings(knowledge="shipped"))
    made = Campaign(opened.model_copy(update={"facts": CPU}))
    candidate = cpp(4, "no tail")
    made.add(candidate, verdict=wrong_verdict(candidate))
    return made


def golden_cases() -> dict[str, Brief]:
    made = cpu_campaign()
    briefs = {memory.value: made.brief(mutate(4, memory)) for memory in Memory if memory is not Memory.FUSE}
    briefs["fuse"] = made.brief(cross(7, 9))
    briefs["draft"] = made.brief(Move(operator=Operator.DRAFT, memory=Memory.CLEAN))
    wishes = Move(operator=Operator.MUTATE, parents=(4,), language="python", avoid=("double/loop",))
    briefs["wishes"] = made.brief(wishes)
    briefs["does_not_build"] = made.brief(mutate(10))
    briefs["wrong"] = failed_campaign().brief(mutate(1))
    gpu = gpu_campaign()
    briefs["gpu"] = gpu.brief(mutate(1))
    briefs["gpu_python"] = gpu.brief(Move(operator=Operator.DRAFT, language="python", memory=Memory.CLEAN))
    briefs["gpu_draft"] = gpu.brief(Move(operator=Operator.DRAFT, memory=Memory.CLEAN))
    return briefs


def rendered(brief: Brief, tokens: int = 24_000) -> Rendered:
    return render(brief, tokens=tokens)


def main() -> None:
    for path in GOLDEN.glob("*.md"):
        path.unlink()
    for name, brief in golden_cases().items():
        (GOLDEN / f"{name}.md").write_text(rendered(brief).text)


if __name__ == "__main__":
    main()
