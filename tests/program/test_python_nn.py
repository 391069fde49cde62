"""vktrain.nn, vktrain.optim and tensors on a device, beside NumPy: see test_python.sh."""
import copy
import importlib
import inspect
import json
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import vktrain
from vktrain import nn, optim
from vktrain.nn import functional as F

ROOT = os.environ["VKT_TEST_ROOT"]
HERE = re.escape(os.path.abspath(__file__))
RNG = np.random.default_rng(5)


def near(test, got, want, tolerance=2e-6):
    want = np.asarray(want, np.float64)
    got = got.numpy() if isinstance(got, vktrain.Tensor) else got
    test.assertEqual(got.shape, want.shape)
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(np.abs(want).max(), 1e-30))


def line_of(offset=1):
    return inspect.currentframe().f_back.f_lineno + offset


def mlp(seed=0, dropout=0.0):
    vktrain.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3))


def batch():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 24)
    return (rng.normal(size=(24, 4)) + 2 * np.eye(4)[y]).astype(np.float32), y


def trained(net, optimizer, x, y):
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def values(net):
    return np.concatenate([p.numpy().ravel() for p in net.parameters()])


class Functions(unittest.TestCase):
    def test_beside_numpy(self):
        a, b = RNG.normal(size=(3, 1, 4)), RNG.uniform(0.5, 2, (5, 4))
        x, y = vktrain.tensor(a), vktrain.tensor(b)
        a, b = a.astype(np.float32), b.astype(np.float32)
        ids = np.array([2, 0, 2])
        # One computation of many outputs is one graph, which takes a fraction of the time.
        cases = [(x + y, a + b), (x - y, a - b), (1 - x, 1 - a), (x * y, a * b), (x / y, a / b),
                 (2 / y, 2 / b), (y ** 1.5, b ** 1.5), (x ** 2, a * a), (x < y, a < b),
                 (x >= 0.1, a >= 0.1), (x != x, np.zeros_like(a)), (-x, -a), (y.log(), np.log(b)),
                 (x.exp(), np.exp(a)), (y.rsqrt(), b ** -0.5), (x.clamp(-0.5, 0.5), a.clip(-0.5, 0.5)),
                 ((x / 8).asin(), np.arcsin(a / 8)), ((x / 8).acos(), np.arccos(a / 8)), (x.atan(), np.arctan(a)),
                 (x.sinh(), np.sinh(a)), (x.cosh(), np.cosh(a)), (x.asinh(), np.arcsinh(a)),
                 ((y + 1).acosh(), np.arccosh(b + 1)), ((x / 8).atanh(), np.arctanh(a / 8)),
                 (x.sum(), a.sum()), (x.mean((0, 2)), a.mean((0, 2))), (y.amax(0), b.max(0)),
                 (x.sum(1, keepdim=True), a.sum(1, keepdims=True)), (y.var(0), b.var(0, ddof=1)),
                 (y.cumsum(1), b.cumsum(1)), (y.argmax(1), b.argmax(1)), (y.T, b.T),
                 (y[1:4:2, ::-1], b[1:4:2, ::-1]), (y[-1], b[-1]), (x[..., None, 2], a[..., None, 2]),
                 (y[ids], b[ids]), (y[:, ids], b[:, ids]), (x[:, 0] @ y.T, a[:, 0] @ b.T),
                 (y.T @ y, b.T @ b), (vktrain.stack([y, y], 1), np.stack([b, b], 1)),
                 (vktrain.concat([y, y[:2]]), np.concatenate([b, b[:2]])),
                 (vktrain.where(x > 0, x, 7.0), np.where(a > 0, a, 7)), (y.norm(), np.sqrt((b * b).sum())),
                 (F.one_hot(ids, 3), np.eye(3)[ids]), (x.repeat(2, 1, 2), np.tile(a, (2, 1, 2))),
                 (F.pad(y, (1, 2), "replicate"), np.pad(b, ((0, 0), (1, 2)), "edge")),
                 (x.expand(3, 5, 4), np.broadcast_to(a, (3, 5, 4))), (y.flip(0), b[::-1])]
        vktrain._program.compute([t for t, _ in cases])
        for i, (got, want) in enumerate(cases):
            with self.subTest(i):
                near(self, got, want)

    def test_convolutions_make_no_transposes(self):
        vktrain.manual_seed(1)
        net = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3), nn.ReLU(),
                            nn.MaxPool2d(2), nn.Conv2d(3, 4, 1))
        a = RNG.normal(size=(2, 2, 4, 6)).astype(np.float32)
        w, v, c = (net[i].weight.numpy().astype(np.float64) for i in (0, 4, 4))
        p = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
        y = sum(np.einsum("nchw,oc->nohw", p[:, :, i:i + 4, j:j + 6], w[:, :, i, j])
                for i in range(3) for j in range(3))
        y = (y - y.mean((0, 2, 3), keepdims=True)) / np.sqrt(y.var((0, 2, 3), keepdims=True) + 1e-5)
        y = np.maximum(y, 0).reshape(2, 3, 2, 2, 3, 2).max((3, 5))
        y = np.einsum("nchw,oc->nohw", y, v[:, :, 0, 0]) + net[4].bias.numpy()[:, None, None]
        step = vktrain.jit(lambda x: net(x) + 1.0)
        near(self, step(a), y + 1, 1e-5)
        self.assertEqual(len(re.findall(r"\bpermute\b", step.explain())), 2)  # in and out
        self.assertEqual(net.state_dict()["0.weight"].shape, (3, 2, 3, 3))
        self.assertEqual(net[1].num_batches_tracked.numpy().tolist(), [1])

    def test_written_attention_is_the_fused_op(self):
        t, h, d = 6, 2, 4
        a = RNG.normal(size=(3, t, 3 * h * d)).astype(np.float32)
        hide = np.triu(np.full((t, t), -1e30, np.float32), 1)

        def attend(x):
            q, k, v = (x[:, :, i * h * d:(i + 1) * h * d].reshape(3, t, h, d).permute(0, 2, 1, 3)
                       for i in range(3))
            s = vktrain.matmul(q, k.transpose(-1, -2)) * 0.5 + vktrain.tensor(hide)
            y = vktrain.matmul(s.softmax(-1), v)
            return y.permute(0, 2, 1, 3).reshape(3, t, h * d)

        q, k, v = np.moveaxis(a.reshape(3, t, 3, h, d).astype(np.float64), 2, 0)
        s = np.einsum("nthd,nshd->nhts", q, k) * 0.5 + hide
        p = np.exp(s - s.max(-1, keepdims=True))
        want = np.einsum("nhts,nshd->nthd", p / p.sum(-1, keepdims=True), v).reshape(3, t, h * d)
        step = vktrain.jit(attend)
        near(self, step(a), want, 1e-5)
        ops = re.findall(r"^ *\d+ +(\w+)", step.explain(), re.M)
        self.assertIn("attention", ops)
        self.assertFalse({"softmax", "permute", "slice", "matmul"} & set(ops))

    def test_gradients(self):
        a, b = RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=(4,)).astype(np.float32)
        x, w = vktrain.tensor(a, requires_grad=True), vktrain.tensor(b, requires_grad=True)
        ((x * w).sum(1) ** 2).sum().backward()
        s = (a * b).sum(1, keepdims=True)
        near(self, x.grad, 2 * s * b, 1e-5)
        near(self, w.grad, (2 * s * a).sum(0), 1e-5)
        x = vktrain.tensor(a, requires_grad=True)
        (x * x.detach()).sum().backward()  # half of the slope of x * x
        near(self, x.grad, a)
        (x * 2).sum().backward()  # added to it
        near(self, x.grad, a + 2)

    def test_tables_small_and_large(self):
        f = vktrain.jit(lambda i, w, net: (net(i), self.slope(net, i, w)))
        for rows in (40, 400):  # looked up, and sorted by the host
            net = nn.Embedding(rows, 3)
            for seed in (1, 2):
                rng = np.random.default_rng(seed)
                ids, w = rng.integers(0, rows, (4, 6)), rng.normal(size=(4, 6, 3)).astype(np.float32)
                ids[0] = ids[0, 0]
                want = np.zeros((rows, 3))
                np.add.at(want, ids, w)
                y, slope = f(ids, w, net)
                near(self, y, net.weight.numpy()[ids])
                near(self, slope, want)

    @staticmethod
    def slope(net, ids, w):
        net.zero_grad()
        (net(ids) * w).sum().backward()
        return net.weight.grad


class Training(unittest.TestCase):
    def test_a_step_function_gives_the_same_bits(self):
        x, y = batch()
        one, two = mlp(), mlp()
        o1, o2 = optim.Adam(one, 0.01), optim.Adam(two, 0.01)
        step = vktrain.jit(lambda x, y: trained(two, o2, x, y))
        losses = [(trained(one, o1, x, y).item(), step(x, y).item()) for _ in range(5)]
        self.assertEqual([a for a, _ in losses], [b for _, b in losses])
        np.testing.assert_array_equal(values(one), values(two))
        self.assertLess(losses[-1][0], losses[0][0])

    def test_sgd_by_hand(self):
        x, y = batch()
        net = nn.Linear(4, 3)
        w, c = net.weight.numpy().astype(np.float64), net.bias.numpy()
        p = np.exp(x @ w.T + c)
        d = (p / p.sum(1, keepdims=True) - np.eye(3)[y]) / len(y)
        optimizer = optim.SGD(net, lr=0.5)
        near(self, trained(net, optimizer, x, y), -np.log(p[range(24), y] / p.sum(1)).mean(), 1e-5)
        near(self, net.weight.numpy(), w - 0.5 * d.T @ x, 1e-5)
        self.assertAlmostEqual(optimizer.grad_norm, np.sqrt(((d.T @ x) ** 2).sum() +
                                                            (d.sum(0) ** 2).sum()), 5)

    def test_stop_and_go_on_with_the_same_bits(self):
        x, y = batch()
        one = mlp(dropout=0.3)
        o1 = optim.AdamW(one, optim.cosine(0.02, 8, warmup=2), clip=0.5, ema=0.9)
        for _ in range(3):
            trained(one, o1, x, y)
        one.save("net.safetensors")
        state = o1.state_dict()
        two = mlp(9, dropout=0.3)
        two.load("net.safetensors")
        o2 = optim.AdamW(two, optim.cosine(0.02, 8, warmup=2), clip=0.5, ema=0.9)
        o2.load_state_dict(state)
        for _ in range(3):
            trained(one, o1, x, y), trained(two, o2, x, y)
        np.testing.assert_array_equal(values(one), values(two))
        self.assertEqual(sorted(o1.averaged()), sorted(dict(one.named_parameters())))
        self.assertEqual(o1.rate(), optim.cosine(0.02, 8, warmup=2)(6))

    def test_rules_of_whole_tensors_go_on_with_the_same_bits(self):
        x, y = batch()
        for rule in (optim.Adan, optim.Muon, optim.Adafactor):
            one, two = mlp(), mlp()
            o1 = rule(one, 0.01)
            losses = [trained(one, o1, x, y).item() for _ in range(4)]
            self.assertLess(losses[-1], losses[0], rule)
            two.load_state_dict(one.state_dict())
            o2 = rule(two, 0.01)
            o2.load_state_dict(o1.state_dict())
            for _ in range(2):
                trained(one, o1, x, y), trained(two, o2, x, y)
            np.testing.assert_array_equal(values(one), values(two))

    def test_modes_and_random_numbers(self):
        net = nn.Dropout(0.5)
        f = vktrain.jit(lambda x: net(x))
        x = np.ones((40, 40), np.float32)
        a, b = f(x).numpy(), f(x).numpy()
        self.assertEqual(set(np.unique(a)), {0, 2})
        self.assertTrue((a != b).any())
        net.eval()
        np.testing.assert_array_equal(f(x).numpy(), x)
        net.train()
        self.assertTrue((f(x).numpy() == 0).any())
        r = vktrain.randn(100, 100).numpy()
        self.assertTrue(abs(r.mean()) < 0.05 and abs(r.std() - 1) < 0.05)

    def test_shapes_results_and_threads(self):
        f = vktrain.jit(lambda x, k=1: {"sum": x.sum(), "more": [x * k, "text"]})
        out = [f(np.full(3, i, np.float32), k=2) for i in range(5)]  # more than there are slots
        self.assertEqual([o["sum"].item() for o in out], [0, 3, 6, 9, 12])
        self.assertEqual(out[4]["more"][0].tolist(), [8, 8, 8])
        self.assertEqual(out[4]["more"][1], "text")
        self.assertEqual(f(np.ones((2, 2)))["more"][0].shape, (2, 2))
        self.assertEqual((out[3]["more"][0] + 1).tolist(), [7, 7, 7])
        wrong = []

        def work(i):
            for k in range(20):
                if f(np.full(3, i + k, np.float32), k=2)["sum"].item() != 3 * (i + k):
                    wrong.append((i, k))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(wrong, [])

    def test_sixteen_bits(self):
        x, y = batch()
        for precision, more in (("bf16", {}), ("fp16", {"loss_scale": 1024.0})):
            net = mlp()
            o = optim.Adam(net, 0.01, **more)
            step = vktrain.jit(lambda x, y: trained(net, o, x, y), precision=precision)
            losses = [step(x, y).item() for _ in range(10)]
            self.assertLess(losses[-1], losses[0])


class Refusals(unittest.TestCase):
    def test_shapes_name_the_line(self):
        a, b = vktrain.ones(2, 3), vktrain.ones(2, 4)
        line = line_of(2)
        with self.assertRaisesRegex(vktrain.ShapeError, rf"{HERE}:{line}: .*add.*\[2, 3\].*\[2, 4\]"):
            a + b
        for call, what in ((lambda: a @ a, r"columns.*\[2, 3\] f32 and \[2, 3\]"),
                           (lambda: a.reshape(4, -1), "reshape"), (lambda: a[5], "out of range"),
                           (lambda: a[[3]], "indices from 3 to 3"), (lambda: a.sum(2), "no axis 2"),
                           (lambda: F.conv2d(vktrain.ones(1, 3, 8, 8), vktrain.ones(4, 2, 3, 3)),
                            r"conv2d.*\[1, 8, 8, 3\].*\[3, 3, 2, 4\]"),
                           (lambda: F.conv2d(vktrain.ones(1, 2, 8, 8), vktrain.ones(4, 2, 3, 3),
                                             stride=0), "conv2d with stride 0"),
                           (lambda: F.mse_loss(a, b), r"shapes differ, of \[2, 3\]"),
                           (lambda: vktrain.ones(1, 1, 1, 1, 1, 1, 1), "dimensions|rank|fill")):
            with self.assertRaisesRegex(vktrain.VktrainError, what):
                call()

    def test_indices_are_not_negative(self):
        with self.assertRaisesRegex(vktrain.DataError, r"whole numbers from -1 to 2; .*astype"):
            vktrain.tensor(np.array([-1, 2]))
        f = vktrain.jit(lambda i: F.one_hot(i, 3))
        f(np.array([1]))
        for wrong in (-1, 2**32):  # of an argument: looked at in each call
            for g in (f, vktrain.jit(lambda i: i + 1)):
                with self.assertRaisesRegex(vktrain.DataError, f"is {wrong}$|numbers from {wrong} to"):
                    g(np.array([1]))
                    g(np.array([wrong]))
        wide = vktrain.jit(lambda i: F.one_hot(i, 300))  # of few bits, -1 is no 255
        for g, kind in ((wide, np.int8), (wide, np.int16), (wide, np.int32),
                        (vktrain.jit(lambda i: i.float()), np.int8)):
            self.assertEqual(g(np.array([7], kind)).numpy().size, 300 if g is wide else 1)
            with self.assertRaisesRegex(vktrain.DataError, "is -1$|numbers from -1 to"):
                g(np.array([-1], kind))
        large = vktrain.jit(lambda i: i.float())
        for n, kind in ((2**31, np.int64), (2**32 - 1, np.int64), (2**31, np.uint32)):
            self.assertEqual(large(np.array([n], kind)).item(), np.float32(n))
        for kind in (">u8", ">i8", ">u4", ">i4", ">i2"):  # of either byte order
            self.assertEqual(large(np.array([1, 2], kind)).tolist(), [1, 2])

    def test_indices_past_the_end(self):
        for f, what in ((lambda i: F.one_hot(i, 3), "one_hot"),
                        (lambda i: F.cross_entropy(vktrain.ones(2, 3), i), "cross_entropy"),
                        (lambda i: nn.Embedding(3, 2)(i), "embedding")):
            for call in (vktrain.jit(f), lambda i: f(i).numpy()):
                with self.assertRaisesRegex(vktrain.DataError, rf"{HERE}:\d+: {what}: there are 3.*is 3"):
                    call(np.array([3, 1]))
        self.assertEqual(F.cross_entropy(vktrain.ones(2, 3), np.array([0, 9]), ignore_index=9).item(),
                         np.float32(np.log(3)))

    def test_nan_changes_nothing(self):
        x, y = batch()
        net = mlp()
        o = optim.Adam(net, 0.01)
        step = vktrain.jit(lambda x, y: trained(net, o, x, y))
        step(x, y).item()
        before = values(net)
        bad = step(np.full_like(x, np.nan), y)
        with self.assertRaisesRegex(vktrain.NumericError, "nan.*changed no parameter"):
            bad.item()
        np.testing.assert_array_equal(values(net), before)
        step(x, y).item()
        self.assertTrue((values(net) != before).any())
        self.assertEqual(o.skipped, 1)

    def test_what_is_out_of_date(self):
        x, y = batch()
        net = mlp()
        o = optim.SGD(net, 0.1)
        with self.assertRaisesRegex(vktrain.VktrainError, r"step\(\) without a gradient"):
            o.step()
        line = line_of()
        before = net(x)
        trained(net, o, x, y)
        with self.assertRaisesRegex(vktrain.VktrainError, rf"{HERE}:{line}: .*before an optimizer"):
            before.numpy()
        with self.assertRaisesRegex(vktrain.VktrainError, r"call zero_grad\(\) before backward"):
            F.cross_entropy(net(x), y).backward()
        o.zero_grad()
        step, before = vktrain.jit(lambda x, y: trained(net, o, x, y)), net(x)
        step(x, y)
        with self.assertRaisesRegex(vktrain.VktrainError, "before an optimizer's step changed it"):
            before.numpy()
        F.cross_entropy(net(x), y).backward()  # the step function has left no grad behind
        self.assertEqual(net[0].weight.grad.numpy().shape, (8, 4))
        with self.assertRaisesRegex(vktrain.VktrainError, "has no numbers while it is traced"):
            vktrain.jit(lambda x: x.item())(np.ones(1))
        o.close()
        o.zero_grad()
        F.cross_entropy(net(x), y).backward()
        with self.assertRaisesRegex(vktrain.VktrainError, "optimizer was closed"):
            o.step()
        self.assertEqual(net(x).numpy().shape, (24, 3))  # its parameters are still there

    def test_too_large(self):
        line = line_of()
        x = vktrain.zeros(1 << 15, 1 << 15)
        with self.assertRaisesRegex(vktrain.VktrainError, rf"{HERE}:.*fewer than 2\^31"):
            vktrain.concat([x, x, x])
        big = [x + float(i) for i in range(40)]  # 160 GB, all of which are needed at the end
        y = sum((b * b.T).sum() for b in big) + sum((b * 2.0).amax() for b in big)
        with self.assertRaises(MemoryError) as e:
            vktrain._program.compute([y] + [b[0] for b in big])
        self.assertRegex(str(e.exception), rf"{HERE}:{line + 4}")

    def test_states_and_files(self):
        net = mlp()
        state = net.state_dict()
        before = values(net)
        with self.assertRaisesRegex(KeyError, "0.bias"):
            net.load_state_dict({k: v for k, v in state.items() if k != "0.bias"})
        with self.assertRaisesRegex(ValueError, r"3.weight has shape \[3, 8\], not \[8, 3\]"):
            net.load_state_dict({**state, "0.bias": state["0.bias"] + 1, "3.weight": np.ones((8, 3))})
        np.testing.assert_array_equal(values(net), before)  # not half of it
        net.save("whole.safetensors")
        with open("whole.safetensors", "rb") as f:
            data = f.read()
        for i, (cut, what) in enumerate(((data[:100], "does not fit|header"), (data[:-4], "not in the file"),
                                         (b"\xff" * 16, "does not fit"),
                                         (data.replace(b"[3, 8]", b"[3, 9]", 1), "not its size"),
                                         (data.replace(b'"F32"', b'"F99"', 1), "not read"))):
            with open(f"{i}.safetensors", "wb") as f:
                f.write(cut)
            with self.assertRaisesRegex(vktrain.DataError, what):
                net.load(f"{i}.safetensors")
        with self.assertRaisesRegex(ValueError, "rows"):
            vktrain.DataLoader((np.ones(3), np.ones(4)))


class Mends(unittest.TestCase):
    """What went wrong once without a word."""

    def test_copies(self):
        x, y = batch()
        net = mlp()
        optim.SGD(net, 0.1)
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            np.testing.assert_array_equal(values(other), values(net))
            want = values(net)
            trained(other, optim.SGD(other, 0.5), x, y)
            self.assertTrue((values(other) != want).any())
            np.testing.assert_array_equal(values(net), want)
        conv = nn.Conv2d(2, 3, 3)
        np.testing.assert_array_equal(copy.deepcopy(conv).weight.numpy(), conv.weight.numpy())
        self.assertIsInstance(copy.deepcopy(nn.BatchNorm1d(2)).running_mean, nn.Buffer)
        with self.assertRaisesRegex(TypeError, "SGD is on the device.*state_dict"):
            copy.deepcopy(optim.SGD(net, 0.1))

    def test_grads_of_ones_own(self):
        w = nn.Parameter(np.zeros((2, 3), np.float32))
        o = optim.SGD([("w", w)], 1.0)
        w.grad = np.full((3, 2), 1, np.float32)
        with self.assertRaisesRegex(vktrain.ShapeError, r"grad of w has shape \[3, 2\].*\[2, 3\]"):
            o.step()
        w.grad = vktrain.tensor(np.full((2, 3), 2, np.float32))
        o.step()
        np.testing.assert_array_equal(w.numpy(), np.full((2, 3), -2))
        v = nn.Parameter(np.zeros((2, 3), np.float32))
        p = optim.SGD([("v", v)], 1.0)
        o.zero_grad()
        (w * 3.0).sum().backward()
        v.grad = w.grad  # of another
        p.step()
        np.testing.assert_array_equal(v.numpy(), np.full((2, 3), -3))

    def test_results_of_step_functions(self):
        w = nn.Parameter(np.ones(2, np.float32))
        o = optim.SGD([w], 1.0)

        def train(x, result):
            o.zero_grad()
            (w * x).sum().backward()
            o.step()
            return {"none": None, "pair": (w.sum(), None), "w": w}[result]
        step, x = vktrain.jit(train), np.ones(2, np.float32)
        self.assertIsNone(step(x, "none"))
        y, none = step(x, "pair")
        self.assertEqual((y.item(), none), (-2, None))
        self.assertEqual(step(x, "w").tolist(), [-2, -2])
        f = vktrain.jit(lambda x, k: (x, repr(k)))
        self.assertEqual([f(x, k)[1] for k in (True, 1, 1.0, 0.0, -0.0)], ["True", "1", "1.0", "0.0", "-0.0"])

    def test_optimizers(self):
        net = mlp()
        first = optim.SGD(net, 0.1, ema=0.9)
        x, y = batch()
        second = optim.SGD(net[0], 0.1)
        F.cross_entropy(net(x), y).backward()
        with self.assertRaisesRegex(vktrain.VktrainError, "another optimizer.*trains bias"):
            first.step()
        second.step()
        state = first.state_dict()
        first.close()
        for call in (first.state_dict, first.averaged, lambda: first.load_state_dict(state), first.step):
            with self.assertRaisesRegex(vktrain.VktrainError, "optimizer was closed"):
                call()
        a, b = nn.Linear(2, 2), nn.Linear(2, 2)
        self.assertEqual(optim.SGD([*a.parameters(), *b.parameters()], 0.1).names,
                         ["weight", "bias", "1.weight", "1.bias"])
        for error, what, call in (
                (ValueError, "lr is nan", lambda: optim.SGD(a, math.nan)),
                (ValueError, "lr is -1", lambda: optim.SGD(a, -1)),
                (TypeError, "lr is '0.1'", lambda: optim.SGD(a, "0.1")),
                (TypeError, "momentum: adam does not use", lambda: optim.Adam(a, momentum=0.9)),
                (ValueError, "betas has 3", lambda: optim.Adam(a, betas=(0.9, 0.9, 0.9))),
                (TypeError, r"groups: '\*' has 'lr'", lambda: optim.SGD(a, 0.1, groups=[("*", {"lr": 1})]))):
            with self.assertRaisesRegex(error, what):
                call()

    def test_shapes_that_alternate_are_found_fast(self):
        step, net = vktrain.jit(lambda x: net(x)), nn.Dropout(0.5)
        a, b = (np.ones((n, 2), np.float32) for n in (3, 5))
        net.eval()
        step(a), step(b)
        find, step._find = step._find, None
        for x in (a, b, b, a):
            np.testing.assert_array_equal(step(x).numpy(), x)
        with self.assertRaisesRegex(TypeError, "not callable"):  # it is another one's
            step(a.astype(np.uint32))
        net.train()
        with self.assertRaisesRegex(TypeError, "not callable"):
            step(a)
        step._find = find
        self.assertTrue(set(step(a).numpy().ravel()) <= {0, 2})
        step.close()
        self.assertEqual(step(b).shape, (5, 2))

    def test_items(self):
        a = vktrain.ones(2, 3) + 1.0
        for t in (a, vktrain.jit(lambda x: x + 1.0)(np.ones((2, 3), np.float32))):
            with self.assertRaisesRegex(ValueError, r"a tensor of shape \[2, 3\] is not one number"):
                t.item()
        self.assertIsNone(a._value)  # it was not computed
        self.assertEqual(vktrain.jit(lambda x: x + 1.0)(np.ones((1, 1), np.float32)).item(), 2)

    def test_numbers_given_by_hand(self):
        net = nn.Linear(2, 1)
        before = net(np.ones((1, 2), np.float32))
        net.load_state_dict({"weight": np.ones((1, 2)), "bias": np.ones(1)})
        with self.assertRaisesRegex(vktrain.VktrainError, "before copy_ or load_state_dict changed"):
            before.numpy()
        self.assertEqual(net(np.ones((1, 2), np.float32)).item(), 3)

    def test_modules_take_modules(self):
        for call, what in ((lambda: nn.Sequential(nn.ReLU(), F.relu), "Sequential: 1 is <function relu"),
                           (lambda: nn.ModuleList([3]), "ModuleList: 0 is 3"),
                           (lambda: setattr(nn.Linear(1, 1), "weight", vktrain.ones(1, 1)),
                            "'weight' is a parameter of Linear.*Tensor")):
            with self.assertRaisesRegex(TypeError, what):
                call()

    def test_labels_that_do_not_count(self):
        a, w = RNG.normal(size=(4, 3)).astype(np.float32), np.array([1, 2, 4], np.float32)
        log_p = a - np.log(np.exp(a).sum(1, keepdims=True))
        for ignore, label in ((None, -100), (-100, -100), (-7, -7), (1, 1), (9, 9)):
            y = np.array([0, label, 2, label])
            want = -(log_p[0, 0] + log_p[2, 2]) / 2
            near(self, F.cross_entropy(a, y, ignore_index=ignore), want, 1e-5)
            near(self, F.cross_entropy(a, y, w, ignore), -(log_p[0, 0] + 4 * log_p[2, 2]) / 5, 1e-5)
            if ignore is not None:
                f = vktrain.jit(lambda x, y: F.cross_entropy(x, y, ignore_index=ignore))
                near(self, f(a, y), want, 1e-5)
                with self.assertRaisesRegex(vktrain.DataError, "cross_entropy"):
                    f(a, np.array([0, 3, 2, label]))
        f = vktrain.jit(lambda x, y: F.cross_entropy(x, y, ignore_index=-100))
        for kind in (np.int8, np.int16, np.int32, np.int64):
            near(self, f(a, np.array([0, -100, 2, -100], kind)), -(log_p[0, 0] + log_p[2, 2]) / 2, 1e-5)
        y = np.array([0, 2**32 - 100, 2, 0])  # -100's bits
        for call in (lambda: f(a, y), lambda: f(a, y.astype(np.uint32)),
                     lambda: F.cross_entropy(a, vktrain.tensor(y), ignore_index=-100).item()):
            with self.assertRaisesRegex(vktrain.DataError, "one of the ids is 4294967196"):
                call()
        with self.assertRaisesRegex(vktrain.DataError, "one of the labels is -100: give ignore_index"):
            vktrain.jit(F.cross_entropy)(a, np.array([0, -100, 2, 0]))
        for wrong in (3, -1):
            with self.assertRaises(vktrain.DataError):
                F.cross_entropy(a, np.array([0, wrong, 2, -100])).item()
        p = np.full((4, 3), [0.5, 0.5, 0], np.float32)
        smooth = 0.7 * p + 0.1
        near(self, F.cross_entropy(a, p, w, label_smoothing=0.3), -(log_p * smooth * w).sum(1).mean(), 1e-5)
        with self.assertRaisesRegex(ValueError, "reduction is 'men'.*mean\\?"):
            F.mse_loss(a, a, reduction="men")

    def test_an_earlier_calls_nan(self):
        w = nn.Parameter(np.ones(2, np.float32))
        o = optim.SGD([w], 1.0)

        def train(x):
            o.zero_grad()
            loss = (w * x).sum()
            loss.backward()
            o.step()
            return loss
        step, x = vktrain.jit(train), np.ones(2, np.float32)
        step(x * np.nan), step(x)
        with self.assertRaisesRegex(vktrain.NumericError, r"call 1 of this.*call 3 was not started"):
            step(x)
        self.assertEqual(w.tolist(), [0, 0])
        step(x)
        self.assertEqual(w.tolist(), [-1, -1])
        bad = step(x * np.nan)
        step(x), step(x)
        with self.assertRaisesRegex(vktrain.NumericError, "changed no parameter"):
            bad.item()
        self.assertEqual(w.tolist(), [-3, -3])

    def test_a_call_that_raises_starts_no_part_or_waits_for_it(self):
        a, b = nn.Embedding(3, 2), nn.Embedding(3, 2)
        rate = [1.0]
        first, second = optim.SGD(a, 1.0), optim.SGD(b, lambda t: rate[0])

        def train(i, j):
            for net, o, ids in ((a, first, i), (b, second, j)):
                o.zero_grad()
                net(ids).sum().backward()
                o.step()
        step, good = vktrain.jit(train), np.array([0, 2])
        step(good, good)
        before = values(a), values(b)
        for wrong in (3, -1):
            for kind in (np.int32, np.int64):
                with self.assertRaisesRegex(vktrain.DataError, "embedding: there are 3|numbers from -1"):
                    step(good.astype(kind), np.array([0, wrong], kind))
        self.assertEqual((first.t, second.t), (1, 1))
        for was, net in zip(before, (a, b)):
            np.testing.assert_array_equal(values(net), was)
        rate[0] = math.nan  # not seen before the first part is started
        with self.assertRaisesRegex(ValueError, "lr is nan"):
            step(good, good)
        run = step._last[0]
        self.assertEqual([len(w[0]) for w in run.waiting if w is not None and len(w[0]) < 2], [1])
        rate[0] = 1.0
        for _ in range(3):
            run.run([good, good])
        self.assertEqual((first.t, second.t), (5, 4))
        near(self, values(a), before[0] - np.repeat([4, 0, 4], 2))

    def test_seeds_and_limits(self):
        draws = []
        for _ in range(2):
            vktrain.manual_seed(5)
            draws.append([vktrain.rand(4).tolist(), vktrain.rand(4).tolist()])
        self.assertEqual(draws[0], draws[1])
        self.assertNotEqual(draws[0][0], draws[0][1])
        noise = []
        for _ in range(2):
            w = nn.Parameter(np.zeros(8, np.float32))
            o = optim.SGD([w], 1.0)
            (w * vktrain.rand(8)).sum().backward()
            o.step()
            noise.append(w.tolist())
        self.assertNotEqual(noise[0], noise[1])
        for n in (3, 9):  # the same graph but for the table
            i = vktrain.tensor(np.array([n - 1]))
            F.cross_entropy(vktrain.ones(1, 9), i).item()
        F.embedding(np.array([1]), vktrain.ones(9, 2))[:, :1].numpy()
        one, two = (vktrain.tensor(np.array([5])) for _ in range(2))
        vktrain._trace.limit(one._pair, 3, "embedding")
        with self.assertRaises(vktrain.DataError):
            (one + 1.0).numpy()
        self.assertEqual((two + 1.0).tolist(), [6])
        ids = two.reshape(1, 1)  # of a node between, nobody would sort them
        order = vktrain._trace.sorted_ids(ids._pair, 9)
        rows = vktrain._trace.make("embedding", [vktrain.ones(9, 2)._pair, ids._pair, (order, 0), (order, 1)])
        with self.assertRaisesRegex(RuntimeError, "an order of ids that are computed"):
            vktrain.Tensor(rows).numpy()


class Loader(unittest.TestCase):
    def test_batches(self):
        X, y = np.arange(10), np.arange(10) * 2
        passes = [list(vktrain.DataLoader((X, y), 4, shuffle=True, seed=s)) for s in (0, 0, 1)]
        self.assertEqual([len(b[0]) for b in passes[0]], [4, 4, 2])
        self.assertEqual(sorted(np.concatenate([b[0] for b in passes[0]])), list(range(10)))
        self.assertTrue(all((b[1] == 2 * b[0]).all() for b in passes[0]))
        np.testing.assert_array_equal(passes[0][0][0], passes[1][0][0])
        self.assertFalse(np.array_equal(passes[0][0][0], passes[2][0][0]))


class Fit(unittest.TestCase):
    RECIPE = {"optim": {"rule": "adamw", "lr": 0.01, "weight_decay": 0.01},
              "schedule": {"kind": "cosine", "warmup": 3}, "train": {"steps": 17, "batch": 8},
              "eval": {"every": 5}, "checkpoint": {"keep": 2}, "data": {"valid_fraction": 0.25}}

    def setUp(self):
        rng = np.random.default_rng(1)
        self.y = rng.integers(0, 3, 80)
        self.x = (rng.normal(size=(80, 4)) + 2 * np.eye(4)[self.y]).astype(np.float32)
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def net(self):
        vktrain.manual_seed(3)
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))

    def fit(self, run, net=None, **more):
        return vktrain.fit(net or self.net(), (self.x, self.y), recipe=self.RECIPE,
                           run=os.path.join(self.folder, run), **more)

    def rows(self, run):
        with open(os.path.join(self.folder, run, "metrics.jsonl")) as f:
            return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in f]

    def file(self, run, name):
        with open(os.path.join(self.folder, run, "checkpoints", name), "rb") as f:
            return f.read()

    def test_a_stopped_run_goes_on_with_the_same_bits(self):
        for i, settings in enumerate(({}, {"train.ema": 0.9}, {"train.precision": "fp16"})):
            with self.subTest(settings):
                a, b, net = f"a{i}", f"b{i}", self.net()
                whole = self.fit(a, net, settings=settings)
                part = self.fit(b, settings=settings, callbacks=lambda p: p.step == 7)
                self.assertEqual((part.stopped, part.step, whole.stopped, whole.step), (True, 7, False, 20))
                other = self.net()
                vktrain.manual_seed(99)  # the run's own seed counts
                rest = self.fit(b, other, settings=settings, resume=True)
                self.assertEqual(rest[1:5], whole[1:5])
                self.assertEqual(self.rows(a), self.rows(b))
                for name in ("model", "optimizer"):
                    last = f"step-00000020/{name}.safetensors"
                    self.assertEqual(self.file(a, last), self.file(b, last))
                for k, v in net.state_dict().items():  # of the best checkpoint, in both
                    np.testing.assert_array_equal(v, other.state_dict()[k])

    def test_files_are_what_the_schemas_say_and_the_program_reads(self):
        def right(outputs, targets):
            return (outputs.argmax(1) == targets).mean()
        r = self.fit("a", metrics={"right": right}, settings={"note": "why"})
        self.assertEqual(r.metric, "right")
        evals = [row for row in self.rows("a") if row["kind"] == "eval"]
        self.assertEqual([e["step"] for e in evals], [5, 10, 15, 20])
        for e in evals:
            self.assertEqual((e["n"], e["measures"]["right"]), (20, e["accuracy"]))
        kept = sorted(os.listdir(os.path.join(self.folder, "a", "checkpoints")))
        values = {f"step-{e['step']:08d}": e["accuracy"] for e in evals}
        best = sorted(values, key=lambda k: (-values[k], k))[:2]
        self.assertEqual(kept, sorted({*best, "step-00000020"}))
        self.assertEqual(os.path.basename(r.best_checkpoint), best[0])
        for name, file in (("run", "run.json"), ("metrics", "metrics.jsonl")):
            subprocess.run([sys.executable, ROOT + "/tests/support/check_schema.py",
                            f"{ROOT}/tools/schemas/{name}.schema.json", os.path.join(self.folder, "a", file)],
                           check=True)
        program = os.environ["VKT_TEST_PROGRAM"]
        out = subprocess.run([program, "runs", self.folder], check=True, capture_output=True, text=True).stdout
        self.assertRegex(out, r"a .*done +20/20 +right")
        page = os.path.join(self.folder, "page.html")
        subprocess.run([program, "report", os.path.join(self.folder, "a"), "-o", page], check=True,
                       capture_output=True)
        with open(page) as f:
            self.assertIn("vktrain.fit", f.read())

    def test_what_can_not_be_is_refused(self):
        self.fit("a")
        for error, words, more in (
                (vktrain.RecipeError, "no use for 'data.augment.flip'", {"settings": {"data.augment.flip": 1}}),
                (vktrain.RecipeError, "optim.lr: -1 is out of range", {"settings": {"optim.lr": -1}}),
                (vktrain.RecipeError, "'f1' is none of loss, accuracy", {"settings": {"checkpoint.metric": "f1"}}),
                (vktrain.DataError, "train.batch is 70, of 60 rows", {"settings": {"train.batch": 70}}),
                (TypeError, "give one of them", {"loss": F.cross_entropy, "objective": lambda m, x, y: x})):
            with self.assertRaisesRegex(error, words):
                self.fit("b", **more)
        with self.assertRaisesRegex(vktrain.FileError, "holds a run"):
            self.fit("a")
        with self.assertRaisesRegex(vktrain.FileError, "no run to go on with"):
            self.fit("c", resume=True)
        with self.assertRaisesRegex(vktrain.RecipeError, "begun with another optim.lr"):
            self.fit("a", resume=True, settings={"optim.lr": 0.02})
        self.x[0, 0] += 1
        with self.assertRaisesRegex(vktrain.DataError, "the data is not what the run was trained on"):
            self.fit("a", resume=True)

    def test_a_folder_says_what_is_a_number(self):
        from vktrain._fit_files import Folder
        at = os.path.join(self.folder, "f")
        folder = Folder(at, "name", False)
        folder.begin(step=0)
        folder.open_metrics(0)
        folder.row("train", 1, loss=math.inf, grad_norm=math.inf, lr=0.5)
        folder.row("eval", 1, split="valid", loss=math.nan, accuracy=math.nan, n=3)
        folder.row("train", 2, loss=0.25, grad_norm=math.nan, lr=-math.inf)
        folder.close()
        self.assertEqual(self.rows("f"), [{"kind": "train", "step": 1, "loss": None, "lr": 0.5},
                                          {"kind": "eval", "step": 1, "split": "valid", "loss": None, "n": 3},
                                          {"kind": "train", "step": 2, "loss": 0.25}])
        left = os.path.join(at, "checkpoints", "step-00000009.new")  # of a run that was cut off
        os.makedirs(left)
        for times in (1, 2):
            folder = Folder(at, "name", True)
            self.assertFalse(os.path.exists(left))
            started = folder.record["started"]
            folder.begin(step=1)
            self.assertEqual((folder.record["n_resumes"], folder.record["started"]), (times, started))
            folder.end("done", best_metric=math.nan)
            with open(os.path.join(at, "run.json")) as f:
                self.assertEqual((json.load(f)["best_metric"], folder.record["status"]), (None, "done"))
        folder.open_metrics(1)
        folder.close()
        self.assertEqual(len(self.rows("f")), 2)  # those after step 1 are cut off

    def test_the_last_step_is_evaluated_and_patience_ends_a_run(self):
        r = self.fit("a", settings={"eval.every": 7})
        steps = [row["step"] for row in self.rows("a") if row["kind"] == "eval"]
        self.assertEqual((steps, r.step), ([7, 14, 20], 20))
        # a rate of about nothing: two evaluations after the best one are no better
        r = self.fit("b", settings={"eval.every": 2, "optim.lr": 1e-30, "optim.weight_decay": 0, "train.patience": 2,
                                    "checkpoint.metric": "accuracy"})
        evals = [(row["step"], row["accuracy"]) for row in self.rows("b") if row["kind"] == "eval"]
        best = next(i for i in range(len(evals)) if evals[i][1] == max(v for _, v in evals))
        self.assertEqual((len(evals), r.step, r.stopped), (best + 3, 2 * (best + 3), False))
        # a run that stops in between has waited as long when it goes on
        same = {"eval.every": 2, "optim.lr": 1e-30, "optim.weight_decay": 0, "train.patience": 2,
                "checkpoint.metric": "accuracy"}
        part = self.fit("c", settings=same, callbacks=lambda p: p.step == 2 * (best + 2))
        self.assertEqual((part.step, part.stopped), (2 * (best + 2), True))
        self.assertEqual(self.fit("c", settings=same, resume=True).step, r.step)

    def test_data_is_known_by_its_shape_and_type(self):
        self.fit("a")
        for x, y in ((self.x.astype(np.float64), self.y), (self.x, self.y.astype(np.int32)), (self.x, self.y.view(np.uint64))):
            with self.assertRaisesRegex(vktrain.DataError, "the data is not what the run was trained on"):
                vktrain.fit(self.net(), (x, y), recipe=self.RECIPE, run=os.path.join(self.folder, "a"), resume=True)
        for data in ((), (np.zeros((0, 4)), np.zeros(0)), (self.x, self.y[:-1]), (self.x, np.float64(3))):
            with self.assertRaisesRegex(ValueError, "a tuple of arrays with the same number of rows"):
                vktrain.fit(self.net(), data, recipe=self.RECIPE, run=os.path.join(self.folder, "b"))

    def test_nan_ends_the_run_and_says_so(self):
        with self.assertRaisesRegex(vktrain.NumericError, "3 steps in a row, up to step 3"):
            self.fit("a", objective=lambda m, x, y: (m(x) - 1e30).exp().log().mean(),
                     settings={"train.nan_patience": 3})
        with open(os.path.join(self.folder, "a", "run.json")) as f:
            self.assertEqual(json.load(f)["status"], "failed")


class Examples(unittest.TestCase):
    def test_they_learn(self):
        sys.path.insert(0, ROOT + "/tools/python/examples")
        names = sorted(n[:-3] for n in os.listdir(sys.path[0]) if n.endswith(".py"))
        self.assertEqual(len(names), 11)
        for name in names:
            with self.subTest(name):
                vktrain.manual_seed(0)
                self.assertTrue(importlib.import_module(name).main())


class Stubs(unittest.TestCase):
    def test_all_names_have_types(self):
        for module, stub in ((nn, "nn/__init__.pyi"), (F, "nn/functional.pyi"), (optim, "optim.pyi")):
            with open(f"{ROOT}/tools/python/vktrain/{stub}") as f:
                text = f.read()
            names = getattr(module, "__all__", None) or [
                n for n, v in vars(module).items() if inspect.isfunction(v) and
                v.__module__ == module.__name__ and n[0] != "_"]
            for name in names:
                self.assertRegex(text, rf"\b{name}\b", stub)


if __name__ == "__main__":
    unittest.main(verbosity=2)
