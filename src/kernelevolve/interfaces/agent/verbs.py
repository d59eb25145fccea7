"""The verbs of the agent protocol and what each takes. MCP tools, HTTP paths and command lines are made from these."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from kernelevolve.model.brief import Memory, Operator
from kernelevolve.model.value import Value

Campaign = Annotated[str, Field(description="the campaign's id, as open_campaign gave it", max_length=200)]
Step = Annotated[int, Field(description="number of a proposed candidate, as propose gave it", ge=1)]
Wait = Annotated[float, Field(ge=0, le=4, description="wait up to this many seconds for a change, at most 4")]


class Verb(Value):
    """Arguments of a verb. Its docstring is what an agent reads about it."""

    name: ClassVar[str]
    changes: ClassVar[bool] = True  # whether anything is recorded or started


class CampaignSettings(Value):
    """All may be left out. Nothing here can make the judge less strict."""

    max_candidates: int = Field(default=50, ge=1, le=10_000, description="stop after this many candidates")
    max_seconds: float = Field(default=1800.0, gt=0, le=1e6, description="of judging; your thinking does not count")
    n_threads: int | None = Field(default=None, ge=1, description="for kernels and baselines alike; default every core")
    seed: int = Field(default=0, description="of the policy's choices")
    policy: str = Field(
        default="greedy",
        description="who picks parents where you name none: greedy, beam, mcts, islands, portfolio, random",
    )
    n_drafts: int = Field(default=3, ge=1, le=1000, description="so many first briefs without parents ask for drafts")
    n_finalists: int = Field(default=3, ge=1, le=10, description="best candidates that finish measures again")
    brief_tokens: int = Field(default=24_000, ge=500, le=200_000, description="size of a brief, estimated tokens")
    memory: str = Field(default="auto", description="what briefs remember; auto: the policy decides")


class Tasks(Verb):
    """List the operators (tasks) that can be optimised here: the built-in ones, and those found in the folders this
    server may read. open_campaign takes a name from here, or the path of a task folder or file inside those folders."""

    name = "tasks"
    changes = False
    platform: str = Field(default="cpu", description="only tasks that have shapes for this kind of machine")


class Platforms(Verb):
    """List the machines a kernel can be judged on here, with their measured facts and the languages a candidate may be
    written in."""

    name = "platforms"
    changes = False
    all: bool = Field(default=False, description="also fake, which judges nothing: for trying out the protocol")


class Campaigns(Verb):
    """List the campaigns you may go on with. A campaign survives a restart of the server: any verb with its id opens
    it again, and candidates that were not judged yet are judged then."""

    name = "campaigns"
    changes = False


class OpenCampaign(Verb):
    """Begin a search for a faster kernel of one task on one platform. Returns the campaign's id and the task contract:
    the reference, the shapes you are shown, the rule of correctness and the languages. Kernels are also judged on
    shapes that you are not shown, so write for the whole domain. Next: get_brief."""

    name = "open_campaign"
    task: str = Field(
        description="a name from tasks, or the path of a task folder or file this server may read, as my_task/ or p.py"
    )
    platform: str = Field(default="cpu", description="a name from platforms")
    where: str = Field(default="", description='optimise only a part of the domain, such as "B=1, L<=512"')
    settings: CampaignSettings = CampaignSettings()


class GetBrief(Verb):
    """Read what the campaign knows that helps with the next candidate: the contract of the answer, the kernel to start
    from, what was tried and what it did, diagnosis, errors, knowledge. Without parents the search policy chooses where
    to go on. Returns the brief as text and an `ask` number; give that number to propose. Calling it again before
    proposing is harmless."""

    name = "get_brief"
    campaign: Campaign
    parents: tuple[int, ...] | None = Field(
        default=None,
        max_length=2,
        description="steps to start from: none = a new draft, one = change it, two = combine",
    )
    operator: Operator | None = Field(
        default=None, description="draft (no parent), mutate (one) or cross (two); follows from parents"
    )
    memory: Memory | None = Field(
        default=None,
        description="which earlier attempts the brief shows; clean: none, fuse: two lineages",
    )


class Edit(Value):
    """Replace one place of a file of the first parent."""

    file: str = Field(description="path of a file of the first parent")
    search: str = Field(min_length=1, description="text that occurs exactly once in the file")
    replace: str = Field(description="what stands there instead")


class Propose(Verb):
    """Hand in a candidate: whole files, or edits or a unified diff against the first parent, or nothing but other flags
    for the first parent's files. It is checked, recorded
    and, unless you say evaluate=false, judged in the background: the answer has its `step` and a job `handle`; poll
    that with `job`. A candidate that repeats an earlier one gets that one's verdict at once and costs no judging."""

    name = "propose"
    campaign: Campaign
    files: dict[str, str] = Field(default={}, description="path -> whole text; on cpu one .cpp file is usual")
    edits: tuple[Edit, ...] = Field(
        default=(), max_length=100, description="changes of the first parent, in this order; all or none"
    )
    patch: str = Field(default="", description="a unified diff (as of git diff) against the first parent's files")
    language: str = Field(
        default="",
        description="cpp, cuda, triton, ..; default: the parent's, python where all files are .py, or the platform's",
    )
    flags: tuple[str, ...] | None = Field(
        default=None, max_length=64, description="compiler flags; default the parent's (none with whole files)"
    )
    intent: str = Field(default="", max_length=2000, description="one sentence: what this attempt changes, and why")
    parents: tuple[int, ...] | None = Field(default=None, max_length=2, description="default: those of the ask")
    ask: int | None = Field(default=None, ge=1, description="the number that get_brief gave")
    evaluate: bool = Field(default=True, description="judge it right away")


class Evaluate(Verb):
    """Ask for the verdict on a proposed step. Answers at once with a job handle; poll it with job. Needed only after
    propose with evaluate=false, or when a job failed because of the machine. A step is judged once: for one that is
    judged this answers with that verdict. The finalists are measured again, on new content, by finish."""

    name = "evaluate"
    campaign: Campaign
    step: Step


class JobVerb(Verb):
    """Look at a job by its handle (from propose, evaluate or finish). state: queued (with its `place`, 1 is
    next), running, done (with the result), failed (the machine's fault or the budget's, never the candidate's). Call it
    again until it is done or failed."""

    name = "job"
    changes = False
    handle: str = Field(max_length=300, description="as it was given; with campaign also a step number, or finish")
    campaign: str = Field(default="", max_length=200, description="may be left out; else it has to be the handle's")
    wait_s: Wait = 4.0


class VerdictVerb(Verb):
    """What the judge found about a step: whether it is correct; if so its speed-up over the faster baseline with a
    95 % interval, and a diagnosis of what bounds it; if not, at which stage it failed and why. timing.wins says
    whether it would be a win: low above 1.01, and on more than half of the shapes that shape's own interval above 1."""

    name = "verdict"
    changes = False
    campaign: Campaign
    step: Step
    source: bool = Field(default=False, description="also the candidate's files")


class TreeVerb(Verb):
    """The attempts of the campaign, one line each: step, parents, status, speed-up and intent."""

    name = "tree"
    changes = False
    campaign: Campaign
    start: int = Field(default=0, ge=0, description="leave out so many rows at the beginning")
    limit: int = Field(default=50, ge=1, le=200)
    best_first: bool = Field(default=False, description="only correct ones, the fastest first")
    lineage: int | None = Field(default=None, ge=1, description="only the path from a draft down to this step")


class KnowledgeVerb(Verb):
    """Search notes on how to make kernels faster. They are advice, not evidence."""

    name = "knowledge"
    changes = False
    query: str = Field(min_length=1, max_length=500)
    campaign: str = Field(default="", max_length=200, description="only notes for its platform")
    platform: str = Field(default="", description="cpu or cuda; default the campaign's, else any")
    language: str = ""
    limit: int = Field(default=5, ge=1, le=20)


class InsightVerb(Verb):
    """Record what you learned, in a sentence or two, and the steps it is about. Later briefs show it."""

    name = "insight"
    campaign: Campaign
    text: str = Field(min_length=1, max_length=4000)
    steps: tuple[int, ...] = Field(default=(), max_length=50)
    author: str = Field(default="agent", max_length=100)


class Status(Verb):
    """How the campaign stands: budget left, the best candidate so far (by the lower end of the search's interval), what
    is being judged. Of a closed campaign: its claim, and as best the winner as it was proved."""

    name = "status"
    changes = False
    campaign: Campaign


class Finish(Verb):
    """End the search and prove the result. The settings.n_finalists correct candidates with the highest lower end of
    the search's interval are measured again on new content; the one whose lower end is highest then, if it wins, is
    measured once on shapes that nobody has seen. Answers at once with a job handle. After this nothing more can be
    proposed; call it when the budget is spent or you have no more ideas. Only the result of this is a claim. While the
    machine is busy with other work it answers `noisy` and begins nothing: wait, or say force=true."""

    name = "finish"
    campaign: Campaign
    force: bool = Field(default=False, description="also on a busy machine, where noise may decide")


VERBS: tuple[type[Verb], ...] = (
    Tasks, Platforms, Campaigns, OpenCampaign, GetBrief, Propose, Evaluate, JobVerb, VerdictVerb, TreeVerb,
    KnowledgeVerb, InsightVerb, Status, Finish,
)  # fmt: skip
BY_NAME = {verb.name: verb for verb in VERBS}
Answer = dict[str, JsonValue]
ErrorKind = Literal[
    "usage", "unknown", "task", "spent", "closed", "noisy", "busy", "record", "machine", "unauthorized", "too_large"
]
