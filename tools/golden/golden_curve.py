# 100 training steps in PyTorch of a small MLP: data, initial weights, losses and gradient norms (float64), and how far PyTorch's own float32
# run strays from them, for tests/runs/test_curve.c.
# Run in the lab: in-testing python3 tools/golden/golden_curve.py > tests/golden/curve.json
import copy, json, torch
torch.manual_seed(1)
n, d, h, classes, batch, steps = 96, 12, 24, 5, 32, 100
y = torch.randint(classes, (n,))
x = torch.randn(n, d) + 1.5 * torch.nn.functional.one_hot(y, d)
start = torch.nn.Sequential(torch.nn.Linear(d, h), torch.nn.LayerNorm(h), torch.nn.GELU(approximate="tanh"), torch.nn.Linear(h, h), torch.nn.ReLU(),
                            torch.nn.Linear(h, classes))


def run(dtype):
    model, data = copy.deepcopy(start).to(dtype), x.to(dtype)
    decay = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() == 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.125}, {"params": plain, "weight_decay": 0.0}], lr=2**-7, betas=(0.875, 0.9921875),
                            eps=2**-20)
    losses, norms = [], []
    for t in range(steps):
        i = torch.arange(t * batch, (t + 1) * batch) % n
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data[i]), y[i], label_smoothing=0.0625)
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        opt.step()
        losses.append(float(loss.detach()))
    return losses, norms


loss, norm = run(torch.float64)
loss32, norm32 = run(torch.float32)
stray = lambda a, b: max(abs(p - q) / q for p, q in zip(a, b))
print(json.dumps({"torch": torch.__version__, "n": n, "d": d, "h": h, "classes": classes, "batch": batch, "x": x.flatten().tolist(), "y": y.tolist(),
                  "init": {k: v.flatten().tolist() for k, v in start.state_dict().items()}, "loss": loss, "norm": norm,
                  "loss_stray": stray(loss32, loss), "norm_stray": stray(norm32, norm)}))
