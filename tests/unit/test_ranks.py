"""Shares of ranks, seen from one process at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from longtail.corpus import PAD
from longtail.encoders.label_texts import TextRows
from longtail.encoders.learn import exchange
from longtail.encoders.learn.bag import Dropout, rows_before
from longtail.encoders.learn.batches import BagTexts
from longtail.errors import ConfigError
from longtail.predict.fit import check_ranks
from longtail.rankers.learn.candidates import Candidates
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


def test_bags_of_a_batch_are_read_by_parts():
    bags = np.array([0, 1, 3, 6, 7]), np.arange(7, dtype=np.int32), np.ones(7, np.float32)
    rows = np.array([3, 2, 0, 1])
    parts = on_each_rank(lambda: BagTexts(bags).batch(rows))
    assert [token for part in parts for token in part.tokens.tolist()] == [6, 3, 4, 5, 0, 1, 2]
    places = [(part.of.documents, part.of.before, part.of.tokens_before) for part in parts]
    assert places == [(4, 0, 0), (4, 1, 1), (4, 2, 4)]


def test_candidates_go_to_the_rank_that_has_their_rows():
    labels = np.array([0, 4, 5, 9])
    shared = Candidates(labels, np.arange(8, dtype=np.float32).reshape(2, 4))
    parts = on_each_rank(lambda: shared.own(12))
    assert [part.labels.tolist() for part in parts] == [[0], [4, 5], [9]]
    assert [part.before for part in parts] == [0, 1, 3]
    assert parts[1].targets.tolist() == [[1, 2], [5, 6]]
    separate = Candidates(labels, np.ones((1, 3), np.float32), np.array([[0, 2, PAD]], np.int32))
    assert [part.shortlist.tolist() for part in on_each_rank(lambda: separate.own(12))] == [
        [[0, PAD, PAD]], [[PAD, 1, PAD]], [[PAD, PAD, PAD]],
    ]  # fmt: skip


def test_rows_of_a_rank_are_those_of_the_whole_table():
    table = torch.arange(20.0).reshape(10, 2)
    parts = on_each_rank(lambda: LearningRows(10, table))
    assert torch.equal(torch.cat([part.table for part in parts]), table)
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
