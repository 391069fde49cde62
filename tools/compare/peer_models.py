"""What peer_torch.py measures, in PyTorch: products, rows and training steps by the names of `vktrain bench`.

Each function takes the parts of a name (a match), the device and whether steps are compiled, and returns what to call, its flops (None: not
counted), and the items of a step (None: no step). fp32 means fp32: TensorFloat-32 is off, for cuDNN's convolutions, too, where PyTorch's default is on.
"""
import torch
import torch.nn.functional as F

DTYPES = {"": torch.float32, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "f16": torch.float16}
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False  # True by default


def dtype_of(match, key="dtype"):
    return DTYPES[match.groupdict().get(key) or ""]


def matmul(match, device, _):
    """Results of 16 bits come from 16-bit operands, as PyTorch has no other; bias, gelu and a sum are separate calls, as in its models."""
    layout, m, n, k = match["layout"], int(match["m"]), int(match["n"]), int(match["k"])
    dtype = dtype_of(match)
    a = torch.randn((k, m) if layout == "TN" else (m, k), device=device).to(dtype)
    b = torch.randn((n, k) if layout == "NT" else (k, n), device=device).to(dtype)
    out = torch.empty((m, n), device=device, dtype=dtype)
    left, right = a.T if layout == "TN" else a, b.T if layout == "NT" else b
    bias = torch.randn(n, device=device).to(dtype) if match["bias"] else None
    residual = torch.randn(m, n, device=device).to(dtype) if match["residual"] else None

    def call():
        if bias is None:
            y = torch.matmul(left, right, out=out)
        else:
            y = torch.addmm(bias, left, right, out=out)
        if match["act"]:
            y = F.gelu(y, approximate="tanh")
        return y if residual is None else y + residual

    return call, 2.0 * m * n * k, None


def attention(match, device, _):
    """Causal, of one tensor of queries, keys and values; backward: the gradient of that tensor alone."""
    batch, context, heads, size = (int(match[k]) for k in ("batch", "context", "heads", "size"))
    x = torch.randn(batch, context, 3, heads, size, device=device).to(dtype_of(match)).requires_grad_(bool(match["bwd"]))

    def forward():
        q, k, v = (part.transpose(1, 2) for part in x.unbind(2))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    flops = 4.0 * batch * heads * size * context * (context + 1) / 2
    if not match["bwd"]:
        return forward, flops, None
    y = forward()
    dy = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, x, dy, retain_graph=True), 2.5 * flops, None


def convolution(match, device, _):
    """Channels last; fp32."""
    taps, stride, batch, side, before, after = (int(match[k]) for k in ("taps", "stride", "batch", "side", "before", "after"))
    last = torch.channels_last
    x = torch.randn(batch, before, side, side, device=device).contiguous(memory_format=last)
    w = torch.randn(after, before, taps, taps, device=device).contiguous(memory_format=last)
    of = {"": (), "_dx": (x,), "_dw": (w,)}[match["of"] or ""]
    for t in of:
        t.requires_grad_(True)
    forward = lambda: F.conv2d(x, w, stride=stride, padding=taps // 2)
    y = forward()
    flops = 2.0 * y.numel() * before * taps * taps
    if not of:
        return forward, flops, None
    dy = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, of, dy, retain_graph=True), flops, None


def adamw(match, device, _):
    p = torch.nn.Parameter(torch.randn(int(match["m"]), int(match["n"]), device=device))
    p.grad = torch.randn_like(p)
    return torch.optim.AdamW([p], lr=1e-4, **fused(device)).step, None, None


def rows(match, device, _):
    """softmax_xent: the loss and its gradient, as vktrain's row makes both; layernorm and softmax: forward."""
    m, n = int(match["m"]), int(match["n"])
    x = torch.randn(m, n, device=device)
    if match["op"] == "softmax":
        return lambda: torch.softmax(x, -1), None, None
    if match["op"] == "layernorm":
        w, b = torch.randn(n, device=device), torch.randn(n, device=device)
        return lambda: F.layer_norm(x, (n,), w, b), None, None
    x.requires_grad_(True)
    y = torch.randint(n, (m,), device=device)
    return lambda: torch.autograd.grad(F.cross_entropy(x, y, label_smoothing=0.1), x), None, None


def general(match, device, _):
    """As build_unary and the functions after it in src/bench/bench_ops_table.c; views are made contiguous, as vktrain's rows write."""
    m, n = int(match["m"]), int(match["n"])
    x, column = torch.randn(m, n, device=device), torch.randn(m, 1, device=device)
    return {
        "unary abs": lambda: x.abs(),
        "binary sub, a column": lambda: x - column,
        "permute transpose": lambda: x.t().contiguous(),
        "expand a column": lambda: column.expand(m, n).contiguous(),
        "concat columns": lambda: torch.cat((x, x), 1),
        "reduce logsumexp": lambda: torch.logsumexp(x, 1),
        "cumsum": lambda: x.cumsum(1),
        "place of the largest": lambda: x.argmax(1),
    }[match["op"]], None, None


def copy(match, device, _):
    """Bytes read and written, in place of flops."""
    n = int(match["mib"]) << 18
    x, y = torch.ones(n, device=device), torch.empty(n, device=device)
    return lambda: y.copy_(x), 8.0 * n, None


def fused(device):
    return {"fused": True} if device.type == "cuda" else {}


def mlp(match, device, compiled):
    sizes, batch = [int(s) for s in match["sizes"].split("-")], int(match["batch"])
    dtype = dtype_of(match)
    layers = []
    for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
        layers += [torch.nn.ReLU()] * (i > 0) + [torch.nn.Linear(before, after)]
    model = torch.nn.Sequential(*layers).to(device)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, **fused(device))
    x_host, y_host = torch.rand(batch, sizes[0]), torch.randint(sizes[-1], (batch,))
    if device.type == "cuda":
        x_host, y_host = x_host.pin_memory(), y_host.pin_memory()

    def forward(x, y):
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            return F.cross_entropy(model(x), y)

    loss_of = torch.compile(forward) if compiled else forward

    def step():
        x, y = x_host.to(device, non_blocking=True), y_host.to(device, non_blocking=True)
        adam.zero_grad(set_to_none=True)
        loss_of(x, y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)  # vktrain computes the norm every step
        adam.step()

    flops = 6.0 * batch * sum(a * b for a, b in zip(sizes, sizes[1:])) - 2.0 * batch * sizes[0] * sizes[1]
    return step, flops, batch


def conv_bn_relu(before, after, stride=1):
    return [torch.nn.Conv2d(before, after, 3, stride, 1, bias=False), torch.nn.BatchNorm2d(after), torch.nn.ReLU()]


class BasicBlock(torch.nn.Module):
    """Two 3x3 convolutions and a shortcut, a 1x1 convolution where the shape changes (He et al. 2015, option B)."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.body = torch.nn.Sequential(*conv_bn_relu(before, after, stride), *conv_bn_relu(after, after)[:2])
        self.shortcut = torch.nn.Sequential()
        if stride > 1 or before != after:
            self.shortcut = torch.nn.Sequential(torch.nn.Conv2d(before, after, 1, stride, bias=False), torch.nn.BatchNorm2d(after))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def small_cnn():
    return torch.nn.Sequential(*conv_bn_relu(1, 32), torch.nn.MaxPool2d(2), *conv_bn_relu(32, 64), torch.nn.MaxPool2d(2),
                               torch.nn.Flatten(), torch.nn.Linear(64 * 7 * 7, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))


def resnet20():
    blocks = [BasicBlock(b, a, s) for b, a, s in [(16, 16, 1)] * 3 + [(16, 32, 2)] + [(32, 32, 1)] * 2 + [(32, 64, 2)] + [(64, 64, 1)] * 2]
    return torch.nn.Sequential(*conv_bn_relu(3, 16), *blocks, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10))


class Bottleneck(torch.nn.Module):
    """1x1, 3x3 (with the stride), 1x1 of four times the channels, and a shortcut (He et al. 2015)."""

    def __init__(self, before, inner, stride):
        super().__init__()
        after, one = 4 * inner, torch.nn.Conv2d
        norm, relu = torch.nn.BatchNorm2d, torch.nn.ReLU
        self.body = torch.nn.Sequential(one(before, inner, 1, bias=False), norm(inner), relu(), *conv_bn_relu(inner, inner, stride),
                                        one(inner, after, 1, bias=False), norm(after))
        self.shortcut = torch.nn.Sequential()
        if stride > 1 or before != after:
            self.shortcut = torch.nn.Sequential(one(before, after, 1, stride, bias=False), norm(after))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def resnet50():
    blocks, before = [], 64
    for inner, n, stride in (64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2):
        for i in range(n):
            blocks.append(Bottleneck(before, inner, stride if i == 0 else 1))
            before = 4 * inner
    return torch.nn.Sequential(torch.nn.Conv2d(3, 64, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, 1),
                               *blocks, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(2048, 1000))


class UNet(torch.nn.Module):
    """Three halvings from 32 channels on, and back, each size beside what was there before: four classes a pixel."""

    def __init__(self):
        super().__init__()
        sizes = [32, 64, 128, 256]
        block = lambda before, after: torch.nn.Sequential(*conv_bn_relu(before, after))
        self.down = torch.nn.ModuleList(block(b, a) for b, a in zip([3] + sizes, sizes))
        self.wider = torch.nn.ModuleList(torch.nn.ConvTranspose2d(b, a, 2, 2) for b, a in zip(sizes[:0:-1], sizes[-2::-1]))
        self.up = torch.nn.ModuleList(block(2 * a, a) for a in sizes[-2::-1])
        self.head = torch.nn.Conv2d(sizes[0], 4, 1)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for wider, up, beside in zip(self.wider, self.up, kept[-2::-1]):
            x = up(torch.cat([beside, wider(x)], 1))
        return self.head(x)


class ViTBlock(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, linear = heads, torch.nn.Linear
        self.n1, self.n2 = torch.nn.LayerNorm(width, 1e-6), torch.nn.LayerNorm(width, 1e-6)
        self.qkv, self.out, self.up, self.down = linear(width, 3 * width), linear(width, width), linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x):
        b, t, width = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, width))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class ViT(torch.nn.Module):
    """ViT-Ti/16 (Dosovitskiy et al. 2020), as timm has it, or with another way from pictures to tokens."""

    def __init__(self, width=192, heads=3, layers=12, tokens=197, classes=1000, patch=None):
        super().__init__()
        self.patch = patch or torch.nn.Conv2d(3, width, 16, 16)
        self.first = torch.nn.Parameter(torch.zeros(1, 1, width))
        self.positions = torch.nn.Parameter(torch.randn(1, tokens, width) * 0.02)
        self.blocks = torch.nn.Sequential(*(ViTBlock(width, heads) for _ in range(layers)))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x)[:, 0]))


def hearer():
    """The encoder of Whisper-tiny's size (Radford et al. 2022): 30 s of sound as 3,000 rows of 80 numbers; a class token in place of a decoder."""
    conv = lambda before, stride: [torch.nn.Conv2d(before, 384, (3, 1), (stride, 1), (1, 0)), torch.nn.GELU("tanh")]
    return ViT(384, 6, 4, 1501, 35, torch.nn.Sequential(*conv(80, 1), *conv(384, 2)))


IMAGE_MODELS = {"Whisper-tiny's encoder": (hearer, (80, 3000, 1)), "U-Net 128x128": (UNet, (3, 128, 128)), "U-Net 256x256": (UNet, (3, 256, 256)), "ViT-Ti/16 224x224": (ViT, (3, 224, 224)),
                "CNN 28x28, conv 32-64": (small_cnn, (1, 28, 28)), "ResNet-20 32x32": (resnet20, (3, 32, 32)),
                "ResNet-50 224x224": (resnet50, (3, 224, 224))}


def image_model(match, device, compiled):
    make, shape = IMAGE_MODELS[match["model"]]
    dtype, pixels = dtype_of(match), match["model"].startswith("U-Net")
    classes = 4 if pixels else 35 if shape[0] == 80 else 1000 if shape[1] > 32 else 10
    batch, model = int(match["batch"]), make().to(device, memory_format=torch.channels_last)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, **fused(device))
    x_host, y_host = torch.rand(batch, *shape).contiguous(memory_format=torch.channels_last), torch.randint(classes, (batch, *shape[1:]) if pixels else (batch,))
    if device.type == "cuda":
        x_host, y_host = x_host.pin_memory(), y_host.pin_memory()

    def forward(x, y):
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            return F.cross_entropy(model(x), y)

    loss_of = torch.compile(forward) if compiled else forward

    def step():
        x, y = x_host.to(device, non_blocking=True), y_host.to(device, non_blocking=True)
        adam.zero_grad(set_to_none=True)
        loss_of(x, y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)  # vktrain computes the norm every step
        adam.step()

    return step, None, batch


class Adapted(torch.nn.Module):
    """A frozen layer whose outputs are those of several projections, with an adapter (LoRA) on each."""

    def __init__(self, layer, parts, rank):
        super().__init__()
        self.layer, self.rank = layer, rank
        self.a = torch.nn.Parameter(torch.randn(rank * len(parts), layer.in_features) * (3 * layer.in_features) ** -0.5)
        self.b = torch.nn.ParameterList(torch.zeros(n, rank) for n in parts)

    def forward(self, x):
        low = F.linear(x, self.a) * 2  # alpha is twice the rank
        return self.layer(x) + torch.cat([F.linear(l, b) for l, b in zip(low.split(self.rank, -1), self.b)], -1)


class Block(torch.nn.Module):
    """A block of GPT-2's kind, or (kv > 0) of Llama's: RMSNorm, rotary positions, shared keys, a gated mlp (unless not)."""

    def __init__(self, width, heads, kv, mlp, gated=True):
        super().__init__()
        self.heads, self.kv, self.size = heads, kv or heads, width // heads
        self.llama, linear = kv > 0, torch.nn.Linear
        self.gated = self.llama and gated
        norm = torch.nn.RMSNorm if self.llama else torch.nn.LayerNorm
        self.n1, self.n2 = norm(width), norm(width)
        self.qkv = linear(width, (heads + 2 * self.kv) * self.size, bias=not self.llama)
        self.out = linear(width, width, bias=not self.llama)
        self.up = linear(width, mlp * (2 if self.gated else 1), bias=not self.llama)
        self.down = linear(mlp, width, bias=not self.llama)

    def adapt(self, rank):
        width, mlp = self.out.in_features, self.down.in_features
        self.qkv = Adapted(self.qkv, [n * self.size for n in (self.heads, self.kv, self.kv)], rank)
        self.out = Adapted(self.out, [width], rank)
        self.up = Adapted(self.up, [mlp] * (2 if self.gated else 1), rank)
        self.down = Adapted(self.down, [width], rank)

    def rotate(self, x, angles):
        cos, sin = angles
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, x, angles, mask=None):
        """Causal, or as the mask says."""
        b, t, width = x.shape
        sizes = [n * self.size for n in (self.heads, self.kv, self.kv)]
        q, k, v = (part.view(b, t, -1, self.size).transpose(1, 2) for part in self.qkv(self.n1(x)).split(sizes, 2))
        if self.llama:
            q, k = self.rotate(q, angles), self.rotate(k, angles)
            k, v = (part.repeat_interleave(self.heads // self.kv, 1) for part in (k, v))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None).transpose(1, 2).reshape(b, t, width))
        h = self.up(self.n2(x))
        if self.gated:
            gate, up = h.chunk(2, -1)
            return x + self.down(F.silu(gate) * up)
        return x + self.down(F.gelu(h, approximate="tanh"))


def angles_of(context, size):
    angles = torch.arange(context)[:, None] * 1e4 ** (-torch.arange(0, size, 2) / size)
    return angles.cos(), angles.sin()


class LanguageModel(torch.nn.Module):
    def __init__(self, context, vocab, layers, width, heads, kv, mlp):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocab, width)
        self.positions = None if kv else torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, kv, mlp) for _ in range(layers))
        self.norm = torch.nn.RMSNorm(width) if kv else torch.nn.LayerNorm(width)
        for name, value in zip(("cos", "sin"), angles_of(context, width // heads)):
            self.register_buffer(name, value)

    def forward(self, ids):
        x = self.tokens(ids)
        if self.positions:
            x = x + self.positions.weight
        for block in self.blocks:
            x = block(x, (self.cos, self.sin))
        return F.linear(self.norm(x), self.tokens.weight)


class Sentence(torch.nn.Module):
    """As the layer `sentence` with `full`: blocks in which tokens attend to all of their sentence, then the tokens' mean, normalised."""

    def __init__(self, context, vocab, layers, width, heads, mlp, classes):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocab, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, heads, mlp, gated=False) for _ in range(layers))
        self.norm, self.head = torch.nn.RMSNorm(width), torch.nn.Linear(width, classes)
        for name, value in zip(("cos", "sin"), angles_of(context, width // heads)):
            self.register_buffer(name, value)

    def forward(self, ids, there):
        x, mask = self.tokens(ids), there[:, None, None, :]
        for block in self.blocks:
            x = block(x, (self.cos, self.sin), mask)
        return self.head(self.norm((x * there[..., None]).sum(1)))


def sentence(match, device, compiled):
    """MiniLM's size (Wang et al. 2020); sentences of half to all tokens."""
    batch, context, vocab, dtype = int(match["batch"]), int(match["context"]), 30522, dtype_of(match)
    model = Sentence(context, vocab, 6, 384, 12, 1536, 2).to(device)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, **fused(device))
    ids_host, y_host = torch.randint(vocab, (batch, context)), torch.randint(2, (batch,))
    there_host = torch.arange(context) < torch.randint(context // 2, context + 1, (batch, 1))
    hosts = [ids_host, there_host, y_host]
    if device.type == "cuda":
        hosts = [t.pin_memory() for t in hosts]

    def forward(ids, there, y):
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            return F.cross_entropy(model(ids, there), y)

    loss_of = torch.compile(forward) if compiled else forward

    def step():
        adam.zero_grad(set_to_none=True)
        loss_of(*(t.to(device, non_blocking=True) for t in hosts)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)  # vktrain computes the norm every step
        adam.step()

    return step, None, batch


GEOMETRIES = {  # vocabulary (GPT-2's rounded up, as both sides compute it), layers, width, heads, heads of keys (0: GPT-2's kind), mlp
    "GPT 0.8M": (65, 4, 128, 4, 0, 512),
    "GPT 10.8M": (65, 6, 384, 6, 0, 1536),
    "GPT-2 124M": (50304, 12, 768, 12, 0, 3072),
    "SmolLM2-135M": (49152, 30, 576, 9, 3, 1536),
    "TinyLlama-1.1B": (32000, 22, 2048, 32, 4, 5632),
}


def language_model(match, device, compiled):
    geometry, batch, context = GEOMETRIES[match["model"]], int(match["batch"]), int(match["context"])
    dtype = dtype_of(match)
    model = LanguageModel(context, *geometry)
    if match["lora"]:
        model.requires_grad_(False)
        for block in model.blocks:
            block.adapt(8)
    model = model.to(device)
    trained = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.AdamW(trained, lr=1e-4, **fused(device))
    ids_host = torch.randint(geometry[0], (batch, context + 1))
    if device.type == "cuda":
        ids_host = ids_host.pin_memory()

    def forward(ids):
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    loss_of = torch.compile(forward) if compiled else forward

    def step():
        ids = ids_host.to(device, non_blocking=True)
        adam.zero_grad(set_to_none=True)
        loss_of(ids).backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        adam.step()

    n_params = sum(p.numel() for p in model.parameters()) - (model.positions.weight.numel() if model.positions else 0)
    attention = 6.0 * batch * context * (context + 1) * geometry[1] * geometry[2]  # causal; forward and twice that
    each = 4.0 if match["lora"] else 6.0  # frozen weights have no gradients
    return step, each * n_params * batch * context + attention, batch * context
