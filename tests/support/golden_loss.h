/* Losses of a graph against PyTorch's: a golden file's part "losses" has of each case `out`, `y`,
 * `w`, `loss` and `grad`, the gradient of `out`. And the sets that its makers draw, too. */
#ifndef VKT_TESTS_GOLDEN_LOSS_H
#define VKT_TESTS_GOLDEN_LOSS_H

#include <jansson.h>

#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "testing.h"

/* A list of the golden file, which has something; the caller's to let go. */
static inline json_t *golden_part(const char *file, const char *name)
{
    json_t *root = json_load_file(test_file(file), 0, NULL);
    assert_non_null(root);
    json_t *part = json_incref(json_object_get(root, name));
    json_decref(root);
    assert_true(json_array_size(part) > 0);
    return part;
}

static inline double at(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

typedef struct golden_loss {
    const json_t *c;
    vkt_tensor *out, *y, *w, *loss, *grad; /* all but grad: the builder's */
    uint32_t n_seen;
} golden_loss;

static inline void golden_loss_init(void *user, const vkt_tensor *t, double *data)
{
    const golden_loss *l = user;
    const char *of = t == l->out ? "out" : t == l->y ? "y" : t == l->w ? "w" : NULL;
    for (uint64_t i = 0; of && i < t->count; i++) data[i] = at(json_object_get(l->c, of), i);
}

/* Within 1e-6: constants are float32's in the graph (-4.6 differs by 1e-7 from PyTorch's). */
static inline void golden_loss_done(void *user, const vkt_tensor *t, const double *data)
{
    golden_loss *l = user;
    if (t == l->loss) {
        REQUIRE_NEAR(data[0], json_number_value(json_object_get(l->c, "loss")), 1e-6);
        l->n_seen++;
    }
    for (uint64_t i = 0; i < t->count && t == l->grad; i++)
        REQUIRE_NEAR(data[i], at(json_object_get(l->c, "grad"), i), 1e-6);
    l->n_seen += t == l->grad;
}

/* build: makes inputs and the loss of l->c, whose shape is that of `out`. */
static inline void golden_losses(const char *file,
                                 void (*build)(vkt_graph *g, vkt_shape shape, golden_loss *l))
{
    json_t *list = golden_part(file, "losses");
    for (size_t k = 0; k < json_array_size(list); k++) {
        golden_loss l = { .c = json_array_get(list, k) };
        const json_t *s = json_object_get(l.c, "shape");
        vkt_shape shape = { .rank = (uint32_t)json_array_size(s) };
        assert_in_range(shape.rank, 1, VKT_MAX_RANK);
        for (size_t i = 0; i < shape.rank; i++) shape.d[i] = (uint32_t)at(s, i);
        vkt_graph *g = vkt__graph_new(NULL);
        build(g, shape, &l);
        vkt_backward(g, l.loss, &l.out, 1, &l.grad);
        assert_int_equal(g->status, VKT_OK);
        vkt__graph_ref(g, golden_loss_init, &l, golden_loss_done);
        assert_int_equal(l.n_seen, 2);
        vkt_graph_destroy(&g);
    }
    json_decref(list);
}

/* The generator of tools/golden/draws.py. */
typedef struct draws {
    uint64_t s;
} draws;

static inline uint32_t below(draws *d, uint32_t n)
{
    d->s = d->s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((d->s >> 33) % n);
}

#endif
