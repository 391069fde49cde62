"""backward: gradients as nodes, which the library's own differentiation fills in when they are
computed."""
import weakref

from ._library import VktrainError
from ._trace import Node, describe, fail, reach, text_of, trace


def backward(loss):
    """Gives every parameter and tensor with requires_grad that the loss depends on its `grad`."""
    node = loss._node
    if not node.needs:
        fail("backward: it depends on no parameter and no tensor with requires_grad", loss._pair)
    if node.owner is None:
        node.owner = weakref.ref(loss)  # gets its number from the step
    for leaf in reach([node]):
        owner = leaf.owner() if leaf.owner is not None else None
        if owner is None or not owner.requires_grad:
            continue
        _add(owner, leaf, loss._pair)


def _add(owner, leaf, loss):
    from ._tensor import Tensor
    source = owner._node.inputs[0] if owner._node.op == "permute" else owner._pair
    losses = (loss,)
    if trace() is not None:
        trace().given.append(owner)
    if owner.grad is not None:
        before = gradient_of(owner.grad)
        storage = source[0].data if source[0].op == "leaf" else None
        if before is None:
            fail("backward: the grad of a tensor was replaced; set it to None first", owner._pair)
        if storage is not None and storage.changed > before.seq:
            raise VktrainError(f"{text_of(before.line)}: the gradient made here is of the parameters "
                               f"before the last step: call zero_grad() before backward()")
        losses = before.inputs[1:] + losses
    g = Tensor(Node("gradient", (source,) + losses, (), (source[0].shapes[0],), (0,)))
    owner.grad = g.permute(owner._node.attrs[0]) if owner._node.op == "permute" else g


def gradient_of(tensor):
    """The gradient node behind a `grad`, or None if it is something else."""
    n = tensor._node
    if n.op == "permute":
        n = n.inputs[0][0]
    return n if n.op == "gradient" else None


def losses_of(nodes):
    """The losses whose sum's gradients these nodes of gradients are, by the time they were made.

    The library differentiates a graph once, so every loss has to be in each gradient of what it
    depends on."""
    gradients = [n for n in nodes if n.op == "gradient"]
    losses = {(v[0].seq, v[1]): v for n in gradients for v in n.inputs[1:]}
    reached = {k: {m.seq for m in reach([v[0]])} for k, v in losses.items()}
    for n in gradients:
        mine = {(v[0].seq, v[1]) for v in n.inputs[1:]}
        if any(k not in mine and n.inputs[0][0].seq in r for k, r in reached.items()):
            raise VktrainError(f"{text_of(n.line)}: gradients of two losses of the same tensor, "
                               f"{describe(n.inputs[0])}, are computed together: compute one before "
                               f"the other is asked for, or call zero_grad() after a step")
    return [losses[k] for k in sorted(losses)]
