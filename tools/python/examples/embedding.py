"""An embedding model: users and films as vectors whose product is the rating."""
import numpy as np
import vktrain
from vktrain import nn, optim

F = nn.functional


class Ratings(nn.Module):
    def __init__(self, users, films, size=4):
        super().__init__()
        self.user, self.film = nn.Embedding(users, size), nn.Embedding(films, size)

    def forward(self, user, film):  # [N], [N] -> [N]
        return (self.user(user) * self.film(film)).sum(1)


def main(steps=300):
    rng = np.random.default_rng(0)
    taste, kind = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    net = Ratings(30, 20)
    optimizer = optim.Adam(net, lr=0.02, ema=0.99)

    @vktrain.jit
    def step(user, film, rating):
        loss = F.mse_loss(net(user, film), rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for _ in range(steps):
        user, film = rng.integers(0, 30, 128), rng.integers(0, 20, 128)
        losses.append(step(user, film, (taste[user] * kind[film]).sum(1)))
    first, last = (np.mean([v.item() for v in part]) for part in (losses[:10], losses[-10:]))
    net.load_state_dict(optimizer.averaged())
    print(f"embedding: loss {first:.2f} -> {last:.3f}")
    return last < 0.2 * first


if __name__ == "__main__":
    main()
