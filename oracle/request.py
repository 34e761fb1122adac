"""One request as the scheduler sees it: how far it is, and what of it is in flight."""

from __future__ import annotations

from .engine import Status, Submission


class Request:
    """Follow one submission through the engine; all counts are tokens.

    Attributes:
        arrival: The submissions before it.
        tokens: Prompt and delivered output.
        computed: What was computed or is being computed.
        drafts: The draft tokens that its next step will verify.
        in_flight: Those computed whose step has not settled.
        placeholders: Output that is promised by steps in flight (asynchronous scheduling only).
        stale: Those in flight that were scheduled before a preemption.
        prefilling: Its last step ended before its last known token.
    """

    __slots__ = (
        "arrival",
        "computed",
        "drafts",
        "in_flight",
        "name",
        "output",
        "placeholders",
        "prefilling",
        "priority",
        "prompt",
        "stale",
        "status",
        "tokens",
    )

    def __init__(self, submission: Submission, arrival: int) -> None:
        self.name = submission.name
        self.prompt = submission.prompt
        self.output = submission.output
        self.priority = submission.priority
        self.arrival = arrival
        self.status = Status.WAITING
        self.tokens = submission.prompt
        self.computed = self.drafts = self.in_flight = self.placeholders = self.stale = 0
        self.prefilling = False

    def copy(self) -> Request:
        """Copy the request."""
        twin = Request.__new__(Request)
        twin.name, twin.prompt, twin.output = self.name, self.prompt, self.output
        twin.priority, twin.arrival, twin.status = self.priority, self.arrival, self.status
        twin.tokens, twin.computed, twin.drafts = self.tokens, self.computed, self.drafts
        twin.in_flight, twin.placeholders, twin.stale = self.in_flight, self.placeholders, self.stale
        twin.prefilling = self.prefilling
        return twin

    def state(self) -> tuple[object, ...]:
        """Show all of it that changes, but for its place in queues."""
        return (
            self.name,
            self.status,
            self.tokens,
            self.computed,
            self.drafts,
            self.in_flight,
            self.placeholders,
            self.stale,
            self.prefilling,
        )

    def urgency(self) -> tuple[int, int]:
        """Order requests by priority, then by arrival; the least is served first."""
        return (self.priority, self.arrival)

    def pending(self) -> int:
        """Count the tokens that it could compute now, drafts and promised output included."""
        return self.tokens + self.drafts + self.placeholders - self.computed

    def ends_in_flight(self) -> bool:
        """Say whether the steps in flight reach its last output even if every draft is rejected."""
        settled = self.computed + 2 - self.placeholders
        return self.placeholders > 0 and settled >= self.prompt + self.output

    def deliver(self, count: int, max_model_len: int) -> bool:
        """Append up to so many output tokens and say whether the last one ends the request."""
        for _ in range(count):
            self.tokens += 1
            if self.tokens >= max_model_len or self.tokens - self.prompt >= self.output:
                return True
        return False
