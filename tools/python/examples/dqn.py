"""Deep Q-learning in a tiny world: a corridor of six places whose right end pays."""
import numpy as np
import vktrain
from vktrain import nn, optim

F = nn.functional
PLACES = 6


def net():
    return nn.Sequential(nn.Linear(PLACES, 32), nn.ReLU(), nn.Linear(32, 2))


def main(steps=150):
    rng = np.random.default_rng(0)
    q, target = net(), net()
    optimizer = optim.Adam(q, lr=0.01)

    @vktrain.jit
    def learn(x, action, reward, after, end):
        best = target(after).amax(1).detach()
        want = reward + 0.9 * (1 - end) * best
        taken = (q(x) * F.one_hot(action, 2)).sum(1)
        loss = F.huber_loss(taken, want)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    eye = np.eye(PLACES, dtype=np.float32)
    for i in range(steps):
        if i % 10 == 0:
            target.load_state_dict(q.state_dict())
        at, action = rng.integers(0, PLACES - 1, 64), rng.integers(0, 2, 64)
        to = np.maximum(at + 2 * action - 1, 0)
        end = (to == PLACES - 1).astype(np.float32)
        learn(eye[at], action, end, eye[to], end)
    values = q(vktrain.tensor(eye[:-1])).numpy()
    print(f"dqn: goes right at {(values.argmax(1) == 1).sum()} of {PLACES - 1} places")
    return (values.argmax(1) == 1).all()


if __name__ == "__main__":
    main()
