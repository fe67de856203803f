"""An example table for thousands of classes: of each label only the k strongest classes, and what the rest share.

Shapes: N examples, B of a batch, C classes, K kept classes.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from pencil.table.columns import Rows, narrow_columns
from pencil.table.dense import ExampleTable
from pencil.table.initial import initial_label_logits

KEPT = 16
"""Classes kept of each label: a label moves towards few classes, however many there are."""


class TopTable(ExampleTable):
    """Keeps ỹ as K classes with their logits, and one logit that all other classes share, so that no mass is lost.

    A row is spread out to all classes when it is gathered and cut down again when it is scattered; the averaged
    prediction of each example is not kept.
    """

    own_column = "top_classes"

    def __init__(self, columns: Mapping[str, Tensor], num_classes: int) -> None:
        super().__init__(columns)
        self._num_classes = num_classes

    @classmethod
    def start(
        cls,
        given_N: Tensor,
        num_classes: int,
        *,
        scale: float,
        distribution_NC: Tensor | None = None,
        trusted_N: Tensor | None = None,
        clean_N: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
        kept: int = KEPT,
    ) -> "TopTable":
        """Make the table of a new run from the given labels, without ever making it dense."""
        kept = min(kept, num_classes)
        if distribution_NC is None:
            labelled_N = given_N >= 0
            top = _hard(given_N, num_classes, kept, scale, dtype)
        else:
            labelled_N = distribution_NC.sum(-1) > 0
            top = cut(initial_label_logits(distribution_NC.to(dtype), scale), kept)
        columns = narrow_columns(given_N, labelled_N, trusted_N=trusted_N, clean_N=clean_N, dtype=dtype) | top
        if distribution_NC is not None:
            columns["given_distribution"] = distribution_NC.to(dtype)
        return cls(columns, num_classes)

    @property
    def num_classes(self) -> int:
        return self._num_classes

    def gather(self, index_B: Tensor) -> Rows:
        """Return the rows of these examples, labels spread out to all classes."""
        rows = super().gather(index_B)
        rows["label_logits"] = spread(rows, self.num_classes)
        return rows

    def scatter(self, index_B: Tensor, rows: Rows) -> None:
        """Write rows back, labels cut down to their strongest classes."""
        rows = dict(rows)
        label_logits_BC = rows.pop("label_logits", None)
        if label_logits_BC is not None:
            rows |= cut(label_logits_BC, self.columns["top_classes"].shape[1])
        super().scatter(index_B, rows)

    def distributions(self, rows: slice = slice(None)) -> Tensor:
        """Return y^d of a slice of the examples, over all classes."""
        part = {name: self.columns[name][rows] for name in ("top_classes", "top_logits", "other_logit")}
        return spread(part, self.num_classes).softmax(-1)


def spread(rows: Mapping[str, Tensor], num_classes: int) -> Tensor:
    """Return label logits over all classes."""
    base_BC = rows["other_logit"].unsqueeze(-1).expand(-1, num_classes)
    return base_BC.scatter(1, rows["top_classes"].long(), rows["top_logits"])


def cut(label_logits_BC: Tensor, kept: int) -> Rows:
    """Keep the strongest classes; the others get the one logit that gives them the probability they had together."""
    top_BK, classes_BK = label_logits_BC.topk(kept, dim=-1)
    others = label_logits_BC.shape[1] - kept
    rest_B = label_logits_BC.scatter(1, classes_BK, -torch.inf).logsumexp(-1) - math.log(max(others, 1))
    # With all classes kept there is no rest; its logit is never used, but must be a number.
    rest_B = torch.where(rest_B.isfinite(), rest_B, torch.zeros_like(rest_B))
    return {"top_classes": classes_BK.to(torch.int32), "top_logits": top_BK, "other_logit": rest_B}


def _hard(given_N: Tensor, num_classes: int, kept: int, scale: float, dtype: torch.dtype) -> Rows:
    """ỹ = K·ŷ: the given class and some others, which all have the logit of the rest."""
    first_N1 = given_N.clamp(min=0).unsqueeze(-1)
    classes_NK = (first_N1 + torch.arange(kept, device=given_N.device)) % num_classes
    top_NK = torch.zeros(len(given_N), kept, dtype=dtype, device=given_N.device)
    top_NK[:, 0] = torch.where(given_N >= 0, scale, 0.0)
    rest_N = torch.zeros(len(given_N), dtype=dtype, device=given_N.device)
    return {"top_classes": classes_NK.to(torch.int32), "top_logits": top_NK, "other_logit": rest_N}
