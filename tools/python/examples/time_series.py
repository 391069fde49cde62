"""A time series: a GRU reads 8 values of a wave and says the next."""
import numpy as np
import vktrain
from vktrain import nn, optim

F = nn.functional


class Forecast(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.gru, self.head = nn.GRU(1, hidden, batch_first=True), nn.Linear(hidden, 1)

    def forward(self, x):  # [N, T, 1] -> [N, 1]
        return self.head(self.gru(x)[0][:, -1])


def main(steps=80):
    t = np.arange(400)
    wave = (np.sin(t / 5) + 0.5 * np.sin(t / 3)).astype(np.float32)
    X = np.lib.stride_tricks.sliding_window_view(wave, 9)
    net = Forecast()
    optimizer = optim.AdamW(net, lr=0.02, clip=1.0)

    @vktrain.jit
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    loader = vktrain.DataLoader((X[:, :8, None], X[:, 8:]), 64, shuffle=True, drop_last=True)
    losses = []
    while len(losses) < steps:
        losses += [step(x, y).item() for x, y in loader]
    print(f"time_series: loss {losses[0]:.3f} -> {losses[-1]:.4f}")
    return losses[-1] < 0.1 * losses[0]


if __name__ == "__main__":
    main()
