"""What a training is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from longtail.errors import ConfigError
from longtail.train.settings import Learning, Optim, StagedLearning, as_optim, with_many_steps


@pytest.mark.parametrize(
    ("documents", "batch"),
    [
        (100_000, 256),  # 391 steps an epoch: nothing to mend
        (10_240, 256),  # exactly forty
        (10_239, 255),  # one document fewer, and the batch gives one up
        (400, 10),
        (160, 4),
        (100, 4),  # never below four, whatever the steps
        (0, 4),
    ],
)
def test_batches_shrink_until_an_epoch_has_forty_steps(documents: int, batch: int):
    assert with_many_steps(Optim(batch_size=256), documents).batch_size == batch


def test_a_batch_that_is_small_already_is_not_made_larger():
    assert with_many_steps(Optim(batch_size=2), 50).batch_size == 2


def test_nothing_but_the_batch_changes():
    told = Optim(lr=0.5, epochs=3, batch_size=256, keep="P@1")
    assert with_many_steps(told, 400) == replace(told, batch_size=10)


def test_each_of_several_trainings_has_its_own_values_or_those_of_all():
    staged = StagedLearning(epochs=(2, 8), lr=(0.1,), precision=("auto", "fp32"), batch_size=7, average_from=2)
    staged.check_stages(2)
    expected = Optim(epochs=8, lr=0.1, row_lr=0.01, precision="fp32", batch_size=7, average_from=2, keep="R@10")
    assert staged.stage(1, keep="R@10") == expected
    assert staged.stage(0) == replace(expected, epochs=2, precision="auto", keep="last")
    assert as_optim(Learning(epochs=3, batch_size=7)) == Optim(epochs=3, batch_size=7)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"epochs": (1, 2)}, "optim.epochs has 2 values: write one for all stages, or 3"), ({"lr": ()}, "has 0 values"),
     ({"row_lr": (1.0, 0.0, 1.0)}, "row_lr = 0.0"), ({"epochs": (0,)}, "epochs = 0")],
)  # fmt: skip
def test_values_that_are_not_one_for_each_training_are_refused(wrong: dict, told: str):
    with pytest.raises(ConfigError, match=told):
        StagedLearning(**wrong).check_stages(3)


def test_validation_reports_a_metric_also_where_the_last_weights_are_kept():
    assert (Optim().metric, Optim(keep="P@3").metric) == ("nDCG@5", "P@3")
