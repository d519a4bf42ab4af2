"""What a training is told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from longtail.train.settings import Optim, Pace, Steps, with_many_steps


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


def test_a_training_is_put_together_from_settings_in_several_places():
    """What a method's own class of settings has more is none of the loop's business."""

    @dataclass(frozen=True)
    class Module(Pace):
        dropout: float = 0.2

    told = Optim.of(Module(epochs=3, row_lr=0.5), Steps(batch_size=7, average_from=2), keep="R@10")
    assert told == Optim(epochs=3, row_lr=0.5, batch_size=7, average_from=2, keep="R@10")


def test_validation_reports_a_metric_also_where_the_last_weights_are_kept():
    assert (Optim().metric, Optim(keep="P@3").metric) == ("nDCG@5", "P@3")
