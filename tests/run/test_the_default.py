"""The default, whole, does what it is for: whatever it is taught to be careful about, it corrects labels."""

import pencil


def test_most_wrong_labels_of_the_demo_are_corrected() -> None:
    result = pencil.fit(
        "digits", noise="symmetric:0.4", seed=0, device="cpu", settings={"backbone_options": {"width": 16}}
    )
    labels, test = result.summary["label_accuracy"], result.summary["test_accuracy"]
    assert labels["given"] < 67
    assert labels["corrected"] > 95
    assert test["last"] > 95
