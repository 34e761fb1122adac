"""What is recalled is what was answered, to the same question, by the same solver, and nothing else."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import z3

from poolproof.proofs.answers import Answers, why_not
from poolproof.proofs.budget import Budget
from poolproof.proofs.checking import check
from poolproof.proofs.registry import find
from poolproof.proofs.solving import Answer, Question, Reply, ask, written

from .toys import toy

X = z3.Int("x")
QUESTION = Question(("x",), (("x is large", X >= 10),), (X <= 20,))
NONE = Question(("x",), (("x is large", X >= 10), ("x is odd", X % 2 == 1)), (X <= 5,))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "made" / "answers.sqlite3"


@pytest.mark.parametrize("question", [QUESTION, NONE])
def test_a_reply_is_recalled_as_it_was_given(file: Path, question: Question) -> None:
    asked, recalling = Answers(file), Answers(file)
    given = ask(question, Budget(), asked)
    recalled = ask(question, Budget(), recalling)
    assert given == recalled == ask(question, Budget())
    assert (asked.asked, asked.recalled) == (1, 0)
    assert (recalling.asked, recalling.recalled) == (1, 1)


@pytest.mark.parametrize(
    "other",
    [
        QUESTION.also(X != 3),
        replace(QUESTION, tracked=(("x is great", X >= 10),)),
        replace(QUESTION, variables=("x", "y")),
    ],
)
def test_another_question_is_another_text(other: Question) -> None:
    assert written(other, Budget()) != written(QUESTION, Budget())


def test_another_budget_or_seed_is_another_text() -> None:
    texts = {written(QUESTION, budget) for budget in (Budget(), Budget(rlimit=1), Budget(seed=1))}
    assert len(texts) == 3
    assert all(z3.get_full_version() in text for text in texts)


def test_an_unknown_is_asked_again(file: Path) -> None:
    answers = Answers(file)
    for _ in range(2):
        assert answers.reply("?", lambda: Reply(Answer.UNKNOWN, 1)).answer is Answer.UNKNOWN
    assert answers.recalled == 0


def test_a_reply_that_was_altered_is_asked_again(file: Path) -> None:
    ask(QUESTION, Budget(), Answers(file))
    with sqlite3.connect(file) as store:
        store.execute("""UPDATE answers SET reply = replace(reply, '"sat"', '"unsat"')""")
    answers = Answers(file)
    assert ask(QUESTION, Budget(), answers).answer is Answer.SATISFIABLE
    assert answers.recalled == 0


def test_a_damaged_file_is_begun_anew(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is no database" * 100)
    assert why_not(file) is None
    ask(QUESTION, Budget(), Answers(file))
    answers = Answers(file)
    ask(QUESTION, Budget(), answers)
    assert answers.recalled == 1


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert why_not(tmp_path / "file" / "answers.sqlite3") is not None
    assert why_not(tmp_path) is not None


@pytest.mark.parametrize("name", ["window_stays_within_cap", "window_with_any_lookahead_stays_within_cap"])
def test_a_theorem_comes_out_the_same_with_its_answers_recalled(file: Path, name: str) -> None:
    theorem = find(name)
    first, second = check(theorem, answers=Answers(file)), check(theorem, answers=Answers(file))
    assert first == second == check(theorem)
    assert second.recalled == second.asked == first.asked > first.recalled


def test_a_false_claim_is_not_proved_by_answers_about_a_true_one(file: Path) -> None:
    check(toy(), answers=Answers(file))
    surviving = toy(mutants=(toy().claim,))
    assert check(surviving, answers=Answers(file)) == check(surviving)
