"""Shares of ranks, seen from one process at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from longtail.encoders.label_texts import TextRows
from longtail.encoders.learn import exchange
from longtail.encoders.learn.bag import Dropout, rows_before
from longtail.encoders.learn.batches import TokenTexts
from longtail.errors import ConfigError
from longtail.features.tokens import Tokens
from longtail.predict.fit import check_ranks
from longtail.rankers.learn.label_rows import LearningRows
from longtail.ranks import ALONE, Ranks, here, seen_as

COUNT = 3


def on_each_rank(make):
    """What `make` returns on each of three ranks."""
    found = []
    for number in range(COUNT):
        with seen_as(Ranks(number, COUNT)):
            found.append(make())
    return found


def test_parts_are_one_after_the_other_and_all_there_is():
    parts = [Ranks(number, COUNT).part(11) for number in range(COUNT)]
    assert [at for part in parts for at in range(11)[part]] == list(range(11))


def test_one_process_is_alone_after_a_block_too():
    with pytest.raises(KeyError), seen_as(Ranks(1, 2)):
        raise KeyError
    assert here() is ALONE


@pytest.mark.parametrize("kind", [nn.init.kaiming_uniform_, nn.init.xavier_uniform_])
def test_ranks_draw_the_rows_that_torch_draws_at_once(kind, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exchange, "DRAWN", 7)
    bound = math.sqrt(6 / (8 if kind is nn.init.kaiming_uniform_ else 50 + 8))

    def drawn() -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(0)
        return exchange.drawn_rows(50, 8, bound), torch.rand(1)

    torch.manual_seed(0)
    whole, later = kind(torch.empty(50, 8)), torch.rand(1)
    parts = on_each_rank(drawn)
    assert torch.equal(torch.cat([rows for rows, _ in parts]), whole)
    assert all(after == later for _, after in parts)


def test_dropout_behind_other_rows_drops_what_one_process_drops():
    values, dropout = torch.ones(10, 4), Dropout(0.5)

    def dropped(first: int) -> torch.Tensor:
        torch.manual_seed(1)
        with rows_before(first):
            return dropout(values[first:])

    assert torch.equal(dropped(6), dropped(0)[6:])
    assert not torch.equal(dropped(6), dropped(0)[:4])


def test_texts_of_a_transformer_are_read_by_parts():
    texts = TokenTexts(Tokens.of([[6], [0, 1], [2, 3, 4], [5]]), pad=9)
    parts = on_each_rank(lambda: texts.batch(np.array([3, 2, 0, 1])))
    assert [part.ids.tolist() for part in parts] == [[[5, 9, 9]], [[2, 3, 4]], [[6, 9, 9], [0, 1, 9]]]
    assert [(part.of.documents, part.of.before) for part in parts] == [(4, 0), (4, 1), (4, 2)]


@pytest.mark.parametrize("rows", [5, 64, 1003])
def test_the_order_of_a_sum_over_rows_is_the_same_for_two_four_and_eight_ranks(
    rows: int, monkeypatch: pytest.MonkeyPatch
):
    torch.manual_seed(0)
    of_outputs, weight = torch.randn(6, rows), torch.randn(rows, 4)

    def added_by(count: int) -> torch.Tensor:
        found: list[torch.Tensor] = []
        for number in range(count):
            with seen_as(Ranks(number, count)):
                own = here().part(rows)
                exchange.sum_over_rows(of_outputs[:, own].contiguous(), weight[own], rows)
                found.append(sent.pop())
        return exchange.in_pairs(found)

    sent: list[torch.Tensor] = []
    monkeypatch.setattr(Ranks, "collect", lambda _, own: sent.append(own) or [own])
    one = added_by(1)
    torch.testing.assert_close(one, of_outputs @ weight, atol=1e-4, rtol=0)
    assert all(torch.equal(added_by(count), one) for count in (2, 4, 8))
    torch.testing.assert_close(added_by(3), one, atol=1e-4, rtol=0)  # rounded otherwise


def test_rows_of_a_rank_are_those_of_the_whole_table():
    table = torch.arange(20.0).reshape(10, 2)
    parts = on_each_rank(lambda: LearningRows(10, table))
    assert torch.equal(torch.cat([part.table for part in parts]), table)
    with torch.no_grad():
        rows, _ = parts[1](torch.tensor([4, 5]))
    assert torch.equal(rows, table[4:6])
    assert exchange.rows_in_all(parts[0].table) == 10


def test_part_of_the_rows_from_texts():
    rows = TextRows(np.array([7, 8, 3, 4]), np.array([0, 2, 2, 4]))
    part = rows.part(slice(1, 3))
    assert (part.labels.tolist(), part.starts.tolist()) == ([3, 4], [0, 0, 2])


def test_ranks_without_a_common_directory_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="a run directory that all of them see"):
        check_ranks("decaf", None)
    with pytest.raises(ConfigError, match="gudn trains in one process"):
        check_ranks("gudn", "somewhere")
    with pytest.raises(ConfigError, match="decaf/lite trains in one process"):
        check_ranks("decaf/lite", "somewhere")
