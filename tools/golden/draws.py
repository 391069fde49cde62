"""Numbers that golden scripts and the tests draw alike (tests/support/golden_loss.h)."""


class Draws:
    """The same numbers in C: a linear congruence, its upper bits."""
    def __init__(self, seed):
        self.s = seed

    def below(self, n):
        self.s = (self.s * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (self.s >> 33) % n
