#!/usr/bin/env python3
"""Writes tests/golden/onnx: small nets that torch.onnx exports, with an input and, by PyTorch in double precision, the
output (ONNX Runtime's is near it) and the gradients of sum(weight * output); and some of ONNX's own node tests. Needs PyTorch, onnx and onnxruntime.
usage: golden_onnx.py [FOLDER]      the nets; FOLDER also gets all node tests of the onnx package, as tests/onnx/test_onnx reads them
"""
import os
import sys
import warnings

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import torch
from onnx import TensorProto, numpy_helper
from torch import nn

warnings.filterwarnings("ignore")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "onnx")
NODES = """add_bcast averagepool_2d_ceil averagepool_2d_same_lower batchnorm_example clip concat_3d_axis_1 conv_with_strides_and_asymmetric_padding
convtranspose_group_2 cumsum_2d_axis_1 depthtospace_crd_mode_example gather_negative_indices gemm_all_attributes
group_normalization_example instancenorm_example layer_normalization_4d_axis1 logsoftmax_axis_1 matmul_4d maxpool_2d_ceil
prelu_broadcast reduce_mean_negative_axes_keepdims_random resize_upsample_scales_linear_align_corners slice_negative_axes
averagepool_2d_pads averagepool_2d_pads_count_include_pad
convtranspose_dilations convtranspose_pads lstm_defaults lstm_with_initial_bias maxpool_2d_same_lower round mod_mixed_sign_int32 div_int16 layer_normalization_2d_axis1 hardmax_axis_1 argmax_default_axis_example_select_last_index
lrn l2normalization_axis_1 lppool_2d_pads maxpool_3d_dilations averagepool_3d_dilations_small
gathernd_example_int32_batch_dim1 scatter_elements_with_negative_indices scatternd_add compress_1 onehot_with_axis nonzero_example
resize_downsample_sizes_linear_antialias resize_upsample_sizes_cubic resize_tf_crop_and_resize_axes_2_3 resize_upsample_sizes_nearest_ceil_half_pixel
quantizelinear_axis dequantizelinear_axis einsum_batch_matmul einsum_sum attention_4d_gqa_with_past_and_present attention_3d_causal
attention_4d_softcap rotary_embedding_interleaved rotary_embedding_with_rotary_dim convtranspose_output_shape
softmax_axis_0 split_variable_parts_2d_opset18 top_k transpose_all_permutations_4 tril_pos where_example
gridsample gridsample_bicubic_align_corners_0_additional_1 gridsample_border_padding gridsample_nearest_align_corners_1_additional_1
gridsample_reflection_padding gridsample_volumetric_bilinear_align_corners_1 affine_grid_2d affine_grid_3d_align_corners
sinh asin acos atan acosh atanh reversesequence_batch reversesequence_time""".split()


def put(folder, name, i, array, tensor_name="x"):
    t = array if isinstance(array, TensorProto) else numpy_helper.from_array(np.array(array, order="C"), tensor_name)
    with open(os.path.join(folder, f"{name}_{i}.pb"), "wb") as f:
        f.write(t.SerializeToString())


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=4), nn.BatchNorm2d(8)
        self.short, self.out = nn.Conv2d(8, 8, 1, stride=2), nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        x = nn.functional.hardswish(self.norm2(self.conv2(x)) + self.short(x))
        return self.out(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Upward(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.up = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1), nn.ConvTranspose2d(6, 4, 2, 2)
        self.c, self.norm = nn.Conv2d(8, 1, 3, padding=1), nn.GroupNorm(3, 6)

    def forward(self, x):
        a = nn.functional.silu(self.a(x))
        b = torch.tanh(self.norm(self.b(nn.functional.max_pool2d(a, 2))))
        y = torch.cat([a, self.up(b)], 1)
        return self.c(nn.functional.interpolate(nn.functional.avg_pool2d(y, 2), scale_factor=2, mode="bilinear"))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(11, 8), nn.Parameter(torch.randn(1, 6, 8) * 0.1)
        layer = nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True, norm_first=True, activation="gelu")
        self.body, self.head = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), nn.Linear(8, 11)

    def forward(self, x):
        mask = torch.full((6, 6), float("-inf"), dtype=x.dtype if x.is_floating_point() else self.places.dtype).triu(1)
        return self.head(self.body(self.table(x) + self.places, mask=mask))


class Heard(nn.Module):
    def __init__(self):
        super().__init__()
        self.both, self.one = nn.LSTM(3, 4, bidirectional=True, batch_first=True), nn.GRU(8, 5, num_layers=2, batch_first=True)
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        y, (h, c) = self.both(x)
        return self.out(self.one(y)[0][:, -1]) + (h * c).sum((0, 2))[:, None]


class Fresh(nn.Module):
    """A net that nobody trained: its biases and running averages are equal, so that the exporter writes them once."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(1, 2, 3, bias=False), nn.BatchNorm2d(2), nn.Linear(8, 4)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        return self.out(self.norm(self.conv(x)).flatten(1))[:, [-1, 0, 2]] * 3


def net(name, model, x, training=None, **how):
    folder = os.path.join(ROOT, name)
    os.makedirs(folder, exist_ok=True)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d) and name != "fresh":
            m.running_mean.normal_(0, 0.3)
            m.running_var.uniform_(0.5, 2)
    model.eval()
    path = os.path.join(folder, "model.onnx")
    torch.onnx.export(model, x[:1], path, dynamo=False, input_names=["input"], output_names=["output"],
                      training=training or torch.onnx.TrainingMode.EVAL, do_constant_folding=training is None, **how)
    file = onnx.load(path)
    y = onnxruntime.InferenceSession(path).run(None, {"input": x.numpy()})[0]
    model = model.double()  # what a sum of float32 loses is no error of ours
    out = model(x.double() if x.is_floating_point() else x)
    assert np.allclose(out.detach().numpy(), y, rtol=1e-4, atol=1e-5)
    weight = torch.cos(torch.arange(out.numel(), dtype=torch.float64) ** 2 * 3.7).reshape(out.shape)
    (out * weight).sum().backward()
    put(folder, "input", 0, x.numpy())
    put(folder, "output", 0, out.detach().numpy())
    put(folder, "weight", 0, weight.numpy())
    grads = {n: p.grad.numpy() for n, p in model.named_parameters() if p.grad is not None}
    kept = [t.name for t in file.graph.initializer if t.name in grads]
    assert kept, name
    for i, n in enumerate(kept):
        put(folder, "grad", i, grads[n], n)


def node_case(case, folder):
    ins, outs = case.data_sets[0]
    os.makedirs(folder, exist_ok=True)
    for i, x in enumerate(ins):
        put(folder, "input", i, x, case.model.graph.input[i].name)
    for i, x in enumerate(outs):
        put(folder, "output", i, x, case.model.graph.output[i].name)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(case.model.SerializeToString())


def by_hand(name, steps, weights, size):
    """What torch.onnx never writes; the output is ONNX Runtime's. weights: arrays, or shapes of float32 noise."""
    from onnx import helper
    folder, rng = os.path.join(ROOT, name), np.random.default_rng(5)
    os.makedirs(folder, exist_ok=True)
    values = {k: s if isinstance(s, np.ndarray) else rng.normal(size=s).astype(np.float32) for k, s in weights.items()}
    graph = helper.make_graph(
        [helper.make_node(*s, **more) for *s, more in steps], name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *size])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, k) for k, v in values.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    x = rng.normal(size=(2, *size)).astype(np.float32)
    put(folder, "input", 0, x)
    put(folder, "output", 0, onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0], "y")


def whole(name, text, x, weights, **values):
    """A net in onnx.parser's language, with functions and branches; the output is ONNX Runtime's. weights: names and shapes of noise."""
    folder, rng = os.path.join(ROOT, name), np.random.default_rng(6)
    os.makedirs(folder, exist_ok=True)
    model = onnx.parser.parse_model(text)
    values = {**{k: rng.normal(size=s).astype(np.float32) for k, s in weights.items()}, **values}
    model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in values.items())
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    named = x if isinstance(x, dict) else {"x": x}
    for i, (k, v) in enumerate(named.items()):
        put(folder, "input", i, v, k)
    put(folder, "output", 0, onnxruntime.InferenceSession(model.SerializeToString()).run(None, named)[0], "y")


def nodes(folder):
    from onnx.backend.test.case.node import collect_testcases
    left = set(NODES)
    for case in collect_testcases(None):
        name = case.name.removeprefix("test_")
        if case.model is None or not case.data_sets:
            continue
        try:
            if name in left:
                left.remove(name)
                node_case(case, os.path.join(ROOT, "node_" + name))
            if folder:
                node_case(case, os.path.join(folder, case.name))
        except (TypeError, ValueError, AttributeError):  # sequences and optional values
            continue
    assert not left, left


torch.manual_seed(7)
N = {"dynamic_axes": {"input": {0: "N"}, "output": {0: "N"}}}
net("mlp", nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3)), torch.randn(4, 5), **N)
net("picture", Picture(), torch.randn(2, 3, 8, 8), training=torch.onnx.TrainingMode.PRESERVE, **N)
net("upward", Upward(), torch.randn(2, 2, 8, 8), **N)
net("words", Words(), torch.randint(0, 11, (2, 6)), **N)
net("fresh", Fresh(), torch.randn(2, 1, 4, 4), training=torch.onnx.TrainingMode.PRESERVE, **N)
net("line", nn.Sequential(nn.Conv1d(2, 4, 5, stride=2, bias=False), nn.InstanceNorm1d(4, affine=True), nn.LeakyReLU(0.2),
                          nn.Conv1d(4, 4, 3, padding=1, groups=4), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(16, 3)), torch.randn(2, 2, 20), **N)
net("uneven", nn.Sequential(nn.Conv2d(2, 4, 3, stride=(2, 1), dilation=(1, 2), padding=(1, 2)), nn.ReLU(), nn.AvgPool2d(2, (1, 2), ceil_mode=True),
                            nn.ConvTranspose2d(4, 3, (3, 2), stride=(2, 1), padding=(1, 0), output_padding=(1, 0), dilation=(1, 3)),
                            nn.MaxPool2d((2, 3), (2, 1), (1, 0)), nn.Flatten(), nn.Linear(75, 3)), torch.randn(2, 2, 9, 7), **N)
net("padded", nn.Sequential(nn.Embedding(7, 4, padding_idx=2), nn.Tanh(), nn.Flatten(), nn.Linear(20, 3)), torch.tensor([[1, 2, 2, 5, 0], [6, 2, 3, 3, 1]]), **N)
net("heard", Heard(), torch.randn(2, 6, 3), **N)
by_hand("sides", [("Conv", ["x", "w"], ["a"], {"pads": [0, 2, 1, 0], "strides": [2, 1], "dilations": [1, 2]}),
                  ("AveragePool", ["a"], ["b"], {"kernel_shape": [3, 2], "pads": [0, 1, 1, 0], "ceil_mode": 1, "strides": [1, 2]}),
                  ("ConvTranspose", ["b", "u"], ["y"], {"pads": [1, 0, 0, 2], "strides": [2, 3], "output_padding": [1, 0]})],
        {"w": (4, 2, 3, 2), "u": (4, 3, 3, 3)}, (2, 9, 8))
by_hand("past_the_end", [("MaxPool", ["x"], ["a"], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
                         ("AveragePool", ["x"], ["b"], {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}), ("Add", ["a", "b"], ["y"], {})], {},
        (2, 2, 2))
by_hand("deep_pads", [("AveragePool", ["x"], ["a"], {"kernel_shape": [3, 3], "pads": [2, 0, 2, 1]}),
                      ("MaxPool", ["a"], ["y"], {"kernel_shape": [2, 3], "pads": [0, 2, 0, 2]})], {}, (2, 4, 5))
by_hand("below_zero", [("Abs", ["x"], ["a"], {}), ("Neg", ["a"], ["b"], {}), ("MaxPool", ["b"], ["y"], {"kernel_shape": [2, 2, 2], "pads": [1, 0, 1, 0, 1, 0]})],
        {}, (1, 3, 4, 3))
by_hand("single_places", [("ScatterND", ["w", "i", "u"], ["s"], {"reduction": "add"}), ("Add", ["x", "s"], ["y"], {})],
        {"w": (3, 4), "i": np.array([[0, 1], [2, 3], [0, 1]], np.int64), "u": (3,)}, (3, 4))
whole("resize_10", """<ir_version: 5, opset_import: ["" : 10]>
g (float[2, 1, 2, 3] x) => (float[2, 1, 4, 6] y) { y = Resize <mode = "nearest"> (x, s) }""",
      np.arange(12, dtype=np.float32).reshape(2, 1, 2, 3) ** 2, {}, s=np.array([1, 1, 2, 2], np.float32))
by_hand("deep_windows", [("AveragePool", ["x"], ["y"], {"kernel_shape": [2, 3, 2], "pads": [0, 1, 0, 1, 1, 1], "strides": [1, 2, 1]})], {}, (1, 3, 4, 3))
by_hand("volume", [("Conv", ["x", "w"], ["y"], {"dilations": [2, 1, 3], "strides": [1, 2, 1], "pads": [1, 0, 1, 0, 1, 1]})], {"w": (3, 2, 2, 2, 2)}, (2, 4, 5, 5))
by_hand("zero_points", [("DequantizeLinear", ["q", "s", "z"], ["w"], {"axis": 0}), ("Conv", ["x", "w"], ["y"], {})],
        {"q": (np.arange(24).reshape(3, 2, 2, 2) * 37 % 256).astype(np.uint8), "s": np.array([0.01, 0.02, 0.005], np.float32), "z": np.array([120, 128, 9], np.uint8)},
        (2, 5, 5))
# Calls within calls, and an attribute that is passed on, and a usual one.
whole("called", """<ir_version: 9, opset_import: ["" : 18, "own" : 1]>
net (float[N, 4] x) => (float[N, 3] y) {
   a, same, spread = own.scaled <by = 2.0> (x, w)
   b = own.twice (same, w)
   s = Add (a, b)
   y = own.line (s, v)
}
<domain: "own", opset_import: ["" : 18]>
line (x, v) => (y) { y = MatMul (x, v) }
<domain: "own", opset_import: ["" : 18, "own" : 1]>
twice (x, w) => (y) {
   a, same, spread = own.scaled (x, w)
   y = Add (a, same)
}
<domain: "own", opset_import: ["" : 18]>
scaled <by: float = 0.5> (x, w) => (y, same, unused) {
   c = Constant <value_float: float = @by> ()
   unused = Mul (x, c)
   y = Mul (unused, w)
   same = Tanh (x)
}
""", np.random.default_rng(8).normal(size=(2, 4)).astype(np.float32), {"w": (4,), "v": (4, 3)})
# Branches by shapes, one in another, with numbers of their own and the graph's weights.
whole("chosen", """<ir_version: 9, opset_import: ["" : 18]>
net (float[N, 1, 4] x) => (float[N, 3] y) {
   shape = Shape (x)
   one = Constant <value_ints = [1]> ()
   columns = Gather (shape, one)
   is_one = Equal (columns, one)
   row = If (is_one) <
      then_branch = squeezed () => (r) { t = Squeeze (x, one)  r = Mul (t, w) },
      else_branch = other () => (r) { r = Flatten (x) }
   >
   four = Constant <value_ints = [3]> ()
   is_three = Equal (four, columns)
   z = If (is_three) <
      then_branch = a () => (z) { z = Identity (row) },
      else_branch = b () => (z) {
         u = If (is_one) <then_branch = c () => (u) { h = Constant <value_floats = [0.5, 1.5, 2.5, 3.5]> () u = Mul (row, h) }, else_branch = d () => (u) { u = Identity (x) }>
         z = Tanh (u)
      }
   >
   y = MatMul (z, v)
}
""", np.random.default_rng(9).normal(size=(2, 1, 4)).astype(np.float32), {"w": (4,), "v": (4, 3)})
# What a cut needs to be written back: a call whose other result takes more, an If whose other branch has a weight.
whole("several", """<ir_version: 9, opset_import: ["" : 18, "own" : 1]>
net (float[N, 4] x) => (float[N, 3] y) {
   r = Mul (x, u)
   a, b = own.two (x, w, r, v)
   shape = Shape (x)
   one = Constant <value_ints = [1]> ()
   columns = Gather (shape, one)
   four = Constant <value_ints = [4]> ()
   is_four = Equal (columns, four)
   z = If (is_four) <then_branch = yes () => (t) { t = Mul (a, p) }, else_branch = no () => (t) { t = Mul (a, q) }>
   s = Add (z, b)
   y = MatMul (s, m)
}
<domain: "own", opset_import: ["" : 18]>
two (x, w, r, v) => (a, b) {
   a = Mul (x, w)
   b = Mul (r, v)
}
""", np.random.default_rng(11).normal(size=(2, 4)).astype(np.float32), {"u": (4,), "v": (4,), "w": (4,), "p": (4,), "q": (4,), "m": (4, 3)})
# An encoder of texts, as Hugging Face's are called: the mean over the tokens that the mask has.
ids = np.random.default_rng(10).integers(0, 300, (2, 6))
whole("encoder", """<ir_version: 9, opset_import: ["" : 18]>
net (int64[N, T] input_ids, int64[N, T] attention_mask, int64[N, T] token_type_ids) => (float[N, 3] y) {
   words = Gather (table, input_ids)
   kinds = Gather (kind, token_type_ids)
   both = Add (words, kinds)
   mask = Cast <to = 1> (attention_mask)
   last = Constant <value_ints = [-1]> ()
   wide = Unsqueeze (mask, last)
   those = Mul (both, wide)
   one = Constant <value_ints = [1]> ()
   sum = ReduceSum <keepdims = 0> (those, one)
   n = ReduceSum <keepdims = 1> (mask, one)
   mean = Div (sum, n)
   h = Tanh (mean)
   y = MatMul (h, v)
}
""", {"input_ids": ids, "attention_mask": (ids % 5 > 0).astype(np.int64), "token_type_ids": ids % 2}, {"table": (300, 4), "kind": (2, 4), "v": (4, 3)})
# A picture read at places that a small net makes of it, as spatial transformers do.
class Places(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.theta, self.out = nn.Conv2d(1, 2, 3, padding=1), nn.Linear(30, 6), nn.Linear(40, 3)

    def forward(self, x):
        theta = self.theta(x.flatten(1)).reshape(-1, 2, 3) * 0.3 + torch.tensor([[0.9, 0.1, 0.0], [-0.1, 0.8, 0.1]], dtype=x.dtype)
        base = torch.tensor([[a / 3, b / 4, 1.0] for b in (-3, -1, 1, 3) for a in (-2.5, -1, 0.25, 1, 2.2)], dtype=x.dtype)
        grid = torch.matmul(base, theta.transpose(1, 2)).reshape(-1, 4, 5, 2)
        y = nn.functional.grid_sample(self.conv(x), grid, "bilinear", "reflection", align_corners=False)
        return self.out(torch.atan(y).flatten(1))


net("places", Places(), torch.randn(2, 1, 5, 6), opset_version=16, **N)
# What torch.onnx.export(dynamo=True) writes, by hand, as onnxscript is in no Debian: functions of pkg.onnxscript.torch_lib with
# overloads and attributes passed on, axes as inputs, num_outputs, shapes that Expand and Concat chains compute, int64 scalars.
whole("dynamo", """<ir_version: 10, opset_import: ["" : 23, "pkg.onnxscript.torch_lib" : 1, "pkg.onnxscript.torch_lib.common" : 1]>
net (float[s0, 6, 8] x) => (float[s0, 3] y) {
   val_0 = Shape <start: int = 0, end: int = 1> (x)
   sym_size_int = Squeeze (val_0)
   val_1 = Constant <value: tensor = int64[1] {-1}> ()
   val_2 = Reshape <allowzero = 0> (sym_size_int, val_1)
   val_3 = Constant <value: tensor = int64[2] {6, 8}> ()
   val_4 = Concat <axis = 0> (val_2, val_3)
   zero = Constant <value: tensor = float {0.0}> ()
   val_5 = CastLike (zero, x)
   full = Expand (val_5, val_4)
   add = pkg.onnxscript.torch_lib.aten_add <alpha: float = 0.5> (x, full)
   layer_norm = LayerNormalization <axis = -1, epsilon = 0.00001, stash_type = 1> (add, lnw, lnb)
   val_7 = Transpose <perm = [1, 0]> (w)
   linear = MatMul (layer_norm, val_7)
   linear_1 = Add (linear, b)
   q, k, v = Split <axis = -1, num_outputs = 3> (linear_1)
   att = Attention <q_num_heads = 2, kv_num_heads = 2, is_causal = 1> (q, k, v)
   gelu = Gelu <approximate = "tanh"> (att)
   val_9 = Constant <value: tensor = int64[1] {1}> ()
   mean = ReduceMean <noop_with_empty_axes = 0, keepdims = 0> (gelu, val_9)
   isscalar = pkg.onnxscript.torch_lib.common.IsScalar (mean)
   var = pkg.onnxscript.torch_lib._aten_var_dim_onnx <correction: float = 1.0, keepdim: int = 0> (gelu, val_9)
   both = Add (mean, var)
   val_10 = Transpose <perm = [1, 0]> (v2)
   y = MatMul (both, val_10)
}
<domain: "pkg.onnxscript.torch_lib", opset_import: ["" : 23]>
aten_add <alpha: float = 1.0> (self, other) => (r) {
   a = Constant <value_float: float = @alpha> ()
   b = CastLike (a, other)
   c = Mul (other, b)
   r = Add (self, c)
}
<domain: "pkg.onnxscript.torch_lib.common", opset_import: ["" : 23]>
IsScalar (input) => (r) {
   t = Shape (input)
   t_0 = Size (t)
   t_1 = Constant <value_int: int = 0> ()
   r = Equal (t_0, t_1)
}
<domain: "pkg.onnxscript.torch_lib", opset_import: ["" : 23]>
_aten_var_dim_onnx <correction: float, keepdim: int> (self, dim) => (r) {
   m = ReduceMean <keepdims: int = 1> (self, dim)
   d = Sub (self, m)
   d2 = Mul (d, d)
   s = ReduceMean <keepdims: int = @keepdim> (d2, dim)
   size = Shape (self)
   axis = Constant <value_int: int = 0> ()
   of = Gather <axis: int = 0> (size, dim)
   n = ReduceProd <keepdims: int = 0> (of)
   c = Constant <value_float: float = @correction> ()
   nf = Cast <to: int = 1> (n)
   less = Sub (nf, c)
   up = Mul (s, nf)
   r = Div (up, less)
}
""", np.random.default_rng(12).normal(size=(2, 6, 8)).astype(np.float32), {"lnw": (8,), "lnb": (8,), "w": (24, 8), "b": (24,), "v2": (3, 8)})
# Axes that dots stand for, in the result, too, and in one that is not written.
whole("dots", """<ir_version: 9, opset_import: ["" : 18]>
net (float[N, 2, 3, 4] x) => (float[N, 2, 5] y) {
   a = Einsum <equation = "...td,sd->...ts"> (x, w)
   b = Einsum <equation = "b...,b...->b..."> (a, a)
   y = Einsum <equation = "...ts, t"> (b, v)
}
""", np.random.default_rng(14).normal(size=(2, 2, 3, 4)).astype(np.float32), {"w": (5, 4), "v": (3,)})
# Bits of numbers that are known, of eight of them.
whole("bits", """<ir_version: 9, opset_import: ["" : 18]>
net (float[N, 4] x) => (float[N, 4] y) {
   shift = Constant <value: tensor = uint8[4] {1, 2, 3, 7}> ()
   up = BitShift <direction = "LEFT"> (a, shift)
   down = BitShift <direction = "RIGHT"> (a, shift)
   both = BitwiseOr (up, down)
   not = BitwiseNot (both)
   odd = BitwiseXor (not, a)
   some = BitwiseAnd (odd, mask)
   sum = Add (some, a)
   small = Cast <to = 3> (sum)
   f = Cast <to = 1> (small)
   y = Mul (x, f)
}
""", np.random.default_rng(13).normal(size=(2, 4)).astype(np.float32), {}, a=np.array([200, 129, 7, 255], np.uint8), mask=np.array([0xf3, 0x7f, 255, 0xaa], np.uint8))
nodes(sys.argv[1] if len(sys.argv) > 1 else None)
