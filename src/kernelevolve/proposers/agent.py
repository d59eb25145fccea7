"""The proposer of campaigns that are driven from outside: it has no ideas of its own and says how to connect."""

from __future__ import annotations

from kernelevolve.errors import UsageError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate
from kernelevolve.proposers.base import Tools, without_argument


def make(argument: str, tools: Tools) -> AgentProposer:
    without_argument(AgentProposer.name, argument)
    return AgentProposer()


class AgentProposer:
    """A name for the record. What the agent proposes comes in through the agent protocol, never through here."""

    name = "agent"

    def propose(self, brief: Brief) -> list[Candidate]:
        """Raises UsageError, always. Not a ProposerError: of a campaign that has candidates the loop takes that for "no
        more ideas", and would measure the finalists and close it, which is the agent's to decide."""
        raise UsageError(
            "this campaign is driven by an agent, so nothing is proposed here; connect one with "
            "`kernelevolve serve --mcp stdio` or use `kernelevolve agent VERB`, then call get_brief and propose"
        )
