"""The equations of PENCIL (Yi & Wu, CVPR 2019).

Shapes: B examples, C classes. f = softmax(logits), y^d = softmax(label_logits), ŷ = given.
"""

from torch import Tensor
from torch.nn.functional import log_softmax, softmax


def cross_entropy(logits_BC: Tensor, target_BC: Tensor) -> Tensor:
    """−Σ_j t_j log f_j (Eq. 1), for any target distribution."""
    return -(target_BC * log_softmax(logits_BC, -1)).sum(-1)


def classification(logits_BC: Tensor, label_logits_BC: Tensor) -> Tensor:
    """KL(f ‖ y^d) (Eq. 5), PENCIL's classification loss L_c."""
    log_f = log_softmax(logits_BC, -1)
    return (log_f.exp() * (log_f - log_softmax(label_logits_BC, -1))).sum(-1)


def classic_kl(logits_BC: Tensor, label_logits_BC: Tensor) -> Tensor:
    """KL(y^d ‖ f) (Eq. 3), the loss of label distribution learning and the paper's ablation."""
    log_y = log_softmax(label_logits_BC, -1)
    return (log_y.exp() * (log_y - log_softmax(logits_BC, -1))).sum(-1)


def compatibility_paper(label_logits_BC: Tensor, given_BC: Tensor) -> Tensor:
    """−Σ_j ŷ_j log y^d_j (Sec. 3.3), the compatibility loss L_o as the paper prints it."""
    return -(given_BC * log_softmax(label_logits_BC, -1)).sum(-1)


def compatibility_code(label_logits_BC: Tensor, given_BC: Tensor) -> Tensor:
    """−Σ_j ŷ_j log softmax(y^d)_j, the compatibility loss of the authors' released code.

    The second softmax bounds its pull, so that confident predictions can move a label's argmax.
    """
    return -(given_BC * log_softmax(softmax(label_logits_BC, -1), -1)).sum(-1)


def entropy(logits_BC: Tensor) -> Tensor:
    """−Σ_j f_j log f_j (Sec. 3.5), the entropy loss L_e."""
    log_f = log_softmax(logits_BC, -1)
    return -(log_f.exp() * log_f).sum(-1)
