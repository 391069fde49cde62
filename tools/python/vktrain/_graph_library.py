"""The structs and functions of tensor graphs as ctypes sees them: tables for _library, which loads
them with the others."""
from ctypes import (POINTER, Structure, c_bool, c_char_p, c_double, c_float, c_int,
                    c_size_t, c_uint32, c_uint64, c_void_p)

F32, F16, BF16, U32 = range(4)
ALL = 0xffffffff
MOST_RANK = 6


class Shape(Structure):
    _c_name_ = "vkt_shape"
    _fields_ = [("rank", c_uint32), ("d", c_uint32 * MOST_RANK)]


class Buffer(Structure):
    _c_name_ = "vkt_buffer"
    _fields_ = [("addr", c_uint64), ("bytes", c_uint64), ("host", c_void_p), ("label", c_char_p),
                ("slab", c_void_p), ("offset", c_uint64), ("on_host", c_bool), ("from", c_uint64),
                ("pieces", c_void_p), ("n_pieces", c_size_t)]


class BufferDesc(Structure):
    _c_name_ = "vkt_buffer_desc"
    _fields_ = [("bytes", c_uint64), ("mem", c_int), ("label", c_char_p),
                ("cuts", POINTER(c_uint64)), ("n_cuts", c_size_t)]


class PlanDesc(Structure):
    _c_name_ = "vkt_plan_desc"
    _fields_ = [("n_slots", c_uint32), ("no_reuse", c_bool), ("label", c_char_p)]


class ConvDesc(Structure):
    _c_name_ = "vkt_conv_desc"
    _fields_ = [("stride", c_uint32), ("pad", c_uint32), ("dilation", c_uint32),
                ("groups", c_uint32), ("act", c_int), ("pads", POINTER(c_uint32)),
                ("strides", POINTER(c_uint32)), ("dilations", POINTER(c_uint32)),
                ("output_pads", POINTER(c_uint32))]


class PoolDesc(Structure):
    _c_name_ = "vkt_pool_desc"
    _fields_ = [("size", c_uint32), ("stride", c_uint32), ("pad", c_uint32),
                ("sizes", POINTER(c_uint32)), ("strides", POINTER(c_uint32)),
                ("pads", POINTER(c_uint32)), ("sides", POINTER(c_uint32)), ("ceil", c_bool),
                ("pixels_only", c_bool)]


class BatchNormDesc(Structure):
    _c_name_ = "vkt_batch_norm_desc"
    _fields_ = [("w", c_void_p), ("b", c_void_p), ("running_mean", c_void_p),
                ("running_var", c_void_p), ("count", c_void_p), ("eps", c_float),
                ("momentum", c_float), ("virtual_batch", c_uint32), ("train", c_bool)]


class Maybe(Structure):
    _c_name_ = "vkt_maybe"
    _fields_ = [("given", c_bool), ("n", c_uint32)]


class XentDesc(Structure):
    _c_name_ = "vkt_xent_desc"
    _fields_ = [("smoothing", c_float), ("ignore_index", Maybe)]


class Loss(Structure):
    _c_name_ = "vkt_loss"
    _fields_ = [("loss", c_void_p), ("hit", c_void_p)]


class ElementLossDesc(Structure):
    _c_name_ = "vkt_element_loss_desc"
    _fields_ = [("kind", c_int), ("weight", c_void_p), ("positive", c_void_p), ("delta", c_float)]


class AttentionDesc(Structure):
    _c_name_ = "vkt_attention_desc"
    _fields_ = [("heads", c_uint32), ("kv_heads", c_uint32), ("full", c_bool),
                ("window", c_uint32), ("scale", c_float), ("cap", c_float)]


class EmbeddingIn(Structure):
    _c_name_ = "vkt_embedding_in"
    _fields_ = [(n, c_void_p) for n in ("table", "ids", "pos", "start", "order", "segments",
                                        "docs")]


class ResizeDesc(Structure):
    _c_name_ = "vkt_resize_desc"
    _fields_ = [("kind", c_int), ("h", c_uint32), ("w", c_uint32), ("align_corners", c_bool)]


class OptimGroup(Structure):
    _c_name_ = "vkt_optim_group"
    _fields_ = [("pattern", c_char_p), ("lr_scale", c_float), ("weight_decay", c_float)]


class OptimDesc(Structure):
    _c_name_ = "vkt_optim_desc"
    _fields_ = [("rule", c_int), ("form", c_int), ("momentum", c_float), ("beta1", c_float),
                ("beta2", c_float), ("beta3", c_float), ("rho", c_float), ("eps", c_float),
                ("rest_lr", c_float), ("weight_decay", c_float),
                ("decay_all", c_bool), ("moments", c_int), ("offload", c_bool), ("outer", c_bool),
                ("part", c_uint32), ("parts", c_uint32), ("clip", c_float), ("ema", c_float),
                ("groups", POINTER(OptimGroup)), ("n_groups", c_size_t), ("loss_scale", c_float),
                ("scale_every", c_uint32)]


class Param(Structure):
    _c_name_ = "vkt_param"
    _fields_ = [("name", c_char_p), ("shape", Shape), ("offset", c_uint64), ("count", c_uint64),
                ("decay", c_bool), ("frozen", c_bool), ("order", c_int), ("heads", c_uint32),
                ("dtype", c_int), ("quant", c_int), ("room", c_uint64)]


class FlatParams(Structure):
    _c_name_ = "vkt_flat_params"
    _fields_ = [("params", POINTER(Param)), ("n", c_size_t), ("count", c_uint64),
                ("values", POINTER(Buffer)), ("grads", POINTER(Buffer))]


class Schedule(Structure):
    _c_name_ = "vkt_schedule"
    _fields_ = [("kind", c_int), ("lr", c_double), ("steps", c_uint64), ("warmup", c_uint64),
                ("warmup_included", c_bool), ("final_ratio", c_double), ("cycles", c_uint32),
                ("power", c_double), ("gamma", c_double), ("decay_every", c_uint64),
                ("decay_ratio", c_double), ("milestones", c_uint64 * 16),
                ("n_milestones", c_uint32)]


class IdsIn(Structure):
    _c_name_ = "vkt_ids_in"
    _fields_ = [("from", c_void_p), ("to", c_void_p), ("n", c_uint64), ("below", c_uint64),
                ("ignored", c_uint32), ("n_vocab", c_uint32), ("order", c_void_p), ("segments", c_void_p)]


class RunDesc(Structure):
    _c_name_ = "vkt_run_desc"
    _fields_ = [("g", c_void_p), ("optim", c_void_p), ("step_block", c_void_p),
                ("ids", POINTER(IdsIn)), ("n_ids", c_size_t), ("slot", c_uint32), ("lr", c_double),
                ("step", c_uint64), ("seed", c_uint64), ("ticket", c_uint64),
                ("refused", c_size_t)]


STRUCTS = [Shape, Buffer, BufferDesc, PlanDesc, ConvDesc, PoolDesc, BatchNormDesc, Maybe, XentDesc,
           Loss, ElementLossDesc, AttentionDesc, EmbeddingIn, ResizeDesc, OptimGroup, OptimDesc,
           Param, FlatParams, Schedule, IdsIn, RunDesc]

# What a letter of a signature stands for.
_TYPES = {"p": c_void_p, "u": c_uint32, "f": c_float, "i": c_int, "b": c_bool, "S": Shape,
          "s": c_char_p, "q": c_uint64, "B": POINTER(Buffer), "n": c_size_t, "d": c_double,
          "v": None, "L": Loss, "P": POINTER(c_void_p), "U": POINTER(c_uint32),
          "C": POINTER(ConvDesc), "O": POINTER(PoolDesc), "N": POINTER(BatchNormDesc),
          "X": POINTER(XentDesc), "E": POINTER(ElementLossDesc), "A": POINTER(AttentionDesc),
          "M": POINTER(EmbeddingIn), "R": POINTER(ResizeDesc), "T": POINTER(c_uint64)}

# name: what it returns, ":", what it takes
_SIGNATURES = {
    "vkt_graph_create": "i:pP", "vkt_graph_destroy": "v:P", "vkt_graph_precision": "v:pi",
    "vkt_graph_recompute": "v:p", "vkt_scale_loss": "v:pp", "vkt_input": "p:pSis",
    "vkt_bind": "v:puBq", "vkt_known": "v:pp", "vkt_keep": "v:ps", "vkt_tensor_shape": "S:p", "vkt_tensor_dtype": "i:p",
    "vkt_matmul": "p:pipp", "vkt_matmul_broadcast": "p:pipp", "vkt_linear": "p:ppppi",
    "vkt_conv2d": "p:ppppC", "vkt_conv1d": "p:ppppC", "vkt_conv_transpose2d": "p:ppppCu",
    "vkt_conv_transpose1d": "p:ppppCu", "vkt_max_pool": "p:ppO", "vkt_avg_pool": "p:ppO",
    "vkt_adaptive_avg_pool": "p:ppuu", "vkt_global_avg_pool": "p:pp",
    "vkt_add": "p:ppp", "vkt_mul": "p:ppp", "vkt_scale": "p:ppf", "vkt_activate": "p:ppi",
    "vkt_copy": "p:pp", "vkt_detach": "p:pp", "vkt_fill": "p:pSf", "vkt_cast": "p:ppi",
    "vkt_reshape": "p:ppS", "vkt_layernorm": "p:pppppfP", "vkt_rmsnorm": "p:ppppfP",
    "vkt_batch_norm": "p:ppN", "vkt_group_norm": "p:ppppuf", "vkt_dropout": "p:pppf",
    "vkt_noise": "p:pppf", "vkt_softmax_xent": "L:pppppX", "vkt_element_losses": "L:pppE",
    "vkt_lookup": "p:pppu", "vkt_embedding": "p:pM", "vkt_attention": "p:ppppppA",
    "vkt_gated": "p:pppi", "vkt_sum": "p:pp", "vkt_sum_rows": "p:pp", "vkt_unary": "p:pipff",
    "vkt_binary": "p:pipp", "vkt_where": "p:pppp", "vkt_permute": "p:ppU", "vkt_expand": "p:ppS",
    "vkt_slice": "p:ppUUU", "vkt_flip": "p:ppu", "vkt_repeat": "p:ppU", "vkt_pad": "p:ppUUf",
    "vkt_pad_by": "p:ppiUU", "vkt_concat": "p:pPuu", "vkt_reduce": "p:pipub", "vkt_arg": "p:pipub",
    "vkt_cumsum": "p:ppub", "vkt_top_k": "p:ppuP", "vkt_one_hot": "p:ppu",
    "vkt_softmax_axis": "p:ppu", "vkt_log_softmax": "p:ppu", "vkt_resize": "p:ppR",
    "vkt_gather": "p:pppu", "vkt_scatter_add": "p:pppuu", "vkt_step": "p:p",
    "vkt_backward": "v:ppPnP", "vkt_graph_bytes": "q:p", "vkt_graph_explain": "p:p",
    "vkt_step_block_bytes": "u:", "vkt_ticket_wait": "i:pq",
    "vkt_gpu_wait": "i:p", "vkt_gpu_destroy": "v:P", "vkt_optim_destroy": "v:P",
    "vkt_optim_loss_scale": "p:pp", "vkt_optim_build": "p:pppp", 
    "vkt_optim_n_moments": "n:p", "vkt_optim_moment_name": "s:pn", "vkt_optim_moment": "B:pn",
    "vkt_buffer_read": "i:pBqpq", "vkt_buffer_write": "i:pBqpq", "vkt_optim_rule_name": "s:i",
    "vkt_schedule_name": "s:i", "vkt_graph_log_math": "v:p",
}
FUNCTIONS = {name: (_TYPES[text[0]], [_TYPES[c] for c in text[2:]])
             for name, text in _SIGNATURES.items()}
FUNCTIONS.update({
    "vkt_graph_compile": (c_int, [c_void_p, POINTER(PlanDesc)]),
    "vkt_buffer_create": (c_int, [c_void_p, POINTER(BufferDesc), POINTER(POINTER(Buffer))]),
    "vkt_buffer_destroy": (None, [c_void_p, POINTER(POINTER(Buffer))]),
    "vkt_run_start": (c_int, [POINTER(RunDesc)]),
    "vkt_optim_create_flat": (c_int, [c_void_p, POINTER(OptimDesc), POINTER(FlatParams),
                                      POINTER(c_void_p)]),
    "vkt_optim_moment_place": (c_uint64, [c_void_p, c_size_t, c_size_t, POINTER(c_uint64)]),
    "vkt_optim_get_loss_scale": (c_int, [c_void_p, POINTER(c_float), POINTER(c_uint32)]),
    "vkt_optim_set_loss_scale": (c_int, [c_void_p, c_float, c_uint32]),
    "vkt_schedule_lr": (c_double, [POINTER(Schedule), c_uint64]),
    "vkt_schedule_check": (c_int, [POINTER(Schedule), c_char_p]),
})
