"""A model behind an API as a proposer: one brief, one call, one candidate; one more call to repair an answer."""

from __future__ import annotations

from kernelevolve.briefs.render import render
from kernelevolve.errors import ProposerError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.proposers.base import NoLedger, Tools
from kernelevolve.proposers.llm.address import host_of
from kernelevolve.proposers.llm.answer import parse_answer
from kernelevolve.proposers.llm.base import AnswerError, Endpoint, Message, PatchError, Reply, Request, TruncatedError
from kernelevolve.proposers.llm.caller import Caller
from kernelevolve.proposers.llm.candidate import candidate_from
from kernelevolve.proposers.llm.options import Options, per_minute
from kernelevolve.proposers.llm.prices import price_of
from kernelevolve.proposers.llm.prompt import SYSTEM, first_message, repair_messages
from kernelevolve.proposers.llm.rate import SHARED
from kernelevolve.proposers.llm.retry import Retry, Waiting

REQUESTS, TOKENS = "KERNELEVOLVE_LLM_RPM", "KERNELEVOLVE_LLM_TPM"


class LlmProposer:
    """Keeps nothing between questions, so that it may be asked from several threads at once."""

    def __init__(self, *, options: Options, caller: Caller, tools: Tools) -> None:
        self.name = options.name
        self._options = options
        self._caller = caller
        self._brief_tokens = tools.brief_tokens
        self._shown = tools.shown

    def propose(self, brief: Brief) -> list[Candidate]:
        """One candidate, whatever number is wanted: another question gets another. Raises AnswerError when no
        candidate could be read even after one repair, SpentError, RefusedError, and CallError."""
        self._check_spending()
        written = render(brief, tokens=self._brief_tokens)
        self._shown(brief.ask, written.ids)
        first = first_message(written.text)
        request = self._request((first,))
        reply = self._caller.ask(request, ask=brief.ask, seed=brief.seed)
        try:
            return [self._candidate(reply, brief, "")]
        except AnswerError as error:
            if reply.stop == "refused" or (isinstance(error, PatchError) and error.kind == "patcher"):
                raise  # asking again changes nothing
            why = error
        request = self._request(repair_messages(first, reply.text, why))
        reply = self._caller.ask(request, ask=brief.ask, seed=brief.seed)
        try:
            return [self._candidate(reply, brief, type(why).__name__)]
        except PatchError as error:
            raise PatchError(f"{error} (after one repair; before: {why})", kind=error.kind, path=error.path) from error
        except AnswerError as error:
            raise type(error)(f"{error} (after one repair; before: {why})") from error

    def _request(self, messages: tuple[Message, ...]) -> Request:
        return Request(
            model=self._options.model,
            system=SYSTEM,
            messages=messages,
            max_tokens=self._options.max_tokens,
            temperature=self._options.temperature,
        )

    def _candidate(self, reply: Reply, brief: Brief, repaired: str) -> Candidate:
        if reply.stop == "length":
            raise TruncatedError(f"the answer was cut off at {self._options.max_tokens} tokens")
        if reply.stop == "refused":
            raise AnswerError("the model declined to answer")
        answer = parse_answer(reply.text)
        parameters = {"model": self._options.model} | ({"repaired": repaired} if repaired else {})
        intent = answer.intent or "the model gave no reason"
        origin = Origin(proposer=self.name, recipe="", parameters=parameters, intent=intent)
        return candidate_from(answer, brief=brief, origin=origin)

    def _check_spending(self) -> None:
        if isinstance(self._caller.ledger, NoLedger) and self._caller.price is None:
            raise ProposerError(
                f"{self.name}: its price is not known and nothing counts its tokens: set --max-tokens, or write its "
                "price into a file and name the file in KERNELEVOLVE_PRICES"
            )


def make_llm(options: Options, tools: Tools, endpoint: Endpoint, *, waiting: Waiting | None = None) -> LlmProposer:
    """Raises UsageError for a limit or a price file that cannot be read."""
    rate = SHARED.of(
        endpoint.url, requests=per_minute(tools, REQUESTS), tokens=per_minute(tools, TOKENS), clock=tools.clock,
        sleep=tools.sleep,
    )  # fmt: skip
    caller = Caller(
        name=options.name,
        endpoint=endpoint,
        ledger=tools.ledger,
        price=price_of(options.model, host=host_of(endpoint.url), environ=tools.environ),
        rate=rate,
        retry=Retry(sleep=tools.sleep, say=tools.say, waiting=waiting or Waiting()),
        say=tools.say,
    )
    return LlmProposer(options=options, caller=caller, tools=tools)
