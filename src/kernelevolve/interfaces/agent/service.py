"""The verbs of the agent protocol, without any transport: arguments in, a JSON object out, always soon.

Nothing here judges: that goes on in the background, and `job` tells how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from kernelevolve.briefs.render import render
from kernelevolve.campaign.noise import check_quiet, noisy_finish
from kernelevolve.errors import KernelEvolveError, UsageError
from kernelevolve.interfaces.agent import shown, shown_tree, verbs
from kernelevolve.interfaces.agent.access import Access, Workshop
from kernelevolve.interfaces.agent.answers import answer, failure, failure_of, failure_of_arguments
from kernelevolve.interfaces.agent.catalogue import contract, found_knowledge, local_tasks, platform_list, task_list
from kernelevolve.interfaces.agent.held import AGENT, Held, HeldCampaigns
from kernelevolve.interfaces.agent.proposal import move_of, read_proposal
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.events import Settings
from kernelevolve.model.paths import Where, narrowed
from kernelevolve.platforms import make_platform
from kernelevolve.queries import outcome_counts
from kernelevolve.search.tree import Tree
from kernelevolve.store import open_store

FINISH, FAKE = "finish", "fake"
JUDGED = "judged before: a step is judged once, and this is that verdict; finish measures the finalists again"
SECONDS = 10.0
"""What time is left is told in steps of so many seconds: an exact figure would be a clock."""


class Service:
    """Safe between threads. Every method takes the arguments of the verb of its name; `call` is the way in."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._campaigns = HeldCampaigns(store=open_store(workshop.folder), workshop=workshop)
        self._verbs: dict[str, Callable[[Any], dict[str, Any]]] = {
            "tasks": self.tasks, "platforms": self.platforms, "campaigns": self.campaigns,
            "open_campaign": self.open_campaign, "get_brief": self.get_brief, "propose": self.propose,
            "evaluate": self.evaluate, "job": self.job, "verdict": self.verdict, "tree": self.tree,
            "knowledge": self.knowledge, "insight": self.insight, "status": self.status, "finish": self.finish,
        }  # fmt: skip

    def call(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Never raises for what a caller can do wrong: the answer then has `error` with kind, message and fix."""
        if verb not in verbs.BY_NAME:
            return failure("unknown", f"there is no verb {verb[:80]!r}", f"verbs: {', '.join(verbs.BY_NAME)}")
        model = verbs.BY_NAME[verb]
        try:
            return self._verbs[verb](model.model_validate(arguments))
        except ValidationError as error:
            return failure_of_arguments(error, verb, list(model.model_fields))
        except KernelEvolveError as error:
            return failure_of(error)

    @property
    def busy(self) -> bool:
        return self._campaigns.busy

    def close(self) -> None:
        """What is being judged is judged when its campaign is opened again."""
        self._campaigns.close()

    def tasks(self, given: verbs.Tasks) -> dict[str, Any]:
        folders = self._access.task_folders
        how = "open_campaign takes a name, or the path of a task folder or file inside one of the folders"
        return answer(
            tasks=task_list(given.platform), local=local_tasks(folders), folders=list(map(str, folders)), how=how
        )

    def platforms(self, given: verbs.Platforms) -> dict[str, Any]:
        names = [name for name in self._access.platforms if given.all or name != FAKE]
        return answer(platforms=platform_list(names))

    def campaigns(self, given: verbs.Campaigns) -> dict[str, Any]:
        rows = []
        for campaign in self._campaigns.ids():
            with self._campaigns.tree(campaign) as (tree, _):
                assert tree.opened is not None
                rows.append({"campaign": campaign, "task": tree.opened.task.name, "state": _state(tree),
                             "n_candidates": len(tree), "platform": tree.opened.settings.platform,
                             "driven_by": tree.opened.settings.proposer})  # fmt: skip
        return answer(campaigns=rows)

    def open_campaign(self, given: verbs.OpenCampaign) -> dict[str, Any]:
        if given.platform not in self._access.platforms:
            raise UsageError(f"platform {given.platform!r} is not one of {', '.join(self._access.platforms)}")
        machine = make_platform(given.platform)
        task = narrowed(self._access.load_task(given.task, kind=machine.kind), Where.parse(given.where))
        asked = given.settings.model_dump(exclude={"n_threads"})
        facts = machine.facts()
        settings = Settings(
            **{**asked, "max_candidates": min(given.settings.max_candidates, self._access.max_candidates),
               "max_seconds": min(given.settings.max_seconds, self._access.max_seconds)},
            proposer=AGENT, platform=given.platform, n_threads=given.settings.n_threads or facts.n_cores,
            knowledge=self._access.knowledge,
        )  # fmt: skip
        campaign = self._campaigns.open(task, settings, facts)
        return answer(
            campaign=campaign, **contract(task, given.platform), facts=shown_tree.facts(facts),
            baselines=shown_tree.titles(settings.baselines),
            settings=settings.model_dump(mode="json", include={"max_candidates", "max_seconds", "n_threads", "policy",
                                                               "n_drafts", "n_finalists"}),
            next="get_brief with this campaign, then propose",
        )  # fmt: skip

    def get_brief(self, given: verbs.GetBrief) -> dict[str, Any]:
        held = self._campaigns.drive(given.campaign)
        move = None
        if given.parents is not None or given.operator is not None:
            move = move_of(given.parents or ())
            if given.operator not in (None, move.operator):
                raise UsageError(f"{given.operator} does not start from {len(move.parents)} parents")
        if move is not None and given.memory is not None:
            move = move.model_copy(update={"memory": given.memory})
        elif given.memory is not None:
            raise UsageError("memory goes with parents or operator: without them the policy chooses all three")
        written = held.driven.ask(move)
        with held.driven.reading:
            seen = held.shown.brief(written.brief, held.driven.tree)
            waiting = [node.step for node in held.driven.tree.pending]
        text = render(seen, tokens=held.opened.settings.brief_tokens)
        return answer(
            campaign=given.campaign, ask=written.asked.ask, move=shown_tree.move_shown(written.asked.move),
            text=text.text, items=list(text.ids), left_out=list(text.left_out), remaining=written.brief.remaining,
            waiting=waiting,
            next=f"propose with ask={written.asked.ask}",
        )  # fmt: skip

    def propose(self, given: verbs.Propose) -> dict[str, Any]:
        held = self._campaigns.drive(given.campaign)
        asked = held.driven.tree.asks.get(given.ask) if given.ask is not None else None
        parents = given.parents if given.parents is not None else asked.move.parents if asked else ()
        move = move_of(parents, asked=asked.move if asked else None)
        candidate = read_proposal(given, platform=held.opened.settings.platform, parent=_parent(held, parents))
        node = held.driven.propose(candidate, move=move, ask=given.ask)
        if given.evaluate and node.pending:
            held.driven.evaluate(node.step)
        return answer(step=node.step, **self._look(held, given.campaign, node.step))

    def evaluate(self, given: verbs.Evaluate) -> dict[str, Any]:
        held = self._campaigns.drive(given.campaign)
        before = held.driven.evaluate(given.step).state == "done"
        found = self._look(held, given.campaign, given.step)
        return answer(step=given.step, **({"note": JUDGED} if before else {}), **found)

    def job(self, given: verbs.JobVerb) -> dict[str, Any]:
        campaign, what = _parts(given)
        if what != FINISH and not what.isdecimal():
            raise UsageError(f"{given.handle!r} is no handle: they come from propose, evaluate and finish")
        held = self._campaigns.held(campaign)
        if held is None:
            with self._campaigns.tree(campaign) as (tree, eyes):
                if tree.closed is not None and what == FINISH:
                    return answer(handle=given.handle, state="done", claim=shown_tree.claim(tree))
                if tree.closed is not None:
                    state = "failed" if tree.node(int(what)).pending else "done"
                    return answer(step=int(what), handle=given.handle, state=state, **_result(tree, int(what), eyes))
            held = self._campaigns.drive(campaign)
        driven = held.driven
        if what == FINISH:
            driven.wait(lambda: driven.finish_progress.state in ("done", "failed", "proposed"), given.wait_s)
            return answer(**self._finishing(held, campaign))
        step = int(what)
        driven.wait(lambda: driven.progress(step).state in ("done", "failed", "proposed"), given.wait_s)
        return answer(step=step, **self._look(held, campaign, step))

    def verdict(self, given: verbs.VerdictVerb) -> dict[str, Any]:
        with self._campaigns.tree(given.campaign) as (tree, eyes):
            node = tree.node(given.step)
            found = _result(tree, given.step, eyes)
            if given.source:
                found["source"] = shown_tree.source(node.candidate)
            return answer(**shown_tree.node_line(node), **found)

    def tree(self, given: verbs.TreeVerb) -> dict[str, Any]:
        with self._campaigns.tree(given.campaign) as (tree, _):
            if given.lineage is not None:
                nodes = tree.lineage(given.lineage)
            else:
                nodes = tree.frontier() if given.best_first else list(tree.nodes)
            page = nodes[given.start : given.start + given.limit]
            return answer(rows=shown_tree.rows(page), start=given.start, n_rows=len(nodes), n_candidates=len(tree))

    def knowledge(self, given: verbs.KnowledgeVerb) -> dict[str, Any]:
        if given.campaign:
            with self._campaigns.tree(given.campaign) as (tree, _):
                assert tree.opened is not None
                given = given.model_copy(update={"platform": given.platform or tree.opened.task.platform})
        return answer(snippets=found_knowledge(given, self._access.knowledge), platform=given.platform)

    def insight(self, given: verbs.InsightVerb) -> dict[str, Any]:
        held = self._campaigns.drive(given.campaign)
        return answer(number=held.driven.insight(given.text, given.steps, given.author))

    def status(self, given: verbs.Status) -> dict[str, Any]:
        held = self._campaigns.held(given.campaign)
        with self._campaigns.tree(given.campaign) as (tree, _):
            assert tree.opened is not None
            settings, warning = tree.opened.settings, shown_tree.busy_now(tree)
            left_s = max(0.0, settings.max_seconds - (held.driven.elapsed_s if held else tree.elapsed_s))
            found = answer(
                campaign=given.campaign, task=tree.opened.task.name, platform=settings.platform, state=_state(tree),
                budget={"candidates_used": len(tree), "candidates_left": max(0, settings.max_candidates - len(tree)),
                        "judging_seconds_left": round(left_s / SECONDS) * SECONDS},
                best=shown_tree.best(tree), counts=outcome_counts(tree),
                waiting=[node.step for node in tree.pending], doing=held.shown.told(held.driven.doing) if held else "",
            )  # fmt: skip
            found |= {"warning": warning} if warning else {}
            return {**found, "claim": shown_tree.claim(tree)} if tree.closed else found

    def finish(self, given: verbs.Finish) -> dict[str, Any]:
        held = self._campaigns.held(given.campaign)
        if held is None:
            with self._campaigns.tree(given.campaign) as (tree, _):
                if tree.closed is not None:
                    return answer(handle=_handle(given.campaign, FINISH), state="done", claim=shown_tree.claim(tree))
            held = self._campaigns.drive(given.campaign)
        if not given.force and held.driven.finish_progress.state in ("proposed", "failed"):
            self._check_quiet(held)
        held.driven.finish()
        return answer(**self._finishing(held, given.campaign))

    def _check_quiet(self, held: Held) -> None:
        """While we judge ourselves, what runs is ours: the last verdict has to do."""
        with held.driven.reading:
            doubt = noisy_finish(held.driven.tree)
        check_quiet(doubt, others_now=None if held.driven.busy else self._workshop.others_now)

    @property
    def _access(self) -> Access:
        return self._workshop.access

    def _look(self, held: Held, campaign: str, step: int) -> dict[str, Any]:
        with held.driven.reading:
            progress = held.driven.progress(step)
            found: dict[str, Any] = {"handle": _handle(campaign, str(step)), "state": progress.state}
            if progress.n_before is not None:
                found["place"] = progress.n_before + 1
            if progress.text:
                found["progress"] = held.shown.told(progress.text)
            if progress.state == "done":
                tree = held.driven.tree
                found |= {"same_as": tree.node(step).same_as, **_result(tree, step, held.shown)}
        return found

    def _finishing(self, held: Held, campaign: str) -> dict[str, Any]:
        with held.driven.reading:
            progress = held.driven.finish_progress
            found: dict[str, Any] = {"handle": _handle(campaign, FINISH), "state": progress.state}
            if progress.state == "done":
                found["claim"] = shown_tree.claim(held.driven.tree)
            elif progress.text:
                found["progress"] = held.shown.told(progress.text)
        return found


def _handle(campaign: str, what: str) -> str:
    return f"{campaign}:{what}"


def _parts(given: verbs.JobVerb) -> tuple[str, str]:
    """Campaign and step, or "finish"."""
    campaign, _, what = given.handle.rpartition(":")
    if campaign and given.campaign not in ("", campaign):
        raise UsageError(f"{given.handle!r} is a job of campaign {campaign!r}, not of {given.campaign!r}")
    return campaign or given.campaign, what


def _state(tree: Tree) -> str:
    if tree.closed is not None:
        return "closed"
    return "finishing" if tree.confirmed or tree.sealed else "open"


def _parent(held: Held, parents: tuple[int, ...]) -> Candidate | None:
    return held.driven.tree.node(parents[0]).candidate if parents else None


def _result(tree: Tree, step: int, eyes: shown.Shown) -> dict[str, Any]:
    node = tree.node(step)
    threads = tree.opened.settings.n_threads if tree.opened else None
    return {
        **({"n_threads": threads} if node.verdict and node.verdict.timing else {}),
        "verdict": eyes.verdict(node.verdict) if node.verdict else None,
        "diagnosis": eyes.diagnosis(node.diagnosis) if node.diagnosis else None,
    }
