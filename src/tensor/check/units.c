/* units.h. Operands are whole numbers from -2 to 2, and sums of 96 products of them are exact in
 * f32 in whatever order: any difference is an error. */
#include <stdio.h>

#include "tensor/check/tune.h"
#include "tensor/check/units.h"
#include "gpu/journal.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/kernels/class_sets.h"
#include "tensor/ops/ops_matmul.h"

/* More than one tile of each kernel, and no whole number of the largest. */
enum { ROWS = 160, COLUMNS = 144, DEPTH = 96 };

static int value_of(uint64_t i)
{
    return (int)(i * 2654435761u >> 7 & 0xffff) % 5 - 2;
}

static uint64_t bytes_of(const vkt_tensor *t)
{
    return vkt__align(t->bytes, 256);
}

static vkt_status fill(vkt_gpu *gpu, const vkt_tensor *a, const vkt_tensor *b, vkt_buffer **mem)
{
    uint64_t bytes = bytes_of(a) + bytes_of(b);
    unsigned char *data = vkt__alloc(bytes);
    for (uint64_t i = 0; i < a->count; i++) vkt__sample_encode(a, i, value_of(i), data);
    for (uint64_t i = 0; i < b->count; i++)
        vkt__sample_encode(b, i, value_of(i + 7), data + bytes_of(a));
    vkt_status st =
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_DEVICE, "matrix units" }, mem);
    if (st == VKT_OK) st = vkt_buffer_write(gpu, *mem, 0, data, bytes);
    free(data);
    return st;
}

static bool is_right(vkt_layout l, const float *c)
{
    for (uint64_t m = 0; m < ROWS; m++)
        for (uint64_t n = 0; n < COLUMNS; n++) {
            int sum = 0;
            for (uint64_t k = 0; k < DEPTH; k++)
                sum += value_of(l == VKT_LAYOUT_TN ? k * ROWS + m : m * DEPTH + k) *
                       value_of((l == VKT_LAYOUT_NT ? n * DEPTH + k : k * COLUMNS + n) + 7);
            if (c[m * COLUMNS + n] != (float)sum) return false;
        }
    return true;
}

static vkt_status run(vkt_gpu *gpu, const vkt__product *p, uint32_t kernel, bool *right)
{
    vkt_status st = VKT_OK;
    vkt_layout l = p->layout;
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_buffer *mem = NULL;
    float *c = vkt__alloc(ROWS * COLUMNS * sizeof *c);
    vkt_tensor *a = vkt_input(
                   g, l == VKT_LAYOUT_TN ? vkt_shape2(DEPTH, ROWS) : vkt_shape2(ROWS, DEPTH), p->in,
                   "a"),
               *b = vkt_input(
                   g, l == VKT_LAYOUT_NT ? vkt_shape2(COLUMNS, DEPTH) : vkt_shape2(DEPTH, COLUMNS),
                   p->in, "b"),
               *y = vkt__op(
                   g, &vkt__op_matmul, (vkt_tensor *[]) { a, b }, 2,
                   (vkt_attr) { .matmul = { .layout = l, .out = VKT_F32, .kernel = kernel } });
    vkt_keep(y, "c");
    VKT_TRY(fill(gpu, a, b, &mem));
    vkt_bind(a, VKT_ALL_SLOTS, mem, 0);
    vkt_bind(b, VKT_ALL_SLOTS, mem, bytes_of(a));
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "matrix units" }));
    VKT_TRY(vkt_graph_run(g));
    VKT_TRY(vkt_tensor_read(y, 0, c, ROWS * COLUMNS * sizeof *c));
    *right = is_right(l, c);
fail:
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &mem);
    free(c);
    return st;
}

/* why: "" where it is right. */
static vkt_status check_kernel(vkt_gpu *gpu, const vkt__product *p, uint32_t kernel, char why[256])
{
    const char *name = vkt__matmul_kernel_name(kernel);
    char key[40];
    bool right = false;
    vkt__matmul_key(p, key);
    if (vkt__left_out(gpu, name, key)) {
        snprintf(why, 256, "it is no longer used, because a run crashed in it");
        return VKT_OK;
    }
    vkt__trying(gpu, name, key);
    vkt__log_quiet(true);
    vkt_status st = run(gpu, p, kernel, &right);
    vkt__log_quiet(false);
    vkt__tried(gpu);
    if (vkt__gpu_lost(gpu)) return vkt__lost_by(gpu, "units", name);
    if (st != VKT_OK)
        snprintf(why, 256, "%s", vkt__last_failure());
    else if (!right)
        snprintf(why, 256, "its sums are wrong");
    return VKT_OK;
}

vkt_status vkt__units_check(vkt_gpu *gpu, vkt_dtype type)
{
    vkt_status st = VKT_OK;
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    char why[256] = "";
    if (vkt__gpu_plans_only(gpu) || !vkt__is_of(VKT__UNITS, caps) || !caps->coopmat ||
        !vkt__gpu_first_time(gpu, 1u << type))
        return VKT_OK;
    for (int l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_TN; l++)
        for (uint32_t k = 1; vkt__matmul_kernel_name(k); k++) {
            const vkt__product p = { (vkt_layout)l, ROWS, COLUMNS, DEPTH, type, VKT_F32, 0 };
            if (!vkt__matmul_on_units(k) || !vkt__matmul_fits(k, caps, &p)) continue;
            VKT_TRY(check_kernel(gpu, &p, k, why));
            if (!*why) continue;
            vkt__gpu_drop_units(gpu);
            vkt_log(VKT_LOG_WARN, "units",
                    "the device's matrix units are not used: kernel %s for %s products: %s",
                    vkt__matmul_kernel_name(k), vkt_dtype_name(type), why);
            return VKT_OK;
        }
fail:
    return st;
}
