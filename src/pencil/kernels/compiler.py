"""Makes torch's compiler acquainted with the operators here."""

import functools

import torch


@functools.cache
def introduce_operators() -> None:
    """Tell the compiler that the operators are called as they are.

    It would find out by itself. But up to torch 2.11 it then describes, for a log that is off, all that an operator's
    inputs are computed from: deep in a network that took a third of the time to the first step. These are parts of
    torch that may change; where they have, the compiler finds out by itself.
    """
    from pencil.kernels import block_ops, ops

    try:
        from torch._inductor import lowering
        from torch._library.utils import get_layout_constraint_tag

        for name in (*ops.NAMES, *block_ops.NAMES):
            operator = getattr(torch.ops.pencil, name).default
            if operator not in lowering.lowerings:
                constraint = lowering.tag_to_layout_constraint(get_layout_constraint_tag(operator, with_default=True))
                lowering.make_fallback(operator, layout_constraint=constraint)  # type: ignore[no-untyped-call]
    except (ImportError, AttributeError, TypeError):
        return
