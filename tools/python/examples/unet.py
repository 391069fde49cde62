"""A U-Net that finds discs in noise, with a loss of its own: cross-entropy and Dice."""
import numpy as np
import vktrain
from vktrain import nn, optim

F = nn.functional


class UNet(nn.Module):
    def __init__(self, n=8):
        super().__init__()
        self.down1, self.down2 = self.block(1, n), self.block(n, 2 * n)
        self.up = nn.ConvTranspose2d(2 * n, n, 2, stride=2)
        self.right, self.head = self.block(2 * n, n), nn.Conv2d(n, 1, 1)

    @staticmethod
    def block(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.SiLU())

    def forward(self, x):  # [N, 1, H, W] -> [N, 1, H, W]
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.head(self.right(vktrain.concat([self.up(b), a], dim=1)))


def dice(logits, y):
    p = F.sigmoid(logits)
    both = (p * y).sum((1, 2, 3))
    return (1 - (2 * both + 1) / (p.sum((1, 2, 3)) + y.sum((1, 2, 3)) + 1)).mean()


def main(steps=40):
    rng = np.random.default_rng(0)
    at = rng.uniform(4, 12, (64, 2, 1, 1))
    grid = np.mgrid[0:16, 0:16][None]
    y = (((grid - at) ** 2).sum(1) < 12)[:, None].astype(np.float32)
    X = (y + rng.normal(0, 0.7, y.shape)).astype(np.float32)
    net = UNet()
    optimizer = optim.Adam(net, lr=0.01)

    @vktrain.jit
    def step(x, y):
        logits = net(x)
        loss = F.binary_cross_entropy_with_logits(logits, y) + dice(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(X[i % 4::4], y[i % 4::4]).item() for i in range(steps)]
    print(f"unet: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    return losses[-1] < 0.5 * losses[0]


if __name__ == "__main__":
    main()
