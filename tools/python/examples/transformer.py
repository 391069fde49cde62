"""A transformer that learns to write sequences backwards."""
import numpy as np
import vktrain
from vktrain import nn, optim

F = nn.functional


class Reverser(nn.Module):
    def __init__(self, symbols=8, length=6, width=32):
        super().__init__()
        self.symbols, self.places = nn.Embedding(symbols, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(
            width, 4, 64, dropout=0.0, batch_first=True, norm_first=True) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, symbols)

    def forward(self, ids):  # [N, T] -> [N, symbols, T]
        x = self.symbols(ids) + self.places.weight
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)).transpose(1, 2)


def main(steps=200):
    rng = np.random.default_rng(0)
    net = Reverser()
    optimizer = optim.AdamW(net, lr=optim.cosine(0.01, steps, warmup=20), clip=1.0)

    @vktrain.jit
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(steps):
        x = rng.integers(0, 8, (64, 6))
        loss = step(x, x[:, ::-1])
    print(f"transformer: loss {loss.item():.3f}")
    return loss.item() < 0.7


if __name__ == "__main__":
    main()
