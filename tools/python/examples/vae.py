"""A variational autoencoder of points on a ring; its noise is made on the device."""
import numpy as np
import vktrain
from vktrain import nn, optim

F = nn.functional


def main(steps=120):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 256)
    X = np.stack([np.cos(angle), np.sin(angle)], 1) @ rng.normal(size=(2, 8))
    encoder = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
    decoder = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 8))
    both = nn.ModuleList([encoder, decoder])
    optimizer = optim.Adam(both, lr=0.01)

    @vktrain.jit
    def step(x):
        mean, log_var = encoder(x).chunk(2, dim=1)
        z = mean + (0.5 * log_var).exp() * vktrain.randn(*mean.shape)
        error = F.mse_loss(decoder(z), x, reduction="sum") / len(x)
        kl = 0.5 * (mean ** 2 + log_var.exp() - log_var - 1).sum(1).mean()
        loss = error + 0.1 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(X).item() for _ in range(steps)]
    print(f"vae: loss {losses[0]:.2f} -> {losses[-1]:.2f}")
    return losses[-1] < 0.5 * losses[0]


if __name__ == "__main__":
    main()
