from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from longtail import progress
from longtail.corpus import PAD
from longtail.errors import ConfigError, RunError
from longtail.ranking import Ranking
from longtail.train.loop import rank, seeded
from longtail.train.optim import Group, Optim, adamw
from longtail.train.run import Run
from tests.terminal import on_a_terminal
from tests.unit.train.runs import opened
from tests.unit.train.tiny import N_LABELS, Plain, Points, Tiny, same_weights, trained

# 48 documents: five batches an epoch, the last of 8
QUICK = Optim(lr=0.05, epochs=4, batch_size=10, schedule="constant", keep="nDCG@5")
BATCHES = 4 * 5


@pytest.fixture(autouse=True)
def checkpoint_after_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "checkpoint_every", 0)


def log_of(directory: Path) -> list[dict]:
    return [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]


# -- learning -----------------------------------------------------------------------------------------------------


def test_it_learns_what_was_planted(tmp_path):
    model = trained(tmp_path, Tiny(), Optim(schedule="constant", lr=0.05, epochs=30, batch_size=16), documents=120)
    answer = rank(model, Points.planted(60, seed=9), k=1, batch_size=7)
    assert np.mean(answer.labels[:, 0] == np.arange(60) % N_LABELS) > 0.95


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path):
    first, again, other = (
        trained(tmp_path / name, Tiny(), QUICK, seed=seed) for name, seed in (("a", 3), ("b", 3), ("c", 4))
    )
    assert same_weights(first, again)
    assert not same_weights(first, other)


def test_it_leaves_the_callers_randomness_alone(tmp_path):
    torch.manual_seed(11)
    expected = torch.rand(3)
    model = Tiny()
    torch.manual_seed(11)
    trained(tmp_path, model, QUICK)
    assert torch.equal(torch.rand(3), expected)


def test_a_models_first_weights_can_be_drawn_from_a_seed():
    def drawn(seed: int) -> torch.Tensor:
        with seeded(seed):
            return nn.Linear(3, 3).weight

    before = torch.get_rng_state()
    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("documents", [32, 30])
def test_four_batches_of_eight_step_as_one_of_thirty_two(tmp_path, documents):
    optim = Optim(schedule="constant", lr=0.5, epochs=5, batch_size=8)
    small = trained(tmp_path / "small", Plain(accumulate=4), optim, documents)
    large = trained(tmp_path / "large", Plain(), replace(optim, batch_size=32), documents)
    assert torch.allclose(small.linear.weight, large.linear.weight, rtol=0, atol=1e-6)
    assert not torch.allclose(small.linear.weight, Plain().linear.weight, atol=1e-2)


def test_what_is_left_at_an_epochs_end_makes_a_step_of_its_own(tmp_path):
    """Ten batches in steps of four: 4, 4 and 2, each with the mean gradient of its documents."""
    optim = Optim(schedule="constant", lr=0.5, epochs=1, batch_size=3)
    model = trained(tmp_path, Plain(accumulate=4), optim, documents=29)
    batches = [np.array(rows) for rows in model.told("batch")]
    by_hand, points = Plain(), Points.planted(29)
    for part in (batches[:4], batches[4:8], batches[8:]):
        loss = by_hand.loss(points.batch(np.concatenate(part), np.random.default_rng(0)))
        for parameter, gradient in zip(by_hand.parameters(), torch.autograd.grad(loss, list(by_hand.parameters()))):
            parameter.data -= 0.5 * gradient
    assert torch.allclose(model.linear.weight, by_hand.linear.weight, atol=1e-6)


def test_groups_step_at_their_own_pace_and_rate(tmp_path):
    class TwoGroups(Plain):
        def groups(self, optim: Optim) -> list[Group]:
            weight = torch.optim.SGD([self.linear.weight], lr=optim.lr)
            return [Group("weight", weight, accumulate=3), Group("bias", torch.optim.SGD([self.linear.bias], lr=0.01))]

        def loss(self, batch):
            self.diary.append(("weight", self.linear.weight.detach().clone()))
            self.diary.append(("bias", self.linear.bias.detach().clone()))
            return super().loss(batch)

    model = trained(tmp_path, TwoGroups(), Optim(schedule="constant", lr=0.5, epochs=1, batch_size=6))  # eight batches
    moved = {
        name: [not torch.equal(*pair) for pair in zip(model.told(name), model.told(name)[1:])]
        for name in ("weight", "bias")
    }
    assert moved["weight"] == [False, False, True, False, False, True, False]
    assert all(moved["bias"])
    assert max(model.told("bias")[1].abs()) < 0.01


@pytest.mark.parametrize(("precision", "fast", "expected"), [
    ("bf16", False, torch.bfloat16), ("auto", True, torch.bfloat16), ("auto", False, torch.float32)
])  # fmt: skip
def test_bfloat16_learns_and_keeps_float32_weights(precision, fast, expected, tmp_path, monkeypatch):
    """Asked for, or where the processor has instructions for it."""
    monkeypatch.setattr("longtail.train.loop.multiplies_bfloat16", lambda device: fast)

    class Precision(Tiny):
        def rank(self, batch, k):
            self.diary.append(("type", self.linear(batch.points).dtype))
            return super().rank(batch, k)

    optim = Optim(schedule="constant", lr=0.05, epochs=30, batch_size=16, precision=precision)
    model = trained(tmp_path, Precision(), optim, documents=120, valid=Points.planted(60, seed=9))
    assert set(model.told("type")) == {expected}
    assert model.linear.weight.dtype == torch.float32
    answer = rank(model, Points.planted(60, seed=9), k=1, batch_size=60)
    assert np.mean(answer.labels[:, 0] == np.arange(60) % N_LABELS) > 0.95


class Rows(Plain):
    """Label rows that are updated only when a batch touches them, as the shortlist methods have."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(60, 1, sparse=True)
        nn.init.zeros_(self.table.weight)

    def groups(self, optim: Optim) -> list[Group]:
        dense = adamw(self.linear.parameters(), optim.lr)
        return [Group("dense", dense), Group("rows", torch.optim.SparseAdam([self.table.weight], lr=0.1), accumulate=2)]

    def loss(self, batch):
        return super().loss(batch) + self.table(batch.rows).sigmoid().mean()


def test_sparse_rows_move_only_where_a_batch_touched_them(tmp_path):
    rows = trained(tmp_path, Rows(), QUICK).table.weight.detach().flatten()
    assert (rows[:48] < -0.1).all()
    assert (rows[48:] == 0).all()


# -- averaging ----------------------------------------------------------------------------------------------------


class Diary(Plain):
    def loss(self, batch):
        self.diary.append(("weight", self.linear.weight.detach().clone()))
        return super().loss(batch)


def test_the_average_is_the_mean_of_late_weights_and_is_what_remains(tmp_path):
    optim = Optim(schedule="constant", lr=0.5, epochs=4, batch_size=10, average_from=2, average_every=3)
    model = trained(tmp_path / "averaged", Diary(), optim)
    alone = trained(tmp_path / "alone", Diary(), replace(optim, average_from=None))
    # After batch 10, 13, 16 and 19: what the loss of the next batch saw.
    expected = torch.stack([model.told("weight")[batches] for batches in (10, 13, 16, 19)]).mean(0)
    assert torch.allclose(model.linear.weight, expected, atol=1e-7)
    assert not torch.allclose(alone.linear.weight, expected, atol=1e-4)
    assert model.epoch == 3  # a buffer keeps its present value


def test_an_average_that_would_begin_after_the_last_epoch_is_warned_of(tmp_path):
    trained(tmp_path, Tiny(), Optim(epochs=2, batch_size=10, average_from=3))
    assert [line["text"] for line in log_of(tmp_path) if line["event"] == "warning"] == [
        "weights are not averaged: average_from = 3 of 2 epochs"
    ]


def test_validation_judges_the_average_and_training_goes_on_without_it(tmp_path):
    optim = Optim(schedule="constant", lr=0.5, epochs=4, batch_size=10, average_from=1, keep="last")
    model = trained(tmp_path / "averaged", Diary(), optim, valid=Points.planted(12))
    alone = trained(tmp_path / "alone", Diary(), replace(optim, average_from=None))
    assert all(torch.equal(*pair) for pair in zip(model.told("weight"), alone.told("weight"), strict=True))
    seen = model.told("rank")  # two batches each time
    assert torch.allclose(seen[2], torch.stack([alone.told("weight")[at] for at in (5, 10)]).mean(0), atol=1e-7)
    assert torch.equal(seen[-1], model.linear.weight)


def test_a_group_can_stay_out_of_the_average(tmp_path):
    class OneStaysOut(Diary):
        def groups(self, optim: Optim) -> list[Group]:
            weight = torch.optim.SGD([self.linear.weight], lr=optim.lr)
            return [
                Group("weight", weight, average=False),
                Group("bias", torch.optim.SGD([self.linear.bias], lr=optim.lr)),
            ]

    optim = Optim(schedule="constant", lr=0.5, epochs=3, batch_size=10, average_from=0)
    model = trained(tmp_path / "averaged", OneStaysOut(), optim)
    alone = trained(tmp_path / "alone", OneStaysOut(), replace(optim, average_from=None))
    assert torch.equal(model.linear.weight, alone.linear.weight)
    assert not torch.equal(model.linear.bias, alone.linear.bias)


# -- validation ---------------------------------------------------------------------------------------------------


class Peaks(Tiny):
    """Right in epoch 2, wrong in all others."""

    def rank(self, batch, k):
        truth = batch.targets.argmax(1).numpy() if self.epoch == 2 else np.full(len(batch.targets), N_LABELS - 1)
        return Ranking.of_rows([(np.array([label]), np.array([0.9])) for label in truth], k)


def test_the_best_weights_are_kept(tmp_path):
    optim = replace(QUICK, epochs=6)
    model = trained(tmp_path / "best", Peaks(), optim, valid=Points.planted(12))
    part = trained(tmp_path / "part", Peaks(), replace(optim, epochs=3))
    assert model.epoch == 2
    assert same_weights(model, part)


def test_the_last_weights_are_kept_when_told_so(tmp_path):
    model = trained(tmp_path, Peaks(), replace(QUICK, epochs=6, keep="last"), valid=Points.planted(12))
    assert model.epoch == 5


def test_validation_comes_after_every_epoch(tmp_path):
    trained(tmp_path, Tiny(), QUICK, valid=Points.planted(12))
    assert [line["step"] for line in log_of(tmp_path) if line["event"] == "validation"] == [5, 10, 15, 20]


def test_the_run_remembers_how_the_kept_weights_did(tmp_path):
    for _ in range(2):  # trained, then read
        with opened(tmp_path) as run:
            optim = replace(QUICK, epochs=6, keep="P@1")
            run.train("tiny", Peaks(), Points.planted(48), optim, seed=0, valid=Points.planted(12))
            assert run.validation["P@1"] == pytest.approx(100)
            assert run.validation["nDCG@5"] == pytest.approx(100)


def test_filtered_pairs_do_not_count_in_validation(tmp_path):
    class NamesTheFilteredFirst(Tiny):
        def rank(self, batch, k):
            labels = batch.targets.argmax(1).numpy()
            return Ranking.of_rows([(np.array([(at + 1) % N_LABELS, at]), np.array([0.9, 0.8])) for at in labels], k)

    points = Points.planted(12)
    hidden = replace(points, filtered=sp.csr_array(np.roll(points.labels.toarray(), 1, axis=1)))
    found = []
    for name, valid in (("all", points), ("filtered", hidden)):
        with opened(tmp_path / name) as run:
            run.train("tiny", NamesTheFilteredFirst(), Points.planted(48), QUICK, seed=0, valid=valid)
            found.append(run.validation["P@1"])
    assert found == pytest.approx([0, 100])


def test_no_validation_documents_is_no_validation(tmp_path):
    model = trained(tmp_path / "none", Tiny(), QUICK, valid=Points.planted(0))
    assert same_weights(model, trained(tmp_path / "without", Tiny(), QUICK))


@pytest.mark.parametrize("keep", ["F1", "best", "P@0", "nDCG5", "PSP@5", ""])
def test_an_unknown_metric_is_refused_before_anything_is_trained(keep):
    with pytest.raises(ConfigError, match=f"keep = '{keep}': write last, or a metric such as nDCG@5, P@1 or R@10"):
        replace(QUICK, keep=keep)


def test_ranking_answers_in_the_documents_order_whatever_the_batches():
    class ByLength(Points):
        lengths = property(lambda self: np.arange(len(self.points)) * 7 % 5)

    model, points = Tiny(), Points.planted(23)
    model.train()
    answers = [rank(model, ByLength(points.points, points.labels), 3, size) for size in (1, 4, 23)]
    whole = rank(model, points, 3, 23)
    assert all(np.array_equal(answer.labels, whole.labels) for answer in answers)
    assert model.training, "ranking leaves the model as it was"
    assert rank(model, Points.planted(0), 3, 4).labels.shape == (0, 3)


def test_asking_for_more_labels_than_there_are_pads():
    assert (rank(Tiny(), Points.planted(2), 9, 4).labels[:, N_LABELS:] == PAD).all()


# -- going on after a stop ----------------------------------------------------------------------------------------


class Killed(Exception):
    pass


def dying(model: Tiny, after: int) -> Tiny:
    """The model, whose process dies in the batch after so many."""
    learn = model.loss

    def loss(batch):
        if len(model.told("batch")) == after:
            raise Killed
        return learn(batch)

    model.loss = loss
    return model


EVERYTHING = replace(QUICK, schedule="linear", warmup=0.3, weight_decay=0.1, average_from=1, average_every=2)


class TwoAStep(Tiny):
    """Steps every two batches."""

    def groups(self, optim: Optim) -> list[Group]:
        return [Group("all", adamw(self.parameters(), optim.lr, optim.weight_decay), accumulate=2)]


@pytest.mark.parametrize("kind", [TwoAStep, Rows])
def test_wherever_it_dies_it_ends_with_the_same_bits(tmp_path, kind):
    expected = trained(tmp_path / "whole", kind(), EVERYTHING, valid=Points.planted(12))
    for after in (0, 1, 4, 5, 6, 9, 12, 13, 18, 19):
        with pytest.raises(Killed):
            trained(tmp_path / str(after), dying(kind(), after), EVERYTHING, valid=Points.planted(12))
        resumed = trained(tmp_path / str(after), kind(), EVERYTHING, valid=Points.planted(12))
        assert same_weights(resumed, expected), f"died after {after} batches"
        # With steps of two batches, a checkpoint is behind the second, or behind an epoch's last.
        epoch, at = divmod(after, 5)
        assert len(resumed.told("batch")) == BATCHES - 5 * epoch - at // 2 * 2


def test_an_epoch_starts_once_and_its_buffers_survive(tmp_path):
    with pytest.raises(Killed):
        trained(tmp_path, dying(Tiny(), 12), QUICK)
    resumed = trained(tmp_path, Tiny(), QUICK)
    assert resumed.told("epoch") == [3], "the third epoch had begun, and its buffer came with the checkpoint"


def test_a_batch_is_told_what_share_of_the_training_is_behind_it_also_after_a_kill(tmp_path):
    with pytest.raises(Killed):
        trained(tmp_path, dying(Tiny(), 12), QUICK)
    resumed = trained(tmp_path, Tiny(), QUICK)
    assert resumed.told("done") == [at / BATCHES for at in range(12, BATCHES)]


def test_sigkill_at_random_moments_changes_nothing(tmp_path):
    command = [sys.executable, "-m", "tests.unit.train.killed", str(tmp_path), "5"]
    kills = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True).stdout
    assert int(kills) > 0
    whole, resumed = (
        trained(tmp_path / name, TwoAStep(), EVERYTHING, valid=Points.planted(12)) for name in ("whole", "killed")
    )
    assert same_weights(resumed, whole)
    left = [path.name for path in (tmp_path / "killed/training/tiny").iterdir()]
    assert left == ["final"], "nothing half-written is left"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_stop_is_granted_between_steps_and_loses_nothing(tmp_path, number, monkeypatch):
    class Asked(TwoAStep):
        def loss(self, batch):
            if len(self.told("batch")) == 6:
                os.kill(os.getpid(), number)
            return super().loss(batch)

    monkeypatch.setattr(Run, "checkpoint_every", 1e6)
    handler = signal.getsignal(number)
    model = Asked()
    with pytest.raises(KeyboardInterrupt, match="tiny stopped in epoch 2, batch 2 of 5, and was saved"):
        trained(tmp_path / "asked", model, EVERYTHING)
    assert len(model.told("batch")) == 7, "the step of two batches was finished"
    assert signal.getsignal(number) is handler
    resumed = trained(tmp_path / "asked", TwoAStep(), EVERYTHING)
    assert len(resumed.told("batch")) == BATCHES - 7
    assert same_weights(resumed, trained(tmp_path / "whole", TwoAStep(), EVERYTHING))


def test_it_trains_in_a_thread_too(tmp_path):
    done = []
    worker = threading.Thread(target=lambda: done.append(trained(tmp_path, Tiny(), QUICK)))
    worker.start()
    worker.join()
    assert len(done[0].told("batch")) == BATCHES


def test_a_finished_training_is_read_not_repeated(tmp_path):
    first = trained(tmp_path, Tiny(), QUICK)
    again = trained(tmp_path, Tiny(), QUICK)
    assert same_weights(first, again)
    assert not again.diary
    assert not again.training


def test_a_training_in_parts_is_the_same_training(tmp_path):
    whole = trained(tmp_path / "whole", TwoAStep(), EVERYTHING)
    for part in (1, 3, None):
        parted = trained(tmp_path / "parts", TwoAStep(), EVERYTHING, until=part)
        assert parted.epoch == (part or 4) - 1
    assert same_weights(parted, whole)


def test_parts_may_read_other_batches_and_survive_a_death(tmp_path):
    """As LightDXML does: between parts, documents get new shortlists."""

    def cycle(directory: Path, model: Tiny) -> Tiny:
        with opened(directory) as run:
            run.train("tiny", model, Points.planted(48), QUICK, seed=3, until=2)
            return run.train("tiny", model, Points.planted(48, seed=5), QUICK, seed=3)

    expected = cycle(tmp_path / "whole", Tiny())
    for after in (4, 10, 13):
        with pytest.raises(Killed):
            cycle(tmp_path / str(after), dying(Tiny(), after))
        assert same_weights(cycle(tmp_path / str(after), Tiny()), expected)


def test_a_checkpoint_of_another_training_is_refused_by_name(tmp_path):
    with pytest.raises(Killed):
        trained(tmp_path, dying(Tiny(), 7), QUICK)
    with pytest.raises(RunError, match=r"another training: lr was 0\.05, now 0\.06; documents was 48, now 50"):
        trained(tmp_path, Tiny(), replace(QUICK, lr=0.06), documents=50)


def test_weights_of_another_shape_are_refused(tmp_path):
    with pytest.raises(Killed):
        trained(tmp_path, dying(Tiny(), 7), QUICK)
    with pytest.raises(RunError, match=r"another shape \(table\.weight\)"):
        trained(tmp_path, Rows(), QUICK)


# -- going wrong --------------------------------------------------------------------------------------------------


class Diverges(Tiny):
    """Its loss is infinite in batch 8."""

    def loss(self, batch):
        return super().loss(batch) * (math.inf if len(self.told("batch")) == 8 else 1)


def test_an_infinite_loss_stops_with_advice_and_leaves_the_last_good_checkpoint(tmp_path):
    with pytest.raises(RunError, match=r"tiny: the loss became inf in epoch 2, batch 3\. .* \(row_lr = 0\.01 now\)"):
        trained(tmp_path, Diverges(), QUICK)
    resumed = trained(tmp_path, Tiny(), QUICK)
    assert len(resumed.told("batch")) == BATCHES - 7
    assert same_weights(resumed, trained(tmp_path / "whole", Tiny(), QUICK))


def test_weights_that_are_not_finite_are_never_saved(tmp_path):
    class BreaksItsGradient(Tiny):
        def loss(self, batch):
            loss = super().loss(batch)
            if len(self.told("batch")) == 8:
                self.linear.bias.register_hook(lambda gradient: gradient * math.nan)
            return loss

    with pytest.raises(RunError, match="the weights are no longer finite"):
        trained(tmp_path, BreaksItsGradient(), QUICK)
    assert len(trained(tmp_path, Tiny(), QUICK).told("batch")) == BATCHES - 7


def test_weights_that_break_in_the_last_step_are_never_kept(tmp_path, monkeypatch):
    class BreaksInTheEnd(Tiny):
        def loss(self, batch):
            loss = super().loss(batch)
            if len(self.told("batch")) == BATCHES:
                self.linear.bias.register_hook(lambda gradient: gradient * math.nan)
            return loss

    monkeypatch.setattr(Run, "checkpoint_every", 1e9)
    with pytest.raises(RunError, match="the weights are no longer finite"):
        trained(tmp_path, BreaksInTheEnd(), QUICK)
    assert not (tmp_path / "training" / "tiny" / "final").exists()


# -- telling ------------------------------------------------------------------------------------------------------


def test_it_says_the_time_left_after_a_few_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0)
    monkeypatch.setattr(progress, "LONG", 0)
    lines: list[str] = []
    with opened(tmp_path, say=lines.append) as run:
        run.train("tiny", Tiny(), Points.planted(48), QUICK, seed=0, valid=Points.planted(12))
    spoken = [line for line in lines if "left" in line]
    assert len(spoken) == 1
    assert spoken[0].startswith("tiny: epoch 2 of 4, loss 0.")
    assert all(part in spoken[0] for part in ("documents/s", "P@1 ", "nDCG@5 ", "about 0 seconds left"))


def test_the_log_holds_loss_speed_memory_and_every_metric(tmp_path):
    trained(tmp_path, Tiny(), QUICK, valid=Points.planted(12))
    lines = {line["event"]: line for line in log_of(tmp_path)}
    assert lines["training"].keys() >= {"time", "memory", "loss", "documents_per_second", "seconds_left", "epoch"}
    assert lines["training"]["lr_all"] == QUICK.lr
    assert lines["validation"].keys() >= {"P@1", "P@5", "nDCG@5", "PSP@5", "R@5", "step", "seconds"}
    assert lines["trained"]["steps"] == BATCHES


def test_a_terminal_gets_a_bar(tmp_path):
    with on_a_terminal() as terminal, opened(tmp_path, say=lambda line: None) as run:
        run.train("tiny", Tiny(), Points.planted(48), QUICK, seed=0)
        assert terminal.is_as_before
    assert "━" in terminal.seen and "tiny: loss 0." in terminal.seen


def test_a_file_gets_no_bar(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # which is about colours, as in the log of a build
    with opened(tmp_path, say=lambda line: None) as run:
        run.train("tiny", Tiny(), Points.planted(48), QUICK, seed=0)
    assert capsys.readouterr().err == ""


def test_nobody_listening_gets_no_bar(tmp_path):
    with on_a_terminal() as terminal:
        trained(tmp_path, Tiny(), QUICK)
    assert terminal.getvalue() == ""
