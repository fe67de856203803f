"""Whether a network knows the examples well enough for its corrections to be taken on trust."""

from pencil.chance import is_higher

LEAST = 0.85
"""How many labels a network agrees with where it did not learn them, at least, by how many it kept where it did."""
CHANCE = 3.0
"""Standard errors that are taken for chance: a few held-out labels say little."""
LIKELY = 1.0
"""Standard errors from which on a person should know: of a few dozen labels, three hardly ever come together."""


def contradicts(*, agreeing: int, held_out: int, kept: int, learned: int, errors: float = CHANCE) -> bool:
    """Say whether a network agrees with fewer labels it did not learn than corrections explain, beyond chance.

    Labels that are kept are those believed right. A network that knows its task agrees with about as large a share of
    labels it has not seen; one that is right about few examples agrees with fewer, and takes its mistakes for theirs.
    """
    return is_higher(LEAST * kept, learned, agreeing, held_out, errors=errors)


def caution(*, agreeing: int, held_out: int, kept: int, learned: int, common: int = 0) -> str | None:
    """Say what to beware of, by the labels a network did not learn and those it learned; None where all is well.

    Where training moved no label, nothing tells whether labels or network are wrong. `common` is how many labels it did
    not learn are of their most common class: who agrees with no more of them may have learned nothing.
    """
    known = {"agreeing": agreeing, "held_out": held_out, "kept": kept, "learned": learned}
    guesses = kept < learned and agreeing < held_out and agreeing <= common
    if not guesses and not contradicts(**known):
        return None
    found = f"the network agrees with {agreeing / held_out:.0%} of the labels it did not learn, "
    if kept == learned:
        return (
            f"{found}and training moved none of the others: whether labels or network are wrong, nothing tells."
            " Look at corrections before you use them, or train for more epochs, or a stronger backbone."
        )
    if not contradicts(**known):
        return (
            f"{found}no more than one class for all of them would: nothing shows that the network knows its task. Look"
            " at corrections before you use them, or give more examples."
        )
    return (
        f"{found}where it kept {kept / learned:.0%} of those it learned: where it disagrees, it may well be the network"
        " that is wrong. Look at corrections before you use them, or train a stronger backbone."
    )


def nothing_learned(*, agreeing: int, learned: int, common: int) -> str | None:
    """Say that a network has come away from the very labels it learned, where it agrees with hardly more of them than
    the `common` ones, those of their most common class.
    """
    if not learned or is_higher(agreeing, learned, common, learned, errors=LIKELY):
        return None
    return (
        f"the network agrees with {agreeing / learned:.0%} of the labels it learned, hardly more than one class for all"
        " of them would: it knows nothing of its task. Use neither it nor its corrections; give more examples, fewer"
        " features, or another backbone."
    )


def hint(*, agreeing: int, held_out: int, kept: int, learned: int) -> str | None:
    """Say what a person should look at where a network may contradict itself, but chance may explain it.

    Corrections stand: where few labels are held out, those that repaired most may look the same.
    """
    known = {"agreeing": agreeing, "held_out": held_out, "kept": kept, "learned": learned}
    if kept == learned or not contradicts(**known, errors=LIKELY):
        return None
    return (
        f"the network agrees with {agreeing / held_out:.0%} of the {held_out:,} labels it did not learn, where it kept"
        f" {kept / learned:.0%} of those it learned: that may be chance, or the network is wrong about some of its"
        " corrections. Look at a few before you use them."
    )
