"""A physics-informed net with a loss of its own: u'' = -u, u(0) = 0, u(pi/2) = 1, so u = sin. The
second derivative is taken by differences of the net at three places."""
import numpy as np
import vktrain
from vktrain import nn, optim

H = 0.1


def main(steps=250):
    rng = np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = optim.Adam(net, lr=optim.cosine(0.01, steps))
    ends, values = np.array([[0.0], [np.pi / 2]]), np.array([[0.0], [1.0]])

    @vktrain.jit
    def step(x):
        u = net(vktrain.concat([x - H, x, x + H], dim=0)).reshape(3, -1)
        second = (u[0] - 2 * u[1] + u[2]) / H ** 2
        loss = ((second + u[1]) ** 2).mean() + \
            10 * ((net(vktrain.tensor(ends)) - values) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(steps):
        loss = step(rng.uniform(0, np.pi / 2, (64, 1)))
    x = np.linspace(0, np.pi / 2, 20)[:, None]
    error = np.abs(net(vktrain.tensor(x)).numpy() - np.sin(x)).max()
    print(f"physics: loss {loss.item():.4f}, largest error {error:.3f}")
    return error < 0.1


if __name__ == "__main__":
    main()
