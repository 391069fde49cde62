"""Layers: names of parameters, shapes and initial values as PyTorch's."""
import numpy as np

from . import functional as F
from . import init
from .._tensor import Tensor, concat, stack, tensor, zeros
from .._trace import fail
from .module import Module
from .parameter import CONV, CONV1, Buffer, Parameter


class Linear(Module):
    """x [.., in_features] -> [.., out_features]."""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(init.fan_in((out_features, in_features), in_features))
        self.bias = Parameter(init.fan_in((out_features,), in_features)) if bias else None

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self):
        return f"{self.in_features}, {self.out_features}"


class Embedding(Module):
    """ids -> [.., embedding_dim]."""

    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = Parameter(init.normal((num_embeddings, embedding_dim)))

    def forward(self, ids):
        return F.embedding(ids, self.weight)


class _Conv(Module):
    def __init__(self, cin, cout, kernel, stride, padding, dilation, groups, bias, mode, rank,
                 transposed=False):
        super().__init__()
        kernel = (kernel,) * rank if isinstance(kernel, int) else tuple(kernel)
        shape = ((cin, cout // groups) if transposed else (cout, cin // groups)) + kernel
        fan = int(np.prod(shape[1:]))
        self.weight = Parameter(init.fan_in(shape, fan), order=CONV if rank == 2 else CONV1)
        self.bias = Parameter(init.fan_in((cout,), fan)) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.padding_mode = mode

    def _padded(self, x, rank):
        if self.padding_mode == "zeros":
            return x, self.padding
        p = (self.padding,) * rank if isinstance(self.padding, int) else self.padding
        return F.pad(x, [n for v in reversed(p) for n in (v, v)], self.padding_mode), 0


class Conv2d(_Conv):
    """x [N, in, H, W] -> [N, out, OH, OW]."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True, padding_mode="zeros"):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, 2)

    def forward(self, x):
        x, padding = self._padded(x, 2)
        return F.conv2d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """x [N, in, L] -> [N, out, OL]."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True, padding_mode="zeros"):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, 1)

    def forward(self, x):
        x, padding = self._padded(x, 1)
        return F.conv1d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class ConvTranspose2d(_Conv):
    """x [N, in, H, W] -> [N, out, OH, OW]: what a Conv2d's gradient does."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0,
                 output_padding=0, groups=1, bias=True, dilation=1):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, "zeros", 2, transposed=True)
        self.output_padding = output_padding

    def forward(self, x):
        return F.conv_transpose2d(x, self.weight, self.bias, self.stride, self.padding,
                                  self.output_padding, self.groups, self.dilation)


# ---- norms ----

class LayerNorm(Module):
    """Over the last dimensions."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else \
            tuple(normalized_shape)
        self.eps = eps
        ones = np.ones(self.normalized_shape, np.float32)
        self.weight = Parameter(ones) if elementwise_affine else None
        self.bias = Parameter(0 * ones) if elementwise_affine and bias else None

    def forward(self, x):
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) * weight."""

    def __init__(self, normalized_shape, eps=1e-6):
        super().__init__()
        self.n, self.eps = normalized_shape, eps
        self.weight = Parameter(np.ones(normalized_shape, np.float32))

    def forward(self, x):
        return F.rms_norm(x, self.n, self.weight, self.eps)


class _BatchNorm(Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        ones = np.ones(num_features, np.float32)
        self.weight = Parameter(ones) if affine else None
        self.bias = Parameter(0 * ones) if affine else None
        self.running_mean, self.running_var = Buffer(0 * ones), Buffer(ones)
        self.num_batches_tracked = Buffer(np.zeros(1, np.uint32))

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, self.num_batches_tracked,
                            self.weight, self.bias, self.training, self.momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """x [N, C] or [N, C, L]."""


class BatchNorm2d(_BatchNorm):
    """x [N, C, H, W]. In training, each computation moves the running values once."""


class GroupNorm(Module):
    """x [N, C, ..]: over each group of channels of each example."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        self.num_groups, self.eps = num_groups, eps
        ones = np.ones(num_channels, np.float32)
        self.weight = Parameter(ones) if affine else None
        self.bias = Parameter(0 * ones) if affine else None

    def forward(self, x):
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


class InstanceNorm2d(Module):
    """x [N, C, H, W]: over the pixels of each channel of each example."""

    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.n, self.eps = num_features, eps
        ones = np.ones(num_features, np.float32)
        self.weight = Parameter(ones) if affine else None
        self.bias = Parameter(0 * ones) if affine else None

    def forward(self, x):
        return F.group_norm(x, self.n, self.weight, self.bias, self.eps)


class Dropout(Module):
    """In training, zeros with probability p."""

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p, self.training)


# ---- attention and transformers ----

class MultiheadAttention(Module):
    """query [T, N, E], key, value [S, N, E], with batch_first [N, T, E], ..: -> (output, None)."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, batch_first=False):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is no multiple of num_heads {num_heads}")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.in_proj_weight = Parameter(init.xavier_uniform((3 * embed_dim, embed_dim)))
        self.in_proj_bias = Parameter(np.zeros(3 * embed_dim, np.float32)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if bias:
            self.out_proj.bias.copy_(np.zeros(embed_dim))

    def forward(self, query, key, value, attn_mask=None, is_causal=False, need_weights=False):
        """attn_mask [T, S] or [N heads, T, S]: added to the scores. is_causal: no mask is needed."""
        if need_weights:
            F._refuse("MultiheadAttention with need_weights: weights are never stored")
        q, k, v = tensor(query), tensor(key), tensor(value)
        same = q._pair == k._pair == v._pair
        if not self.batch_first:
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        e, h = self.embed_dim, self.num_heads
        p = self.dropout if self.training else 0.0
        fused = attn_mask is None and p == 0 and (e // h) % 4 == 0 and e // h <= 256
        if same and fused:
            y = F.attention(F.linear(q, self.in_proj_weight, self.in_proj_bias), None, None, h,
                            is_causal)
        else:
            w = self.in_proj_weight
            b = self.in_proj_bias
            parts = [F.linear(x, w[i * e:(i + 1) * e], None if b is None else b[i * e:(i + 1) * e])
                     for i, x in enumerate((q, k, v))]
            if fused and (not is_causal or q.shape[1] == k.shape[1]):
                y = F.attention(*parts, h, is_causal)
            else:
                heads = [x.reshape(x.shape[0], x.shape[1], h, e // h).permute(0, 2, 1, 3)
                         for x in parts]
                if attn_mask is not None:
                    attn_mask = tensor(attn_mask)
                    if attn_mask.ndim == 3:
                        attn_mask = attn_mask.reshape((-1, h) + attn_mask.shape[1:])
                y = F.scaled_dot_product_attention(*heads, attn_mask, p, is_causal)
                y = F._to_tokens(y)
        y = self.out_proj(y)
        return (y if self.batch_first else y.transpose(0, 1)), None


_ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


class TransformerEncoderLayer(Module):
    """Attention and two linear layers, as PyTorch's."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu",
                 layer_norm_eps=1e-5, batch_first=False, norm_first=False):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model)
        self.norm1, self.norm2 = LayerNorm(d_model, layer_norm_eps), LayerNorm(d_model, layer_norm_eps)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _ACTIVATIONS.get(activation, activation)
        self.norm_first = norm_first

    def _attend(self, x, mask, causal):
        return self.dropout1(self.self_attn(x, x, x, attn_mask=mask, is_causal=causal)[0])

    def _feed(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(self, src, src_mask=None, is_causal=False):
        x = tensor(src)
        if self.norm_first:
            x = x + self._attend(self.norm1(x), src_mask, is_causal)
            return x + self._feed(self.norm2(x))
        x = self.norm1(x + self._attend(x, src_mask, is_causal))
        return self.norm2(x + self._feed(x))


class TransformerDecoderLayer(Module):
    """Attention to what was written, to what was read, and two linear layers, as PyTorch's."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu",
                 layer_norm_eps=1e-5, batch_first=False, norm_first=False):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model)
        self.norm1, self.norm2 = LayerNorm(d_model, layer_norm_eps), LayerNorm(d_model, layer_norm_eps)
        self.norm3 = LayerNorm(d_model, layer_norm_eps)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _ACTIVATIONS.get(activation, activation)
        self.norm_first = norm_first

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_is_causal=False):
        def own(x):
            return self.dropout1(self.self_attn(x, x, x, attn_mask=tgt_mask,
                                                is_causal=tgt_is_causal)[0])

        def across(x):
            return self.dropout2(self.multihead_attn(x, memory, memory, attn_mask=memory_mask)[0])

        def feed(x):
            return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        x = tensor(tgt)
        if self.norm_first:
            x = x + own(self.norm1(x))
            x = x + across(self.norm2(x))
            return x + feed(self.norm3(x))
        x = self.norm1(x + own(x))
        x = self.norm2(x + across(x))
        return self.norm3(x + feed(x))


# ---- recurrent: unrolled over the steps ----

class _Recurrent(Module):
    gates = 1

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False):
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.num_layers, self.batch_first, self.has_bias = num_layers, batch_first, bias
        n = self.gates * hidden_size
        for k in range(num_layers):
            into = input_size if k == 0 else hidden_size
            setattr(self, f"weight_ih_l{k}", Parameter(init.fan_in((n, into), hidden_size)))
            setattr(self, f"weight_hh_l{k}", Parameter(init.fan_in((n, hidden_size), hidden_size)))
            if bias:
                setattr(self, f"bias_ih_l{k}", Parameter(init.fan_in((n,), hidden_size)))
                setattr(self, f"bias_hh_l{k}", Parameter(init.fan_in((n,), hidden_size)))

    def _of(self, name, k):
        return getattr(self, f"{name}_l{k}") if self.has_bias or name[0] == "w" else None

    def _layer(self, x, k, states):
        """x [T, N, in]: a layer's outputs [T, N, hidden], and its last states."""
        all_in = F.linear(x, self._of("weight_ih", k), self._of("bias_ih", k))
        w, b, out = self._of("weight_hh", k), self._of("bias_hh", k), []
        for t in range(x.shape[0]):
            states = self.step(all_in[t], F.linear(states[0], w, b), states)
            out.append(states[0])
        return stack(out), states

    def _all(self, x, states):
        x = tensor(x)
        if x.ndim != 3:
            fail(f"{type(self).__name__} needs 3 dimensions", x._pair)
        x = x.transpose(0, 1) if self.batch_first else x
        last = []
        for k in range(self.num_layers):
            x, end = self._layer(x, k, [zeros(x.shape[1], self.hidden_size) for _ in range(self.n_states)]
                                 if states is None else [tensor(s)[k] for s in states])
            last.append(end)
        y = x.transpose(0, 1) if self.batch_first else x
        return y, [stack([end[i] for end in last]) for i in range(self.n_states)]


class LSTM(_Recurrent):
    """x [T, N, in], with batch_first [N, T, in] -> (outputs, (h, c)), as PyTorch's."""
    gates, n_states = 4, 2

    def step(self, a, b, states):
        i, f, g, o = (a + b).chunk(4, -1)
        c = F.sigmoid(f) * states[1] + F.sigmoid(i) * F.tanh(g)
        return [F.sigmoid(o) * F.tanh(c), c]

    def forward(self, x, states=None):
        y, last = self._all(x, states)
        return y, tuple(last)


class GRU(_Recurrent):
    """x [T, N, in], with batch_first [N, T, in] -> (outputs, h), as PyTorch's."""
    gates, n_states = 3, 1

    def step(self, a, b, states):
        (ar, az, an), (br, bz, bn) = a.chunk(3, -1), b.chunk(3, -1)
        z = F.sigmoid(az + bz)
        n = F.tanh(an + F.sigmoid(ar + br) * bn)
        return [n + z * (states[0] - n)]

    def forward(self, x, state=None):
        y, last = self._all(x, None if state is None else [state])
        return y, last[0]


# ---- without parameters ----

def _plain(name, function, doc):
    def __init__(self, *args, inplace=False, **kwargs):
        Module.__init__(self)
        self.args, self.kwargs = args, kwargs

    def forward(self, *xs):
        return function(*xs, *self.args, **self.kwargs)
    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__doc__": doc,
                                  "__module__": __name__})


for _name, _function in (
        ("ReLU", F.relu), ("GELU", F.gelu), ("SiLU", F.silu), ("Sigmoid", F.sigmoid),
        ("Tanh", F.tanh), ("Mish", F.mish), ("Hardswish", F.hardswish), ("ReLU6", F.relu6),
        ("Hardsigmoid", F.hardsigmoid), ("LeakyReLU", F.leaky_relu), ("ELU", F.elu),
        ("Softplus", F.softplus), ("Softmax", F.softmax), ("LogSoftmax", F.log_softmax),
        ("GLU", F.glu), ("MaxPool2d", F.max_pool2d), ("AvgPool2d", F.avg_pool2d),
        ("AdaptiveAvgPool2d", F.adaptive_avg_pool2d), ("MSELoss", F.mse_loss), ("L1Loss", F.l1_loss),
        ("CrossEntropyLoss", F.cross_entropy), ("HuberLoss", F.huber_loss),
        ("SmoothL1Loss", F.smooth_l1_loss),
        ("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits)):
    globals()[_name] = _plain(_name, _function, f"functional.{_function.__name__} as a module.")


class Identity(Module):
    def forward(self, x):
        return tensor(x)


class Flatten(Module):
    """All dimensions from start_dim on as one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        return tensor(x).flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Dimension dim in the shape `sizes`."""

    def __init__(self, dim, sizes):
        super().__init__()
        self.dim, self.sizes = dim, tuple(sizes)

    def forward(self, x):
        x = tensor(x)
        d = self.dim % x.ndim
        return x.reshape(x.shape[:d] + self.sizes + x.shape[d + 1:])


class Upsample(Module):
    """x [N, C, H, W] in another size, or scale_factor times as large."""

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=False):
        super().__init__()
        self.how = size, scale_factor, mode, align_corners

    def forward(self, x):
        return F.interpolate(x, *self.how)
