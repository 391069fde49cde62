from typing import Any, Iterator, Sequence, Union

from numpy.typing import ArrayLike

class DataLoader:
    batch_size: int
    def __init__(self, arrays: Union[ArrayLike, Sequence[ArrayLike]], batch_size: int = ...,
                 shuffle: bool = ..., drop_last: bool = ..., seed: int = ...) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
