/* The gradient of elements that are read at many places: by sorted places it is the sum in the
 * places' order, as by looking at all of them. On the device and in the twins.
 * VKT_PLACES=N: N places of N elements, too, with the least time of 20 runs. */
#include <math.h>
#include <stdlib.h>

#include "one_device.h"
#include "base/os.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"

typedef struct {
    vkt_tensor *x, *ids, *dy, *dx;
    uint32_t lines, places, elements, beside;
    bool rows; /* ids are one for all elements beside one another */
    double *sum;
} reading;

/* Past the end now and then; a third of the places read one element. */
static uint32_t id_of(const reading *r, uint64_t i)
{
    uint32_t drawn = (uint32_t)(i * 2654435761u) >> 7;
    return i % 3 == 0 ? 5 : drawn % (r->elements + 1);
}

/* Sums of few of these are whole numbers of eighths, which no order changes. */
static float dy_of(uint64_t i)
{
    return (float)((double)(i % 17) - 8) / 8;
}

static void build(reading *r, vkt_graph *g)
{
    vkt_shape wide = vkt_shape3(r->lines, r->places, r->beside), narrow = wide;
    if (r->rows) narrow.d[2] = 1;
    r->x = vkt_input(g, vkt_shape3(r->lines, r->elements, r->beside), VKT_F32, "x");
    r->ids = vkt_input(g, narrow, VKT_U32, "ids");
    r->dy = vkt_input(g, wide, VKT_F32, "dy");
    vkt_tensor *ids = r->rows ? vkt_expand(g, r->ids, wide) : r->ids;
    vkt_tensor *loss = vkt_sum(g, vkt_mul(g, vkt_gather(g, r->x, ids, 1), r->dy));
    vkt_backward(g, loss, &r->x, 1, &r->dx);
    vkt_keep(r->dx, "dx");
    REQUIRE_OK(g->status);
    uint32_t n = r->rows ? 1 : r->beside;
    r->sum = calloc((size_t)r->lines * r->elements * r->beside, sizeof *r->sum);
    for (uint64_t i = 0; i < (uint64_t)r->lines * r->places * r->beside; i++) {
        uint64_t place = i / r->beside, line = place / r->places;
        uint32_t id = id_of(r, place * n + (r->rows ? 0 : i % r->beside));
        if (id < r->elements)
            r->sum[(line * r->elements + id) * r->beside + i % r->beside] += (double)dy_of(i);
    }
}

static void give(void *user, const vkt_tensor *t, double *data)
{
    const reading *r = user;
    for (uint64_t i = 0; i < t->count; i++)
        data[i] = t == r->ids ? (double)id_of(r, i) : t == r->dy ? (double)dy_of(i) : 1;
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    const reading *r = user;
    for (uint64_t i = 0; i < t->count && t == r->dx; i++) assert_true(data[i] == r->sum[i]);
}

static void bind(vkt_graph *g, vkt_tensor *t, vkt_buffer **b)
{
    (void)g;
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { 4 * t->count, VKT_MEM_UPLOAD, "in" }, b));
    vkt_bind(t, VKT_ALL_SLOTS, *b, 0);
}

static void on_device(reading *r)
{
    vkt_graph *g;
    vkt_buffer *x, *ids, *dy;
    uint64_t ticket;
    REQUIRE_OK(vkt_graph_create(gpu, &g));
    build(r, g);
    bind(g, r->x, &x), bind(g, r->ids, &ids), bind(g, r->dy, &dy);
    memset(x->host, 0, 4 * r->x->count);
    for (uint64_t i = 0; i < r->ids->count; i++) ((uint32_t *)ids->host)[i] = id_of(r, i);
    for (uint64_t i = 0; i < r->dy->count; i++) ((float *)dy->host)[i] = dy_of(i);
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .n_slots = 1 }));
    double least = INFINITY;
    for (int run = 0; run < (getenv("VKT_PLACES") ? 20 : 1); run++) {
        double start = vkt__now();
        REQUIRE_OK(vkt_graph_submit(g, 0, &ticket));
        REQUIRE_OK(vkt_ticket_wait(gpu, ticket));
        least = VKT_MIN(least, vkt__now() - start);
    }
    if (getenv("VKT_PLACES"))
        print_message("%u lines, %u places of %u elements, %u beside: %.3f ms\n", r->lines,
                      r->places, r->elements, r->beside, 1e3 * least);
    float *got = malloc(4 * r->dx->count);
    REQUIRE_OK(vkt_tensor_read(r->dx, 0, got, 4 * r->dx->count));
    for (uint64_t i = 0; i < r->dx->count; i++) assert_true((double)got[i] == r->sum[i]);
    free(got);
    free(r->sum);
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &x), vkt_buffer_destroy(gpu, &ids), vkt_buffer_destroy(gpu, &dy);
}

static const reading cases[] = {
    { .lines = 2, .places = 40000, .elements = 301, .beside = 3, .rows = true },
    { .lines = 1, .places = 31001, .elements = 150, .beside = 2 },
    { .lines = 3, .places = 2100, .elements = 2000, .beside = 1, .rows = true },
};

static void sums_are_in_the_places_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        reading r = cases[i], twin = cases[i];
        vkt_graph *g = vkt__graph_new(NULL);
        build(&twin, g);
        vkt__graph_ref(g, give, &twin, take);
        free(twin.sum);
        vkt_graph_destroy(&g);
        on_device(&r);
    }
    uint32_t n = (uint32_t)strtoul(getenv("VKT_PLACES") ? getenv("VKT_PLACES") : "0", NULL, 10);
    if (n)
        on_device(&(reading) { .lines = 1, .places = n, .elements = n, .beside = 3, .rows = true });
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sums_are_in_the_places_order),
                                        cmocka_unit_test(validation_is_silent) };
    if (!open_gpu("")) return 77;
    int rc = cmocka_run_group_tests_name("many places", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return rc;
}
