"""Truncated L_q: who is left out, decided when and by which weights; and that a stop changes nothing."""

from typing import Any

import numpy as np
import pytest
import torch

from pencil import methods

C = 10
NOISY = {"noise": "symmetric:0.4", "held_out": 0.2}


def run(digits: Any, planned: Any, engine_of: Any, train: Any, epochs: list[int], **options: Any) -> Any:
    engine = engine_of(planned(digits(), "truncated_lq", epochs, data=NOISY, options=options))
    weights: list[Any] = []
    predictions: list[Any] = []

    def look() -> None:
        weights.append(engine.state.table.columns["weight"].clone())
        predictions.append(engine.train_evaluator.logits(engine.state.model).softmax(-1))

    return engine, train(engine, each=look).records, weights, predictions


def test_the_best_weights_decide_every_so_many_epochs(digits: Any, planned: Any, engine_of: Any, train: Any) -> None:
    engine, records, weights, predictions = run(digits, planned, engine_of, train, [2, 5], refresh_epochs=2)
    given = engine.state.table.columns["given"].long()
    assert all(weight.eq(1).all() for weight in weights[:2]), "all examples count at first"
    for epoch in range(2, 7):
        decided = epoch - (epoch - 2) % 2
        best = max(range(decided), key=lambda e: records[e]["held_out_accuracy"])
        kept = predictions[best].gather(1, given.unsqueeze(1)).squeeze(1) > 0.5
        assert torch.equal(weights[epoch], kept.float()), epoch
    assert 0 < weights[-1].mean() < 1


def test_a_threshold_of_zero_is_plain_lq(digits: Any, planned: Any, engine_of: Any, train: Any) -> None:
    _, _, weights, _ = run(digits, planned, engine_of, train, [1, 2], threshold=0.0)
    assert all(weight.eq(1).all() for weight in weights)
    plain = engine_of(planned(digits(), "lq", [3], data=NOISY, phases={"training": {"epochs": 3, "lr": "0.1"}}))
    cut = engine_of(
        planned(
            digits(), "truncated_lq", [1, 2], data=NOISY, options={"threshold": 0.0},
            phases={"all": {"epochs": 1, "lr": "0.1"}, "kept": {"epochs": 2, "lr": "0.1"}},
        )
    )  # fmt: skip
    train(plain), train(cut)
    for one, other in zip(plain.state.model.parameters(), cut.state.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_trusted_labels_are_always_learned(digits: Any, planned: Any, engine_of: Any, train: Any) -> None:
    trusted = np.arange(200) < 40
    engine = engine_of(
        planned(digits(trusted=trusted), "truncated_lq", [1, 1], options={"threshold": 1.0}, data={"held_out": 0.0})
    )
    train(engine)
    assert engine.state.table.columns["weight"].tolist() == trusted.astype(float).tolist()


@pytest.mark.parametrize("name", ["truncated_lq", "forward_estimated"])
@pytest.mark.parametrize("stop", [2, 8, 9, 12])
def test_the_best_weights_survive_a_stop(
    name: str, stop: int, digits: Any, planned: Any, engine_of: Any, train: Any
) -> None:
    def new() -> Any:
        return engine_of(planned(digits(), name, [2, 3], data=NOISY))

    whole, broken = new(), new()
    expected = train(whole).records
    first = train(broken, stop_after=stop)
    resumed = new()
    resumed.restore(*first.saved)
    assert first.records + train(resumed).records == expected
    ends = whole.state.export(), resumed.state.export()
    assert any(key.startswith("best.model.") for key in ends[0])
    assert ends[0].keys() == ends[1].keys()
    for key in ends[0]:
        assert np.array_equal(ends[0][key], ends[1][key]), key


def test_looking_at_the_best_weights_leaves_the_network_alone(digits: Any, planned: Any, engine_of: Any) -> None:
    engine = engine_of(planned(digits(), "truncated_lq", [1, 1], data=NOISY))
    engine.state.keep_best(50.0)
    kept = {k: v.clone() for k, v in engine.state.model.state_dict().items()}
    with torch.no_grad():
        for parameter in engine.state.model.parameters():
            parameter.add_(1)
    now = {k: v.clone() for k, v in engine.state.model.state_dict().items()}
    with engine.state.best_weights():
        assert all(torch.equal(v, kept[k]) for k, v in engine.state.model.state_dict().items())
    assert all(torch.equal(v, now[k]) for k, v in engine.state.model.state_dict().items())
    engine.state.keep_best(50.0)
    with engine.state.best_weights():
        assert all(torch.equal(v, kept[k]) for k, v in engine.state.model.state_dict().items()), "the first stays"


def test_others_keep_no_second_copy_of_the_weights(digits: Any, planned: Any, engine_of: Any) -> None:
    engine = engine_of(planned(digits(), "lq", [1], data=NOISY))
    assert not engine.state.best and not methods.kind("lq").keeps_best
