"""Writes tests/golden/resnet.json: names and shapes of the tensors of ResNet-18, -34 and -50 as torchvision and timm save them, from the
architecture written here in plain PyTorch (He et al. 2015, the bottleneck's stride in its 3x3 convolution).
Run: python3 tools/golden/golden_resnet.py (PyTorch). tools/compare/check_pretrained.sh takes the models from here."""
import json
import pathlib

import torch
from torch import nn


class Basic(nn.Module):
    widening = 1

    def __init__(self, n_in, n, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n_in, n, 3, stride, 1, bias=False), nn.BatchNorm2d(n)
        self.conv2, self.bn2 = nn.Conv2d(n, n, 3, 1, 1, bias=False), nn.BatchNorm2d(n)
        if stride > 1 or n_in != n:
            self.downsample = nn.Sequential(nn.Conv2d(n_in, n, 1, stride, bias=False), nn.BatchNorm2d(n))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class Bottleneck(nn.Module):
    widening = 4

    def __init__(self, n_in, n, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n_in, n, 1, bias=False), nn.BatchNorm2d(n)
        self.conv2, self.bn2 = nn.Conv2d(n, n, 3, stride, 1, bias=False), nn.BatchNorm2d(n)
        self.conv3, self.bn3 = nn.Conv2d(n, 4 * n, 1, bias=False), nn.BatchNorm2d(4 * n)
        if stride > 1 or n_in != 4 * n:
            self.downsample = nn.Sequential(nn.Conv2d(n_in, 4 * n, 1, stride, bias=False), nn.BatchNorm2d(4 * n))

    def forward(self, x):
        y = torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))
        return torch.relu(self.bn3(self.conv3(y)) + (self.downsample(x) if hasattr(self, "downsample") else x))


class ResNet(nn.Module):
    def __init__(self, block, depths, classes=1000):
        super().__init__()
        self.conv1, self.bn1, n = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), 64
        for i, depth in enumerate(depths):
            blocks, width = [], 64 << i
            for k in range(depth):
                blocks.append(block(n, width, 2 if i and not k else 1))
                n = width * block.widening
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(n, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


MODELS = {"resnet18": (Basic, (2, 2, 2, 2)), "resnet34": (Basic, (3, 4, 6, 3)), "resnet50": (Bottleneck, (3, 4, 6, 3))}

if __name__ == "__main__":
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/resnet.json"
    lines = [f'"{name}": ' + json.dumps({k: list(v.shape) for k, v in ResNet(*MODELS[name]).state_dict().items()}) for name in MODELS]
    path.write_text("{" + ",\n".join(lines) + "}\n")
