"""Count the transitions per second of the exhaustive search, and name what bounds it.

Run `python bench/explore.py`. Two requests, at most four usable blocks, aborts at any time, every promised invariant
after every step. The time is that of the process, so that other work on the machine does not count.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable

from poolproof.oracle import Submission
from poolproof.oracle.explore import Exploration, explore
from poolproof.spec import SOUND, Deployment, FullAttention, Group, SlidingWindow

WINDOW = Deployment((Group(SlidingWindow(1, 2)),), 120, 2, blocks=5)
DRAFTS = Deployment((Group(SlidingWindow(2, 2)),), 100, 3, blocks=5, lookahead=2)
FULL = Deployment((Group(FullAttention(16)),), 64, 3, blocks=5)

SPACES: dict[str, Callable[[], Exploration]] = {
    "one window": lambda: explore(WINDOW, SOUND, (Submission("a", 40, 20), Submission("b", 30, 60)), aborts=True),
    "drafts": lambda: explore(DRAFTS, SOUND, (Submission("a", 20, 60), Submission("b", 20, 65)), aborts=True),
    "full": lambda: explore(FULL, SOUND, (Submission("a", 20, 20), Submission("b", 25, 15)), aborts=True),
}


def main() -> None:
    """Print the size of each state space, its rate, and the functions that take most of the time."""
    for name, run in SPACES.items():
        run()
        begun = time.process_time()
        rounds = [run() for _ in range(5)]
        spent = time.process_time() - begun
        done = sum(found.transitions for found in rounds)
        print(f"{name}: {rounds[0].states} states, {rounds[0].transitions} transitions, {done / spent:,.0f} per second")
    profile = cProfile.Profile()
    profile.runcall(SPACES["drafts"])
    stats = pstats.Stats(profile).sort_stats("cumulative")
    wanted = "copy|snapshot|key|schedule|settle|_check"
    stats.print_stats(f"oracle.*({wanted})")


if __name__ == "__main__":
    main()
