/* session_tune.h */
#include "base/os.h"
#include "gpu/commands.h"
#include "tensor/check/tune.h"
#include "tensor/passes/rewrite.h"
#include "train/session_tune.h"

enum { MOST_PRODUCTS = 256, MOST_CONVS = 256 };

static void on_shape(void *user, const vkt_tune_result *r)
{
    (void)user;
    if (*r->what)
        vkt_log(VKT_LOG_INFO, "tune", "%zu/%zu %s: %s of %u kernels", r->index + 1, r->n_shapes,
                r->what, r->best, r->n_tried);
    else
        vkt_log(VKT_LOG_INFO, "tune", "%zu/%zu %s %u x %u x %u: %s of %u kernels", r->index + 1,
                r->n_shapes, vkt_layout_name(r->shape.layout), r->shape.M, r->shape.N, r->shape.K,
                r->best, r->n_tried);
}

/* Flops per step of all products that use the choice. */
static double product_flops(const vkt_tune_shape *s)
{
    return 2.0 * s->M * s->N * s->K * s->count;
}

static double conv_flops(const vkt_conv_shape *s)
{
    return 2.0 * s->n * s->oh * s->ow * s->co * s->kh * s->kw * s->c / s->groups * s->count;
}

static int by_conv_flops(const void *a, const void *b)
{
    double x = conv_flops(a), y = conv_flops(b);
    return (x < y) - (x > y);
}

typedef struct gain {
    vkt_tune_shape shape;
    double flops;
} gain;

static int by_gain(const void *a, const void *b)
{
    double x = ((const gain *)a)->flops, y = ((const gain *)b)->flops;
    return (x < y) - (x > y);
}

/* What gains most comes first, as far as one can know. */
static void by_gains(const vkt_gpu *gpu, vkt_tune_shape *shapes, size_t n)
{
    gain *gains = vkt__alloc((n + 1) * sizeof *gains);
    for (size_t i = 0; i < n; i++) gains[i] = (gain) { shapes[i], vkt__tune_gain(gpu, &shapes[i]) };
    qsort(gains, n, sizeof *gains, by_gain);
    for (size_t i = 0; i < n; i++) shapes[i] = gains[i].shape;
    free(gains);
}

/* Returns the share of all work that products are. */
static double order(const vkt_gpu *gpu, vkt_tune_shape *shapes, size_t n, vkt_conv_shape *convs,
                    size_t n_convs)
{
    double products = 0, all = 0;
    by_gains(gpu, shapes, n);
    qsort(convs, n_convs, sizeof *convs, by_conv_flops);
    for (size_t i = 0; i < n; i++) products += product_flops(&shapes[i]);
    for (size_t i = 0; i < n_convs; i++) all += conv_flops(&convs[i]);
    all += products;
    return all > 0 ? products / all : 1;
}

vkt_status vkt__tune_new(vkt_gpu *gpu, vkt_graph *g, double *tuned_s)
{
    vkt_tune_shape shapes[MOST_PRODUCTS];
    vkt_conv_shape convs[MOST_CONVS];
    if (vkt_gpu_caps(gpu)->klass == VKT_GPU_CLASS_CPU || vkt__gpu_plans_only(gpu)) return VKT_OK;
    vkt__rewrite_types(g);
    size_t n = vkt_graph_products(g, true, shapes, MOST_PRODUCTS),
           n_convs = vkt_graph_convs(g, true, convs, MOST_CONVS);
    if (!n && !n_convs) return VKT_OK;
    if (!vkt__gpu_tunes(gpu)) {
        vkt_log(VKT_LOG_INFO, "tune",
                "%zu of these products and convolutions were never timed on this device and are "
                "not timed now: they use the built-in choice of kernels",
                n + n_convs);
        return VKT_OK;
    }
    double most = vkt__gpu_tune_seconds(gpu), share = order(gpu, shapes, n, convs, n_convs);
    vkt_log(VKT_LOG_INFO, "tune",
            "%zu of these products and convolutions are new on this device: timing kernels, at "
            "most %.0f s",
            n + n_convs, most);
    double begin = vkt__now(), left = VKT_MAX(most - *tuned_s, 1e-3);
    vkt_status st =
        vkt_tune(gpu, shapes, n, &(vkt_tune_desc) { .seconds = share * left, .fn = on_shape });
    left = VKT_MAX(left - (vkt__now() - begin), 1e-3);
    if (st == VKT_OK)
        st = vkt_tune_convs(gpu, convs, n_convs,
                            &(vkt_tune_desc) { .seconds = left, .fn = on_shape });
    *tuned_s += vkt__now() - begin;
    return st;
}

vkt_status vkt__tune_graphs(vkt_gpu *gpu, const vkt_graph *a, const vkt_graph *b,
                            const vkt_tune_desc *desc)
{
    vkt_tune_shape shapes[2 * MOST_PRODUCTS];
    vkt_conv_shape convs[2 * MOST_CONVS];
    size_t n = vkt_graph_products(a, false, shapes, MOST_PRODUCTS),
           n_convs = vkt_graph_convs(a, false, convs, MOST_CONVS);
    n += vkt_graph_products(b, false, shapes + n, MOST_PRODUCTS);
    n_convs += vkt_graph_convs(b, false, convs + n_convs, MOST_CONVS);
    double begin = vkt__now(), share = order(gpu, shapes, n, convs, n_convs);
    vkt_tune_desc part = *desc;
    part.seconds = share * desc->seconds;
    vkt_status st = vkt_tune(gpu, shapes, n, &part);
    if (desc->seconds > 0) part.seconds = VKT_MAX(desc->seconds - (vkt__now() - begin), 1e-3);
    return st == VKT_OK ? vkt_tune_convs(gpu, convs, n_convs, &part) : st;
}
