"""Published architectures, small, written once for torch and for vktrain: `t` is the package, whose
names both have. Each entry of NETS gives a module, its inputs, and its loss of the module's outputs.
"""
import numpy as np


def nets(t):
    nn, F = t.nn, t.nn.functional
    cat = t.cat if hasattr(t, "cat") else t.concat

    class ConvBN(nn.Module):
        def __init__(self, a, b, k=3, stride=1, groups=1, act=True):
            super().__init__()
            self.conv = nn.Conv2d(a, b, k, stride, (k - 1) // 2, groups=groups, bias=False)
            self.bn = nn.BatchNorm2d(b)
            self.act = nn.ReLU() if act is True else act or nn.Identity()

        def forward(self, x):
            return self.act(self.bn(self.conv(x)))

    class UNet(nn.Module):
        def __init__(self, n=8):
            super().__init__()
            self.down1 = nn.Sequential(ConvBN(3, n), ConvBN(n, n))
            self.down2 = nn.Sequential(ConvBN(n, 2 * n), ConvBN(2 * n, 2 * n))
            self.mid = nn.Sequential(ConvBN(2 * n, 4 * n), ConvBN(4 * n, 4 * n))
            self.up2 = nn.ConvTranspose2d(4 * n, 2 * n, 2, stride=2)
            self.right2 = ConvBN(4 * n, 2 * n)
            self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
            self.right1 = ConvBN(3 * n, n)
            self.head = nn.Conv2d(n, 5, 1)

        def forward(self, x):
            a = self.down1(x)
            b = self.down2(F.max_pool2d(a, 2))
            c = self.mid(F.max_pool2d(b, 2))
            b = self.right2(cat([self.up2(c), b], 1))
            return self.head(self.right1(cat([self.up1(b), a], 1)))

    class Bottleneck(nn.Module):
        def __init__(self, cin, width, stride):
            super().__init__()
            out = 4 * width
            self.conv1, self.bn1 = nn.Conv2d(cin, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
            self.relu = nn.ReLU()
            self.downsample = None
            if stride != 1 or cin != out:
                self.downsample = nn.Sequential(nn.Conv2d(cin, out, 1, stride, bias=False),
                                                nn.BatchNorm2d(out))

        def forward(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            y = self.bn3(self.conv3(y))
            return self.relu(y + (x if self.downsample is None else self.downsample(x)))

    class ResNet50(nn.Module):
        def __init__(self, width=8, classes=10):
            super().__init__()
            self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
            self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU()
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            cin = width
            for i, n in enumerate((3, 4, 6, 3)):
                w, blocks = width << i, []
                for k in range(n):
                    blocks.append(Bottleneck(cin, w, 2 if k == 0 and i > 0 else 1))
                    cin = 4 * w
                setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
            self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(cin, classes)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(self.avgpool(x).flatten(1))

    class Inverted(nn.Module):
        def __init__(self, a, b, stride, expand):
            super().__init__()
            h = a * expand
            self.skip = stride == 1 and a == b
            self.conv = nn.Sequential(*(
                ([ConvBN(a, h, 1, act=nn.ReLU6())] if expand != 1 else []) +
                [ConvBN(h, h, 3, stride, groups=h, act=nn.ReLU6()), ConvBN(h, b, 1, act=None)]))

        def forward(self, x):
            return x + self.conv(x) if self.skip else self.conv(x)

    class MobileNetV2(nn.Module):
        def __init__(self):
            super().__init__()
            layers, cin = [ConvBN(3, 8, 3, 2, act=nn.ReLU6())], 8
            for e, c, n, s in ((1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 3, 2), (6, 24, 2, 1)):
                for k in range(n):
                    layers.append(Inverted(cin, c, s if k == 0 else 1, e))
                    cin = c
            self.features = nn.Sequential(*layers, ConvBN(cin, 64, 1, act=nn.ReLU6()))
            self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(64, 10))

        def forward(self, x):
            return self.classifier(self.features(x).mean([2, 3]))

    class SqueezeExcite(nn.Module):
        def __init__(self, n, s):
            super().__init__()
            self.fc1, self.fc2 = nn.Conv2d(n, s, 1), nn.Conv2d(s, n, 1)

        def forward(self, x):
            return x * F.sigmoid(self.fc2(F.silu(self.fc1(F.adaptive_avg_pool2d(x, 1)))))

    class EfficientNet(nn.Module):
        def __init__(self):
            super().__init__()
            act = nn.SiLU()
            self.stem = ConvBN(3, 8, 3, 2, act=act)
            self.blocks = nn.ModuleList()
            for h, k, s in ((24, 3, 1), (24, 5, 1), (32, 3, 1)):
                self.blocks.append(nn.Sequential(ConvBN(8, h, 1, act=act),
                                                 ConvBN(h, h, k, s, groups=h, act=act),
                                                 SqueezeExcite(h, 4), ConvBN(h, 8, 1, act=None)))
            self.head, self.fc = ConvBN(8, 48, 1, act=act), nn.Linear(48, 10)

        def forward(self, x):
            x = self.stem(x)
            for b in self.blocks:
                x = x + b(x)
            return self.fc(F.adaptive_avg_pool2d(self.head(x), 1).flatten(1))

    class DenseNet(nn.Module):
        def __init__(self, growth=8):
            super().__init__()
            self.conv0, cin = nn.Conv2d(3, 16, 3, padding=1, bias=False), 16
            self.blocks, self.transitions = nn.ModuleList(), nn.ModuleList()
            for n in (3, 4):
                layers = nn.ModuleList()
                for _ in range(n):
                    layers.append(nn.Sequential(
                        nn.BatchNorm2d(cin), nn.ReLU(), nn.Conv2d(cin, 4 * growth, 1, bias=False),
                        nn.BatchNorm2d(4 * growth), nn.ReLU(),
                        nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)))
                    cin += growth
                self.blocks.append(layers)
                self.transitions.append(nn.Sequential(nn.BatchNorm2d(cin), nn.ReLU(),
                                                      nn.Conv2d(cin, cin // 2, 1, bias=False),
                                                      nn.AvgPool2d(2)))
                cin //= 2
            self.classifier = nn.Linear(cin, 10)

        def forward(self, x):
            x = self.conv0(x)
            for layers, transition in zip(self.blocks, self.transitions):
                for layer in layers:
                    x = cat([x, layer(x)], 1)
                x = transition(x)
            return self.classifier(F.adaptive_avg_pool2d(F.relu(x), (1, 1)).flatten(1))

    class ViT(nn.Module):
        def __init__(self, e=32):
            super().__init__()
            self.patch = nn.Conv2d(3, e, 4, 4)
            zeros = t.zeros if t.__name__ == "torch" else lambda *shape: np.zeros(shape)
            self.cls, self.pos = nn.Parameter(zeros(1, 1, e)), nn.Parameter(zeros(1, 17, e))
            self.layers = nn.ModuleList([
                nn.TransformerEncoderLayer(e, 4, 2 * e, 0.0, "gelu", batch_first=True,
                                           norm_first=True) for _ in range(2)])
            self.norm, self.head = nn.LayerNorm(e), nn.Linear(e, 10)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x)[:, 0])

    class Bert(nn.Module):
        def __init__(self, e=32):
            super().__init__()
            self.words, self.pos = nn.Embedding(50, e), nn.Embedding(12, e)
            self.norm = nn.LayerNorm(e)
            self.layers = nn.ModuleList([
                nn.TransformerEncoderLayer(e, 4, 2 * e, 0.0, "gelu", batch_first=True)
                for _ in range(2)])
            self.head = nn.Linear(e, 50)

        def forward(self, ids):
            x = self.norm(self.words(ids) + self.pos.weight)
            for layer in self.layers:
                x = layer(x)
            return self.head(x).transpose(1, 2)

    class Translate(nn.Module):
        def __init__(self, e=32):
            super().__init__()
            self.source, self.target = nn.Embedding(40, e), nn.Embedding(40, e)
            self.encoder = nn.TransformerEncoderLayer(e, 4, 64, 0.0, batch_first=True)
            self.decoder = nn.TransformerDecoderLayer(e, 4, 64, 0.0, batch_first=True)
            self.head = nn.Linear(e, 40)

        def forward(self, ids, out):
            memory = self.encoder(self.source(ids))
            n = out.shape[1]
            mask = np.triu(np.full((n, n), -1e9, np.float32), 1)
            mask = t.from_numpy(mask).to(memory.dtype) if t.__name__ == "torch" else mask
            return self.head(self.decoder(self.target(out), memory, mask)).transpose(1, 2)

    class WaveNet(nn.Module):
        def __init__(self, c=16):
            super().__init__()
            self.first = nn.Conv1d(1, c, 1)
            self.gates = nn.ModuleList([nn.Conv1d(c, 2 * c, 2, dilation=2 ** i) for i in range(4)])
            self.skips = nn.ModuleList([nn.Conv1d(c, c, 1) for _ in range(4)])
            self.last = nn.Conv1d(c, 8, 1)

        def forward(self, x):
            x, total = self.first(x), 0
            for i, (gate, skip) in enumerate(zip(self.gates, self.skips)):
                a, b = gate(F.pad(x, (2 ** i, 0))).chunk(2, 1)
                y = skip(F.tanh(a) * F.sigmoid(b))
                x, total = x + y, total + y
            return self.last(F.relu(total))

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(),
                                     nn.Linear(8 * 16, 8))
            self.dec = nn.Sequential(nn.Linear(4, 8 * 16), nn.ReLU(), nn.Unflatten(1, (8, 4, 4)),
                                     nn.ConvTranspose2d(8, 1, 3, 2, 1, 1))

        def forward(self, x, noise):
            mean, log_var = self.enc(x).chunk(2, 1)
            return self.dec(mean + (log_var * 0.5).exp() * noise), mean, log_var

    class LstmLM(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(30, 16)
            self.lstm = nn.LSTM(16, 24, 2, batch_first=True)
            self.head = nn.Linear(24, 30)

        def forward(self, ids):
            return self.head(self.lstm(self.emb(ids))[0]).transpose(1, 2)

    class GruNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.head = nn.GRU(5, 12), nn.Linear(12, 3)

        def forward(self, x):
            return self.head(self.gru(x)[1][0])

    class Gan(nn.Module):
        def __init__(self):
            super().__init__()
            self.g = nn.Sequential(nn.Linear(8, 16 * 4 * 4), nn.Unflatten(1, (16, 4, 4)),
                                   nn.BatchNorm2d(16), nn.ReLU(),
                                   nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.ReLU(),
                                   nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())
            self.d = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2),
                                   nn.Conv2d(8, 16, 4, 2, 1), nn.GroupNorm(4, 16), nn.LeakyReLU(0.2),
                                   nn.Flatten(), nn.Linear(256, 1))

        def forward(self, z):
            return self.d(self.g(z))

    rng = np.random.default_rng(7)
    picture = lambda n, s: rng.standard_normal((n, 3, s, s)).astype(np.float32)
    ids = lambda n, *shape: rng.integers(0, n, shape)
    xent = lambda y, target: F.cross_entropy(y, target)
    x32, y10 = picture(4, 32), ids(10, 4)

    def vae_loss(out, x):
        y, mean, log_var = out
        kl = (mean * mean + log_var.exp() - log_var - 1).sum() * 0.5
        return F.mse_loss(y, x, reduction="sum") + kl

    small = rng.standard_normal((4, 1, 8, 8)).astype(np.float32)
    # name: (module, inputs, what the loss compares outputs with, loss)
    return {
        "unet": (UNet, [picture(2, 16)], ids(5, 2, 16, 16), xent),
        "resnet50": (ResNet50, [picture(8, 64)], ids(10, 8), xent),
        "mobilenet_v2": (MobileNetV2, [x32], y10, xent),
        "efficientnet": (EfficientNet, [x32], y10, xent),
        "densenet": (DenseNet, [picture(4, 16)], y10, xent),
        "vit": (ViT, [picture(4, 16)], y10, xent),
        "bert": (Bert, [ids(50, 3, 12)], ids(50, 3, 12), xent),
        "encoder_decoder": (Translate, [ids(40, 3, 7), ids(40, 3, 5)], ids(40, 3, 5), xent),
        "wavenet": (WaveNet, [rng.standard_normal((2, 1, 40)).astype(np.float32)], ids(8, 2, 40), xent),
        "vae": (VAE, [small, rng.standard_normal((4, 4)).astype(np.float32)], small, vae_loss),
        "lstm_lm": (LstmLM, [ids(30, 3, 9)], ids(30, 3, 9), xent),
        "gru": (GruNet, [rng.standard_normal((6, 4, 5)).astype(np.float32)], ids(3, 4), xent),
        "gan": (Gan, [rng.standard_normal((4, 8)).astype(np.float32)], np.ones((4, 1), np.float32),
                lambda y, one: F.binary_cross_entropy_with_logits(y, one)),
    }
