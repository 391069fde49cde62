"""A multilayer perceptron: two interleaved spirals."""
import numpy as np
import vktrain
from vktrain import nn, optim

F = nn.functional


def main(steps=300):
    rng = np.random.default_rng(0)
    t, y = rng.uniform(0.3, 1, 256), rng.integers(0, 2, 256)
    angle = 6 * t + np.pi * y
    X = np.stack([t * np.cos(angle), t * np.sin(angle)], 1) + rng.normal(0, 0.02, (256, 2))
    net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = optim.AdamW(net, lr=optim.cosine(0.01, steps, warmup=10), clip=1.0)

    @vktrain.jit
    def step(x, y):
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, (logits.argmax(1) == y).mean()

    loader = vktrain.DataLoader((X, y), 64, shuffle=True, drop_last=True)
    done = 0
    while done < steps:
        for x, target in loader:
            loss, right = step(x, target)
            done += 1
    print(f"mlp: loss {loss.item():.3f}, {100 * right.item():.0f}% right")
    return right.item() > 0.9


if __name__ == "__main__":
    main()
