from __future__ import annotations

import os
from operator import neg

import pytest

from xtab.cli.jobs import WorkerDiedError, cores, in_order


def test_there_is_at_least_one_core():
    assert 1 <= cores() <= os.cpu_count()


@pytest.mark.parametrize("count", [1, 3])
def test_results_are_in_order(count):
    assert list(in_order(neg, range(30), count)) == [-number for number in range(30)]


def test_nothing_to_do():
    assert list(in_order(neg, [], 4)) == []


def test_few_things_start_no_process():
    assert set(in_order(lambda _: os.getpid(), range(5), 4)) == {os.getpid()}


def test_one_job_starts_no_process():
    assert set(in_order(lambda _: os.getpid(), range(100), 1)) == {os.getpid()}


def test_a_worker_that_dies_is_reported():
    with pytest.raises(WorkerDiedError) as caught:
        list(in_order(os._exit, range(30), 2))
    assert caught.value.done == 0


def test_it_can_be_left_early():
    results = in_order(neg, range(1000), 2)
    assert next(results) == 0
    results.close()


def test_an_error_of_the_function_comes_through():
    with pytest.raises(TypeError):
        list(in_order(neg, ["text"] * 30, 2))
