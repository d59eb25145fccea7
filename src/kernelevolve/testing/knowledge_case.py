"""What every kind of written knowledge must do. Subclass `KnowledgeCase`, write `make_knowledge`, and pytest runs the
rest."""

from __future__ import annotations

from abc import ABC, abstractmethod

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelevolve.briefs.knowledge.base import Knowledge, Query

_QUERIES = st.builds(
    Query,
    platform=st.sampled_from(["", "cpu", "cuda", "abacus"]) | st.text(max_size=8),
    language=st.sampled_from(["", "cpp", "cuda", "triton", "python"]) | st.text(max_size=8),
    bottleneck=st.sampled_from(["", "memory", "compute", "uncoalesced"]) | st.text(max_size=8),
    phase=st.sampled_from(["", "draft", "improve", "repair"]),
    words=st.text(max_size=80) | st.sampled_from(["softmax over rows", "bank conflicts", "NaN", "*) OR 1=1 --"]),
)
_EXAMPLES = settings(
    deadline=None, max_examples=40, database=None, suppress_health_check=[HealthCheck.differing_executors]
)


class KnowledgeCase(ABC):
    empty = False
    """Whether it knows nothing, by design."""

    @abstractmethod
    def make_knowledge(self) -> Knowledge:
        """The same content each time."""

    def question(self) -> Query:
        """One to which it has an answer."""
        return Query(platform="cpu", language="cpp", bottleneck="memory", phase="improve", words="rows memory cache")

    @given(_QUERIES, st.integers(0, 6))
    @_EXAMPLES
    def test_no_query_raises_and_the_limit_holds(self, query: Query, limit: int) -> None:
        found = self.make_knowledge().find(query, limit)
        assert len(found) <= limit
        assert len({snippet.id for snippet in found}) == len(found)
        assert all(snippet.id and snippet.title and snippet.text for snippet in found)

    @given(_QUERIES)
    @_EXAMPLES
    def test_the_same_question_has_the_same_answer(self, query: Query) -> None:
        first = self.make_knowledge()
        found = first.find(query, 5)
        first.find(Query(words="something else"), 3)
        assert first.find(query, 5) == found == self.make_knowledge().find(query, 5)

    def test_fewer_are_the_first_of_more(self) -> None:
        knowledge = self.make_knowledge()
        assert knowledge.find(self.question(), 2) == knowledge.find(self.question(), 6)[:2]

    def test_has_an_answer_to_a_question_it_is_for(self) -> None:
        assert bool(self.make_knowledge().find(self.question(), 1)) is not self.empty
