"""A generative adversarial net of numbers around 3: both nets step in one function, one after the
other, each with its own optimizer."""
import vktrain
from vktrain import nn, optim
import numpy as np

F = nn.functional


def main(steps=250):
    rng = np.random.default_rng(0)
    maker = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    judge = nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    make_opt = optim.Adam(maker, lr=0.01, betas=(0.5, 0.9))
    judge_opt = optim.Adam(judge, lr=0.01, betas=(0.5, 0.9))
    loss_of = F.binary_cross_entropy_with_logits

    @vktrain.jit
    def step(real, z):
        yes, no = vktrain.ones(*real.shape), vktrain.zeros(*real.shape)
        judged = loss_of(judge(real), yes) + loss_of(judge(maker(z).detach()), no)
        judge_opt.zero_grad()
        judged.backward()
        judge_opt.step()
        made = loss_of(judge(maker(z)), yes)
        make_opt.zero_grad()
        made.backward()
        make_opt.step()
        return judged, made

    for _ in range(steps):
        judged, made = step(rng.normal(3, 0.5, (64, 1)), rng.normal(size=(64, 4)))
    mean = maker(vktrain.tensor(rng.normal(size=(256, 4)))).mean().item()
    print(f"gan: losses {judged.item():.2f}, {made.item():.2f}, mean of what it makes {mean:.2f}")
    return abs(mean - 3) < 1


if __name__ == "__main__":
    main()
