"""`command:FILE.toml`: a command-line agent writes the candidates.

It is the user's own program: kernelevolve gives it a scratch folder and ends it with everything it started, but does
not lock it up. It can read what its user can read and reach what its user can reach.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernelevolve.errors import MachineError, RecordError, ToolMissingError, UsageError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.model.value import canonical_json, sha256_text
from kernelevolve.proposers.base import Tools, Usage
from kernelevolve.proposers.command.handin import read_candidates, read_folder, read_used
from kernelevolve.proposers.command.question import ANSWER, TEMPORARY, question_text, write_scratch
from kernelevolve.proposers.command.run import Ran, run_command
from kernelevolve.proposers.command.spec import PLACEHOLDERS, CommandSpec, Cost, read_spec
from kernelevolve.proposers.llm.redact import Redactor

Render = Callable[[Brief, int], str]
"""A brief as text, of at most so many estimated tokens."""
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.I)
_LAST_CHARS = 300


def make(argument: str, tools: Tools) -> CommandProposer:
    if not argument:
        raise UsageError("proposer 'command' needs a file that says how it is started: command:FILE.toml")
    return CommandProposer(read_spec(Path(argument)), tools)


class CommandProposer:
    """One run of the command per question, in a scratch folder of its own. Raises RecordError for an answer that
    cannot be used, ToolMissingError when the program is not there, SpentError when a run could pass a limit."""

    def __init__(self, spec: CommandSpec, tools: Tools, *, render: Render | None = None) -> None:
        self.name = f"command:{spec.name}"
        self._spec = spec
        self._tools = tools
        self._render = render or _rendered
        self._environment = spec.variables(tools.environ)
        secrets = (value for name, value in self._environment.items() if _SECRET.search(name))
        self._redactor = Redactor(secrets)

    def propose(self, brief: Brief) -> list[Candidate]:
        text = question_text(brief, self._render(brief, self._tools.brief_tokens))
        request = sha256_text(canonical_json([self._spec.model_dump(mode="json"), text, brief.ask, brief.seed]))
        paid = self._tools.ledger.answer(request)
        if paid is not None:
            return [Candidate.model_validate(item) for item in json.loads(paid)]
        self._check_program()
        cost = self._spec.cost or Cost(usd=0.0)
        call = self._tools.ledger.reserve(
            ask=brief.ask, model=self.name, request=request, tokens=cost.tokens, usd=cost.usd
        )  # fmt: skip
        usage = Usage(outcome="failed", tokens_in=cost.tokens, usd=cost.usd, message="the run was cut off")
        try:
            found, usage = self._run(brief, text, request, usage)
        except RecordError as error:  # nothing was started
            usage = Usage(outcome="failed", usd=0.0, message=str(error))
            raise
        except OSError as error:
            raise MachineError(f"{self.name}: the scratch folder: {error}") from error
        finally:
            self._tools.ledger.settle(call, usage)
        if usage.outcome == "failed":
            raise RecordError(f"{self.name}: {usage.message}")
        return found

    def _check_program(self) -> None:
        program = self._spec.words(dict.fromkeys(PLACEHOLDERS, ""))[0]
        if shutil.which(program, path=self._environment.get("PATH")) is None:
            raise ToolMissingError(f"{self.name}: program '{program}' is not installed, or not in PATH")

    def _run(self, brief: Brief, text: str, request: str, most: Usage) -> tuple[list[Candidate], Usage]:
        """What came of it. `most`: taken for the cost where the command does not say what it took."""
        with tempfile.TemporaryDirectory(prefix="kernelevolve-command-", ignore_cleanup_errors=True) as name:
            folder = Path(name).resolve()
            places = write_scratch(folder, brief, text)
            self._tools.say(f"{self.name} is at work on question {brief.ask}")
            ran = run_command(
                self._spec.words(places), folder=folder, timeout_s=self._spec.timeout_s,
                environment={**self._environment, "TMPDIR": str(folder / TEMPORARY)},
            )  # fmt: skip
            self._keep_transcript(brief, request, ran)
            taken = most
            try:
                files = self._read(folder / ANSWER, ran)
                if (used := read_used(files)) is not None:
                    usd = most.usd if used.usd is None else used.usd
                    taken = replace(most, tokens_in=used.tokens_in, tokens_out=used.tokens_out, usd=usd)
                self._check_end(ran)
                candidates = read_candidates(files, brief, proposer=self.name)
                self._check_leaks(candidates)
            except RecordError as error:
                return [], replace(taken, message=self._redactor.clean(str(error)))
        answer = canonical_json([candidate.model_dump(mode="json") for candidate in candidates])
        return list(candidates), replace(taken, outcome="answered", answer=answer, message="")

    def _read(self, folder: Path, ran: Ran) -> dict[str, str]:
        try:
            return read_folder(folder)
        except RecordError:
            self._check_end(ran)  # where the run went wrong, that is what to say
            raise

    def _check_end(self, ran: Ran) -> None:
        last = " ".join(ran.output[-4 * _LAST_CHARS :].split())[-_LAST_CHARS:]
        said = f"; its last words: {last}" if last else ""
        if ran.timed_out:
            raise RecordError(f"did not end within {self._spec.timeout_s:g} s and was killed{said}")
        if ran.code != 0:
            raise RecordError(f"ended with exit code {ran.code}{said}")

    def _check_leaks(self, candidates: tuple[Candidate, ...]) -> None:
        for candidate in candidates:
            if self._redactor.clean(text := candidate.to_json()) != text:
                raise RecordError("the answer holds a key of its environment; it is not kept")

    def _keep_transcript(self, brief: Brief, request: str, ran: Ran) -> None:
        folder = self._tools.transcripts
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        end = "killed when its time was up" if ran.timed_out else f"exit code {ran.code}"
        head = f"{self.name}, question {brief.ask}: {end} after {ran.seconds:.1f} s\n$ {' '.join(self._spec.argv)}\n\n"
        path = folder / f"ask-{brief.ask:06d}-{request[:8]}.txt"
        path.write_text(self._redactor.clean(head + ran.output), encoding="utf-8", errors="replace")


def _rendered(brief: Brief, tokens: int) -> str:
    from kernelevolve.briefs.render import render

    return render(brief, tokens=tokens).text
