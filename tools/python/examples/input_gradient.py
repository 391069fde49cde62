"""Gradients to the input: a picture is changed until a fixed net's features are those of another."""
import numpy as np
import vktrain
from vktrain import nn, optim

F = nn.functional


def main(steps=80):
    rng = np.random.default_rng(0)
    features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
                             nn.Conv2d(8, 16, 3, padding=1))
    style = rng.uniform(size=(1, 3, 16, 16)).astype(np.float32)

    def gram(x):
        f = features(x).flatten(2)
        return f @ f.transpose(1, 2) / f.shape[2]

    want = gram(vktrain.tensor(style)).numpy()
    picture = nn.Parameter(np.full((1, 3, 16, 16), 0.5, np.float32))
    optimizer = optim.Adam([picture], lr=0.05)

    @vktrain.jit
    def step():
        loss = F.mse_loss(gram(picture), vktrain.tensor(want)) * 1000
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step().item() for _ in range(steps)]
    x = vktrain.tensor(style, requires_grad=True)  # the gradient itself
    gram(x).sum().backward()
    print(f"input_gradient: loss {losses[0]:.3f} -> {losses[-1]:.4f}, "
          f"gradient {np.abs(x.grad.numpy()).max():.3f}")
    return losses[-1] < 0.2 * losses[0]


if __name__ == "__main__":
    main()
