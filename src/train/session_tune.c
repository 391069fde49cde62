/* Tuning as training needs it: a graph's new products and convolutions before it is planned, on
 * GPUs' first run; all of a recipe's on request. */
#include "base/os.h"
#include "train/session.h"

enum { MOST_PRODUCTS = 256, MOST_CONVS = 256 };
static const double FIRST_RUN_S = 20;

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

vkt_status vkt__session_tune_new(vkt__session *s, const vkt_graph *g)
{
    vkt_tune_shape shapes[MOST_PRODUCTS];
    vkt_conv_shape convs[MOST_CONVS];
    if (!vkt__gpu_tunes(s->gpu)) return VKT_OK;
    size_t n = vkt_graph_products(g, true, shapes, MOST_PRODUCTS),
           n_convs = vkt_graph_convs(g, true, convs, MOST_CONVS);
    if (!n && !n_convs) return VKT_OK;
    vkt_log(VKT_LOG_INFO, "tune",
            "first run with %zu of these products and convolutions on this device: timing kernels, "
            "at most %.0f s",
            n + n_convs, FIRST_RUN_S);
    double begin = vkt__now(), left = VKT_MAX(FIRST_RUN_S - s->tuned_s, 1e-3);
    vkt_status st =
        vkt_tune(s->gpu, shapes, n, &(vkt_tune_desc) { .seconds = left, .fn = on_shape });
    left = VKT_MAX(left - (vkt__now() - begin), 1e-3);
    if (st == VKT_OK)
        st = vkt_tune_convs(s->gpu, convs, n_convs,
                            &(vkt_tune_desc) { .seconds = left, .fn = on_shape });
    s->tuned_s += vkt__now() - begin;
    return st;
}

vkt_status vkt__session_tune(vkt__session *s, const vkt_tune_desc *desc)
{
    vkt_tune_shape shapes[2 * MOST_PRODUCTS];
    vkt_conv_shape convs[2 * MOST_CONVS];
    size_t n = vkt_graph_products(s->train.graph, false, shapes, MOST_PRODUCTS),
           n_convs = vkt_graph_convs(s->train.graph, false, convs, MOST_CONVS);
    n += vkt_graph_products(s->eval.graph, false, shapes + n, MOST_PRODUCTS);
    n_convs += vkt_graph_convs(s->eval.graph, false, convs + n_convs, MOST_CONVS);
    vkt_status st = vkt_tune(s->gpu, shapes, n, desc);
    return st == VKT_OK ? vkt_tune_convs(s->gpu, convs, n_convs, desc) : st;
}
