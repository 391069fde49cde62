/* bench_dump.h. Addresses among push constants are found by recording the row twice, with different
 * memory: what differs is one. */
#include <math.h>
#include <stdio.h>

#include "base/embedded.h"
#include "base/os.h"
#include "bench/bench_dump.h"
#include "gpu/commands.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/view.h"

enum { MOST_ELEMENTS = 65536, MOST_LAUNCHES = 64, MOST_PUSH = 128, DIGEST = 8 };

/* ---- what is dispatched ---- */

typedef struct launch {
    vkt__shader shader;
    vkt__constant spec[VKT__MAX_CONSTANTS];
    uint32_t n_spec, push_bytes, groups, level;
    unsigned char push[MOST_PUSH];
} launch;

typedef struct launches {
    launch l[MOST_LAUNCHES];
    uint32_t n, level;
    bool full;
} launches;

static void on_launch(void *user, const vkt__launch *l)
{
    launches *all = user;
    if (all->n == MOST_LAUNCHES) {
        all->full = true;
        return;
    }
    launch *to = &all->l[all->n++];
    *to = (launch) { .shader = l->shader,
                     .n_spec = l->n_spec,
                     .push_bytes = l->push_bytes,
                     .groups = l->groups,
                     .level = all->level };
    memcpy(to->spec, l->spec, l->n_spec * sizeof *l->spec);
    memcpy(to->push, l->push, l->push_bytes);
}

static launches *collect(const vkt__op_job *j, const vkt__op_set *s)
{
    launches *all = vkt__alloc(sizeof *all);
    vkt__rec rec = { .gpu = j->b->gpu, .caps = j->b->caps, .on_launch = on_launch, .user = all };
    for (uint32_t l = 0; l < s->g->n_levels; l++)
        for (size_t k = 0; k < s->g->n_nodes; k++) {
            all->level = l;
            if (s->g->nodes[k]->level == l && vkt__op_job_times(j, s->g->nodes[k]))
                vkt__record_node(&rec, s->g->nodes[k]);
        }
    return all;
}

static bool same_kernel(const launch *a, const launch *b)
{
    return a->shader == b->shader && a->n_spec == b->n_spec &&
           !memcmp(a->spec, b->spec, a->n_spec * sizeof *a->spec);
}

/* The first launch with the same kernel. */
static uint32_t kernel_of(const launches *all, uint32_t i)
{
    uint32_t k = 0;
    while (!same_kernel(&all->l[k], &all->l[i])) k++;
    return k;
}

void vkt__bench_kernels(const vkt__op_job *j, vkt__str *out)
{
    launches *all = collect(j, &j->sets[0]);
    for (uint32_t i = 0; i < all->n; i++) {
        const launch *l = &all->l[i];
        vkt__kernel *k;
        if (kernel_of(all, i) < i) continue;
        uint64_t digest = vkt__kernel_digest(j->b->gpu, l->shader, l->spec, l->n_spec);
        vkt__str_printf(out, "%s%s %0*x", out->len ? ", " : "", vkt__shader_name(l->shader), DIGEST,
                        (uint32_t)digest);
        if (vkt__kernel_get(j->b->gpu, l->shader, l->spec, l->n_spec, &k) != VKT_OK) continue;
        uint64_t compiled = vkt__kernel_compiled(j->b->gpu, k);
        if (compiled) vkt__str_printf(out, ":%0*x", DIGEST, (uint32_t)compiled);
    }
    free(all);
}

/* ---- what is expected ---- */

void vkt__dump_checks(void *user, const vkt_tensor *t, uint64_t i, double want, double limit)
{
    vkt__dump *d = user;
    uint64_t stride = (t->count + MOST_ELEMENTS - 1) / MOST_ELEMENTS;
    d->unknown |= isnan(limit);
    if (!d->few && i % stride && i + 1 != t->count) return;
    if (d->n == d->cap) d->all = vkt__grow(d->all, d->n, &d->cap, sizeof *d->all);
    d->all[d->n++] = (vkt__dump_expected) { t, i, want, limit };
}

/* ---- the folder ---- */

typedef struct folder {
    const vkt__op_job *j;
    const char *dir;
    vkt__str text; /* of row.txt */
    uint32_t n_files;
    vkt_status st;
} folder;

static void put(folder *f, const char *name, const void *data, size_t n)
{
    vkt__str path = { 0 };
    if (f->st != VKT_OK) return;
    vkt__str_printf(&path, "%s/%s", f->dir, name);
    f->st = vkt__file_replace(path.data, data, n);
    vkt__str_finish(&path);
}

/* Which of a set's buffers has this address, 0 its inputs, then the slab's; UINT32_MAX: none. The
 * end of one may be the begin of another: it is the end only where no buffer begins. */
static uint32_t buffer_of(const vkt__op_set *s, uint64_t addr, uint64_t *offset)
{
    uint32_t end_of = UINT32_MAX;
    for (uint32_t i = 0; i <= s->g->n_chunks; i++) {
        const vkt_buffer *b = i ? s->g->chunks[i - 1] : s->inputs;
        if (addr < b->addr || addr > b->addr + b->bytes) continue;
        *offset = addr - b->addr;
        end_of = i;
        if (addr < b->addr + b->bytes) break;
    }
    return end_of;
}

static uint64_t address(const vkt_tensor *t, uint32_t *which, const vkt__op_set *s)
{
    uint64_t at, offset = 0;
    const vkt_buffer *b = vkt__place(t, 0, &at);
    *which = buffer_of(s, b->addr + at, &offset);
    return offset;
}

static void put_buffers(folder *f)
{
    const vkt__op_set *s = &f->j->sets[0];
    for (uint32_t i = 0; i <= s->g->n_chunks && f->st == VKT_OK; i++) {
        const vkt_buffer *b = i ? s->g->chunks[i - 1] : s->inputs;
        vkt__str_printf(&f->text, "buffer %llu\n", (unsigned long long)b->bytes);
        if (b->n_pieces)
            f->st = vkt__fail(VKT_E_UNSUPPORTED, "bench",
                              "--dump: a buffer of this row is larger than one allocation may be: "
                              "take a smaller row");
    }
}

/* What is in `t` before the row runs: a pattern that repeats, or what was computed. */
static void put_data(folder *f, vkt_tensor *t)
{
    uint64_t bytes = t->bytes, unit = vkt_dtype_bytes(t->dtype);
    uint32_t which;
    char name[32];
    uint64_t at = address(t, &which, &f->j->sets[0]);
    if (vkt__op_job_input(t)) bytes = VKT_MIN(bytes, vkt__op_job_period(t) * unit);
    unsigned char *data = vkt__alloc(bytes + 4);
    if (vkt__op_job_input(t))
        memcpy(data, f->j->host + at, bytes);
    else
        f->st = vkt_tensor_read(t, 0, data, bytes);
    snprintf(name, sizeof name, "data%u.bin", f->n_files++);
    put(f, name, data, bytes);
    vkt__str_printf(&f->text, "data %u %llu %llu %llu %s\n", which, (unsigned long long)at,
                    (unsigned long long)t->bytes, (unsigned long long)bytes, name);
    free(data);
}

static bool is_made(const vkt__op_job *j, const vkt_tensor *t)
{
    return t->node && vkt__op_job_times(j, t->node);
}

static void put_inputs(folder *f)
{
    const vkt_graph *g = f->j->sets[0].g;
    const vkt_tensor **seen = vkt__alloc((g->n_tensors + 1) * sizeof *seen);
    size_t n_seen = 0;
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN && f->st == VKT_OK; i++) {
            const vkt_node *n = g->nodes[k];
            if (!vkt__op_job_times(f->j, n) || !n->in[i]) continue;
            vkt_tensor *t = (vkt_tensor *)(uintptr_t)vkt__home(n->in[i]);
            size_t s = 0;
            while (s < n_seen && seen[s] != t) s++;
            if (s < n_seen || is_made(f->j, t) || !t->count) continue;
            seen[n_seen++] = t;
            if ((n->op->in[i] & VKT_CHANGED) && !vkt__op_job_input(t))
                f->st = vkt__fail(VKT_E_UNSUPPORTED, "bench",
                                  "--dump: this row changes what another kernel computed: its "
                                  "numbers can't be set again; take another row");
            else
                put_data(f, t);
        }
    free(seen);
}

static void put_kernel(folder *f, const launch *l, uint32_t k)
{
    size_t words;
    char name[32];
    vkt_gpu *gpu = f->j->b->gpu;
    uint32_t *code = vkt__kernel_spirv(gpu, l->shader, &words);
    if (!code) {
        f->st = vkt__fail(VKT_E_OOM_HOST, "bench", "--dump: no memory to unpack '%s'",
                          vkt__shader_name(l->shader));
        return;
    }
    snprintf(name, sizeof name, "kernel%u.spv", k);
    put(f, name, code, words * 4);
    free(code);
    vkt__str_printf(&f->text, "kernel %u %s %u %u %s\n", k, name,
                    vkt__kernel_lanes(gpu, l->spec, l->n_spec), l->n_spec,
                    vkt__shader_name(l->shader));
    for (uint32_t i = 0; i < l->n_spec; i++)
        vkt__str_printf(&f->text, "constant %u %u\n", l->spec[i].id, l->spec[i].value);
}

static void put_launch(folder *f, const launch *l, const launch *other, uint32_t k)
{
    /* as vkt__cmd_dispatch folds them */
    uint32_t x = VKT_MIN(l->groups, f->j->b->caps->groups_x), y = (l->groups + x - 1) / x;
    x = (l->groups + y - 1) / y;
    vkt__str_printf(&f->text, "dispatch %u %u %u %u ", k, x, y, l->push_bytes);
    for (uint32_t i = 0; i < l->push_bytes; i++) vkt__str_printf(&f->text, "%02x", l->push[i]);
    vkt__str_printf(&f->text, "\n");
    for (uint32_t at = 0; at + 8 <= l->push_bytes; at += 8) {
        uint64_t a, b, offset = 0, offset2 = 0;
        memcpy(&a, l->push + at, 8);
        memcpy(&b, other->push + at, 8);
        if (a == b) continue;
        uint32_t which = buffer_of(&f->j->sets[0], a, &offset),
                 which2 = buffer_of(&f->j->sets[1], b, &offset2);
        if (which == UINT32_MAX || which != which2 || offset != offset2)
            f->st = vkt__fail(VKT_E_UNSUPPORTED, "bench",
                              "--dump: byte %u of what '%s' is pushed is no address of this row's "
                              "memory; take another row",
                              at, vkt__shader_name(l->shader));
        vkt__str_printf(&f->text, "address %u %u %llu\n", at, which, (unsigned long long)offset);
    }
}

static void put_launches(folder *f)
{
    launches *all = collect(f->j, &f->j->sets[0]), *other = collect(f->j, &f->j->sets[1]);
    if (all->full || all->n != other->n)
        f->st = vkt__fail(VKT_E_UNSUPPORTED, "bench",
                          "--dump: this row has more than %d dispatches", MOST_LAUNCHES);
    for (uint32_t i = 0; i < all->n && f->st == VKT_OK; i++) {
        uint32_t k = kernel_of(all, i);
        if (k == i) put_kernel(f, &all->l[i], k);
        if (i && all->l[i].level != all->l[i - 1].level) vkt__str_printf(&f->text, "barrier\n");
        put_launch(f, &all->l[i], &other->l[i], k);
    }
    free(all);
    free(other);
}

/* Triples of a tensor: the element's number, what it should be, what it may be off. */
static void put_expected(folder *f, const vkt__dump *d)
{
    char name[32];
    if (d->unknown)
        f->st =
            vkt__fail(VKT_E_UNSUPPORTED, "bench",
                      "--dump: this row's results are packed codes, which are compared by rules "
                      "of their own; take another row");
    for (size_t i = 0, n; i < d->n && f->st == VKT_OK; i += n) {
        const vkt_tensor *t = d->all[i].t;
        uint32_t which;
        for (n = 0; i + n < d->n && d->all[i + n].t == t;) n++;
        double *triples = vkt__alloc(n * 3 * sizeof *triples);
        for (size_t k = 0; k < n; k++) {
            triples[3 * k] = (double)d->all[i + k].i;
            triples[3 * k + 1] = d->all[i + k].want;
            triples[3 * k + 2] = d->all[i + k].limit;
        }
        uint64_t at = address(t, &which, &f->j->sets[0]);
        snprintf(name, sizeof name, "expected%u.bin", f->n_files++);
        put(f, name, triples, n * 3 * sizeof *triples);
        vkt__str_printf(&f->text, "expect %u %llu %s %zu %s\n", which, (unsigned long long)at,
                        vkt_dtype_name(t->dtype), n, name);
        free(triples);
    }
}

vkt_status vkt__bench_dump(const vkt__op_job *j, const vkt__dump *d, const vkt_bench_row *r,
                           const char *dir)
{
    folder f = { .j = j, .dir = dir };
    const vkt_bench_info *info = &j->b->out->info;
    const vkt_caps *c = j->b->caps;
    const vkt__embedded_file *program = vkt__embedded_page;
    while (strcmp(program->name, "replay_row.c") != 0) program++;
    f.st = vkt__mkdirs(dir);
    vkt__str_printf(&f.text, "vktrain_row 1\nname %s\ndevice %s\ndriver %s\ncommit %s\nseed %d\n",
                    r->name, info->device, info->driver, info->commit, VKT__OP_SEED);
    if (isfinite(r->value)) /* of a wrong result there is none */
        vkt__str_printf(&f.text, "measured %.6g us%s\n", r->value,
                        j->b->desc->repeat > 1 ? ", the first time" : "");
    vkt__str_printf(&f.text, "needs matrix %d matrix2 %d bf16 %d\n", c->coopmat, c->coopmat2,
                    c->bf16);
    if (f.st == VKT_OK) put_buffers(&f);
    if (f.st == VKT_OK) put_inputs(&f);
    if (f.st == VKT_OK) put_launches(&f);
    if (f.st == VKT_OK) put_expected(&f, d);
    put(&f, "row.txt", f.text.data, f.text.len);
    put(&f, "replay_row.c", program->data, program->bytes);
    vkt__str_finish(&f.text);
    return f.st;
}
