"""Batches of arrays."""
import numpy as np


class DataLoader:
    """Batches of rows of arrays, in a new order at each pass.

        for x, y in vktrain.DataLoader((X, Y), batch_size=64, shuffle=True): ...

    arrays: one array, or several of the same length. drop_last: a last batch that is smaller is left
    out: with it the step function needs only one graph. seed: of the order; a pass's is a function of
    seed and the number of the pass."""

    def __init__(self, arrays, batch_size=32, shuffle=False, drop_last=False, seed=0):
        self.one = not isinstance(arrays, (tuple, list))
        self.arrays = [np.asarray(a) for a in ([arrays] if self.one else arrays)]
        n = {len(a) for a in self.arrays}
        if len(n) != 1 or n == {0}:
            raise ValueError(f"arrays have {sorted(n)} rows; they need the same number, not 0")
        self.n, = n
        if batch_size < 1 or (drop_last and batch_size > self.n):
            raise ValueError(f"batch_size is {batch_size}, of {self.n} rows")
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last
        self.seed, self.passes = seed, 0

    def __len__(self):
        return self.n // self.batch_size if self.drop_last else -(-self.n // self.batch_size)

    def __iter__(self):
        order = np.random.default_rng([self.seed, self.passes]).permutation(self.n) \
            if self.shuffle else None
        self.passes += 1
        for i in range(len(self)):
            at = slice(i * self.batch_size, (i + 1) * self.batch_size)
            rows = at if order is None else order[at]
            batch = tuple(a[rows] for a in self.arrays)
            yield batch[0] if self.one else batch
