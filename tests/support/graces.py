"""Graces that a test need not wait for."""

from fencepost_reconciler.grace import Grace


class Over(Grace):
    """A grace that is long over."""

    def is_over(self) -> bool:
        return True
