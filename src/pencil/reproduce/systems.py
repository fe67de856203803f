"""The rows of the tables: systems, each a method with options of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class System:
    """One row of a table: a method with options of its own."""

    name: str
    title: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the data that the method needs, e.g. a clean subset."""
    teaching: Mapping[str, Any] = field(default_factory=dict)
    """What helps the method, where it differs from the recipe."""
    phases: Mapping[str, Any] = field(default_factory=dict)
    """Epochs and rates, where they differ from the recipe's."""
    network: Mapping[str, Any] = field(default_factory=dict)
    """Options of the study's network; another network has others."""
    starred: bool = False
    """With these options it uses information that PENCIL does not."""


def _systems(*listed: System) -> dict[str, System]:
    return {system.name: system for system in listed}


SYSTEMS = _systems(
    System("cross_entropy", "Cross entropy", "cross_entropy"),
    System(
        "cross_entropy_long", "Cross entropy, as long as PENCIL", "cross_entropy",
        phases={"training": {"epochs": 320, "lr": "0.02, 0.2@200, 0.02@240, 0.002@280"}},
    ),
    System("forward", "Forward T", "forward"),
    System("forward_estimated", "Forward T̂", "forward_estimated"),
    System("lq", "L_q", "lq"),
    System("truncated_lq", "Truncated L_q", "truncated_lq"),
    System("cnn_crf", "CNN-CRF", "cnn_crf", data={"trusted": 0.1}),
    System("joint_optimization", "Joint optimization (Tanaka et al.)", "joint_optimization"),
    System(
        "joint_optimization_prior",
        "Joint optimization with prior (Tanaka et al.)",
        "joint_optimization",
        {"prior_weight": 1.2},
        starred=True,
    ),
    System("pencil", "PENCIL", "pencil"),
    System(
        "pencil_asymmetric_settings", "PENCIL, set as for 10% asymmetric noise", "pencil",
        {"entropy_weight": 0.4, "label_lr": "600"},
        phases={"backbone": {"lr": "0.06"}, "labels": {"lr": "0.06"}},
    ),
    System(
        "pencil_torch041", "PENCIL, started as by torch 0.4.1", "pencil", network={"start": "torch-0.4.1"}
    ),
    System(
        "pencil_public_network", "PENCIL, network as in a public version of Tanaka et al.", "pencil",
        network={"start": "torch-0.4.1", "final_norm": False},
    ),
    System("pencil_anchor_1", "PENCIL, a = α·c = 1", "pencil", {"anchor": 1.0}),
    System("pencil_anchor_0.5", "PENCIL, a = α·c = 0.5", "pencil", {"anchor": 0.5}),
    System("pencil_classic_kl", "PENCIL with the classic KL (Eq. 2)", "pencil", {"classification": "classic"}),
    System("pencil_paper_form", "PENCIL, compatibility loss as printed", "pencil", {"compatibility": "paper"}),
    System("pencil_without_compatibility", "PENCIL without L_o (α = 0)", "pencil", {"compatibility_weight": 0.0}),
    System("pencil_without_entropy", "PENCIL without L_e (β = 0)", "pencil", {"entropy_weight": 0.0}),
    System("without_distortion", "images not distorted", "pencil", teaching={"distortion": 0.0}),
    System("without_average", "weights not averaged", "pencil", teaching={"average_epochs": 0.003}),
    System("without_guard", "no guard", "pencil", teaching={"guard": False}),
    System("without_return", "labels begin at the last weights, not the best", "pencil", {"from_best": False}),
    System(
        "without_clean_probability", "one anchor, a = 0.5, for all labels", "pencil",
        {"by_clean_probability": False, "by_class_shares": False, "anchor": 0.5},
    ),
    System("without_class_shares", "classes named as the teacher likes", "pencil", {"by_class_shares": False}),
    System("with_mixup", "with mixup", "pencil", teaching={"mixup": 1.0}),
)  # fmt: skip
