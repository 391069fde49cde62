/* Attention, RotaryEmbedding and Einsum: products of tensors with several axes of rows. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "onnx/onnx_op.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };

/* [N, H, T, D] of [N, T, H D]. */
static vkt_tensor *heads_first(vkt__onnx_build *b, vkt_tensor *x, int64_t heads)
{
    vkt_shape s = vkt_tensor_shape(x);
    if (s.rank == 4) return x;
    if (s.rank != 3 || heads < 1 || s.d[2] % (uint64_t)heads) {
        vkt__onnx_refuse(b, "%lld heads of a tensor of rank %u", (long long)heads, s.rank);
        return x;
    }
    uint32_t h = (uint32_t)heads;
    x = vkt_reshape(b->g, x, (vkt_shape) { 4, { s.d[0], s.d[1], h, s.d[2] / h } });
    return vkt_permute(b->g, x, (uint32_t[]) { 0, 2, 1, 3 });
}

/* Each head of keys and values as often as queries share it. */
static vkt_tensor *repeat_heads(vkt__onnx_build *b, vkt_tensor *x, uint32_t heads)
{
    vkt_shape s = vkt_tensor_shape(x);
    if (s.d[1] == heads) return x;
    if (!s.d[1] || heads % s.d[1]) {
        vkt__onnx_refuse(b, "%u heads of queries and %u of keys", heads, s.d[1]);
        return x;
    }
    uint32_t n = heads / s.d[1];
    x = vkt_reshape(b->g, x, (vkt_shape) { 5, { s.d[0], s.d[1], 1, s.d[2], s.d[3] } });
    x = vkt_expand(b->g, x, (vkt_shape) { 5, { s.d[0], s.d[1], n, s.d[2], s.d[3] } });
    return vkt_reshape(b->g, x, (vkt_shape) { 4, { s.d[0], heads, s.d[2], s.d[3] } });
}

static vkt_tensor *after_past(vkt__onnx_build *b, size_t i, vkt_tensor *x, uint32_t *past)
{
    vkt__onnx_value *v = vkt__onnx_in(b, i);
    if (!v || !v->rank || !vkt__onnx_count(v)) return x;
    vkt_tensor *both[] = { vkt__onnx_first(b, v), x };
    *past = vkt_tensor_shape(both[0]).d[2];
    return vkt_concat(b->g, both, 2, 2);
}

/* What is added to the scores [.., T, S]; NULL: nothing. */
static vkt_tensor *bias_of_mask(vkt__onnx_build *b, uint32_t keys)
{
    vkt__onnx_value *m = vkt__onnx_in(b, MASK);
    if (!m || !m->type || !m->rank) return NULL;
    vkt_tensor *x = vkt__onnx_first(b, m), *none = vkt_fill(b->g, vkt_shape1(1), 0),
               *hide = vkt_fill(b->g, vkt_shape1(1), -3.0e38f);
    if (m->type == VKT__ONNX_BOOL) x = vkt_where(b->g, x, none, hide);
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t before[VKT_MAX_RANK] = { 0 }, after[VKT_MAX_RANK] = { 0 };
    if (s.d[s.rank - 1] == keys) return x;
    if (s.d[s.rank - 1] > keys) {
        vkt__onnx_refuse(b, "a mask of %u places over %u keys", s.d[s.rank - 1], keys);
        return NULL;
    }
    after[s.rank - 1] = keys - s.d[s.rank - 1];
    return vkt_pad(b->g, x, before, after, -3.0e38f);
}

static vkt_tensor *causal(vkt__onnx_build *b, uint32_t rows, uint32_t keys, uint32_t past)
{
    int64_t dims[] = { rows, keys };
    vkt__onnx_host *h = vkt__onnx_host_new(b, dims, 2, false);
    for (uint64_t i = 0; h && i < h->count; i++) h->d[i] = i % keys > i / keys + past ? -3.0e38 : 0;
    return h ? vkt__onnx_made(b, "causal mask", h) : NULL;
}

static vkt_tensor *plus(vkt__onnx_build *b, vkt_tensor *x, vkt_tensor *y)
{
    return y ? vkt_binary(b->g, VKT_FN2_ADD, x, y) : x;
}

static void build_attention(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *vq = vkt__onnx_need(b, Q), *vk = vkt__onnx_need(b, K),
                    *vv = vkt__onnx_need(b, V);
    int64_t heads = vkt__onnx_int(b, "q_num_heads", 0), kv = vkt__onnx_int(b, "kv_num_heads", 0),
            mode = vkt__onnx_int(b, "qk_matmul_output_mode", 0);
    bool three = vq->rank == 3, shows = vkt__onnx_wanted(b, 3);
    int type = vq->type;
    uint32_t past = 0;
    if (vkt__onnx_in(b, LENGTHS)) vkt__onnx_refuse(b, "with lengths of its own");
    if ((vq->rank != 3 && vq->rank != 4) || vk->rank != vq->rank || vv->rank != vq->rank)
        vkt__onnx_refuse(b, "of tensors of rank %u, %u and %u", vq->rank, vk->rank, vv->rank);
    if (b->st != VKT_OK) return;
    vkt_tensor *q = heads_first(b, vkt__onnx_first(b, vq), heads),
               *k = heads_first(b, vkt__onnx_first(b, vk), kv),
               *v = heads_first(b, vkt__onnx_first(b, vv), kv);
    if (b->st != VKT_OK) return;
    k = after_past(b, PAST_KEY, k, &past);
    v = after_past(b, PAST_VALUE, v, &past);
    vkt__onnx_give(b, 1, k, type);
    vkt__onnx_give(b, 2, v, type);
    vkt_shape s = vkt_tensor_shape(q);
    k = repeat_heads(b, k, s.d[1]);
    v = repeat_heads(b, v, s.d[1]);
    if (b->st != VKT_OK) return;
    float scale = vkt__onnx_float(b, "scale", 1 / sqrtf((float)s.d[3])),
          cap = vkt__onnx_float(b, "softcap", 0);
    uint32_t keys = vkt_tensor_shape(k).d[2];
    vkt_tensor *y = vkt_matmul_broadcast(b->g, VKT_LAYOUT_NT, vkt_scale(b->g, q, scale), k);
    if (shows && mode == 0) vkt__onnx_give(b, 3, y, type);
    y = plus(b, y, bias_of_mask(b, keys));
    if (vkt__onnx_int(b, "is_causal", 0)) y = plus(b, y, causal(b, s.d[2], keys, past));
    if (shows && mode == 1) vkt__onnx_give(b, 3, y, type);
    if (cap > 0)
        y = vkt_scale(b->g, vkt_activate(b->g, vkt_scale(b->g, y, 1 / cap), VKT_ACT_TANH), cap);
    if (shows && mode == 2) vkt__onnx_give(b, 3, y, type);
    y = vkt_softmax(b->g, y);
    if (shows && mode == 3) vkt__onnx_give(b, 3, y, type);
    y = vkt_matmul_broadcast(b->g, VKT_LAYOUT_NN, y, v);
    if (three) {
        uint32_t width = s.d[1] * vkt_tensor_shape(v).d[3];
        y = vkt_permute(b->g, y, (uint32_t[]) { 0, 2, 1, 3 });
        y = vkt_reshape(b->g, y, vkt_shape3(s.d[0], s.d[2], width));
    }
    vkt__onnx_give(b, 0, y, type);
}

/* ---- RotaryEmbedding ---- */

static vkt_tensor *columns(vkt__onnx_build *b, vkt_tensor *x, uint32_t from, uint32_t n,
                           uint32_t step)
{
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t first[VKT_MAX_RANK] = { 0 }, steps[VKT_MAX_RANK];
    for (uint32_t k = 0; k < s.rank; k++) steps[k] = 1;
    first[s.rank - 1] = from;
    steps[s.rank - 1] = step;
    s.d[s.rank - 1] = n;
    return vkt_slice(b->g, x, first, s.d, steps);
}

/* Cosines or sines [N, T, 1, D / 2] of the table's rows that the places name. */
static vkt_tensor *turns(vkt__onnx_build *b, size_t i, uint32_t examples, uint32_t length)
{
    vkt__onnx_value *v = vkt__onnx_need(b, i), *places = vkt__onnx_in(b, 3);
    vkt_tensor *t = vkt__onnx_first(b, v);
    vkt_shape s = vkt_tensor_shape(t);
    if (!places) {
        if (v->rank == 3 && s.d[1] == length && (s.d[0] == examples || s.d[0] == 1))
            return vkt_reshape(b->g, t, (vkt_shape) { 4, { s.d[0], length, 1, s.d[2] } });
    } else if (v->rank == 2 && vkt__onnx_count(places) == (uint64_t)examples * length) {
        vkt_tensor *ids = vkt__onnx_ids(b, places, v->dims[0]);
        ids = vkt_reshape(b->g, ids, vkt_shape2(examples * length, 1));
        ids = vkt_expand(b->g, ids, vkt_shape2(examples * length, s.d[1]));
        t = vkt_gather(b->g, t, ids, 0);
        return vkt_reshape(b->g, t, (vkt_shape) { 4, { examples, length, 1, s.d[1] } });
    }
    vkt__onnx_refuse(b, "its cosines and sines do not fit");
    return t;
}

static void build_rotary(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *vx = vkt__onnx_need(b, 0);
    int64_t heads = vkt__onnx_int(b, "num_heads", 0),
            dim = vkt__onnx_int(b, "rotary_embedding_dim", 0);
    bool pairs = vkt__onnx_int(b, "interleaved", 0) != 0, four = vx->rank == 4;
    if (!four && (vx->rank != 3 || heads < 1 || vx->dims[2] % heads))
        vkt__onnx_refuse(b, "%lld heads of a tensor of rank %u", (long long)heads, vx->rank);
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, vx);
    vkt_shape whole = vkt_tensor_shape(x), s;
    x = four ? vkt_permute(b->g, x, (uint32_t[]) { 0, 2, 1, 3 })
             : vkt_reshape(b->g, x,
                           (vkt_shape) { 4,
                                         { whole.d[0], whole.d[1], (uint32_t)heads,
                                           whole.d[2] / (uint32_t)heads } });
    s = vkt_tensor_shape(x);
    uint32_t n = dim > 0 && dim < (int64_t)s.d[3] ? (uint32_t)dim : s.d[3], half = n / 2;
    if (n % 2 || n < 2) vkt__onnx_refuse(b, "of %u numbers", n);
    if (b->st != VKT_OK) return;
    vkt_tensor *cosine = turns(b, 1, s.d[0], s.d[1]), *sine = turns(b, 2, s.d[0], s.d[1]);
    if (b->st != VKT_OK) return;
    if (vkt_tensor_shape(cosine).d[3] != half || vkt_tensor_shape(sine).d[3] != half) {
        vkt__onnx_refuse(b, "its cosines and sines do not fit");
        return;
    }
    vkt_tensor *one = columns(b, x, 0, half, pairs ? 2 : 1),
               *two = columns(b, x, pairs ? 1 : half, half, pairs ? 2 : 1),
               *real = vkt_binary(b->g, VKT_FN2_SUB, vkt_binary(b->g, VKT_FN2_MUL, one, cosine),
                                  vkt_binary(b->g, VKT_FN2_MUL, two, sine)),
               *other = vkt_binary(b->g, VKT_FN2_ADD, vkt_binary(b->g, VKT_FN2_MUL, one, sine),
                                   vkt_binary(b->g, VKT_FN2_MUL, two, cosine)),
               *parts[3];
    if (pairs) {
        vkt_shape wide = { 5, { s.d[0], s.d[1], s.d[2], half, 1 } };
        parts[0] = vkt_reshape(b->g, real, wide);
        parts[1] = vkt_reshape(b->g, other, wide);
        parts[0] = vkt_reshape(b->g, vkt_concat(b->g, parts, 2, 4),
                               (vkt_shape) { 4, { s.d[0], s.d[1], s.d[2], n } });
    } else {
        parts[0] = real;
        parts[1] = other;
        parts[0] = vkt_concat(b->g, parts, 2, 3);
    }
    if (n < s.d[3]) {
        parts[1] = columns(b, x, n, s.d[3] - n, 1);
        parts[0] = vkt_concat(b->g, parts, 2, 3);
    }
    x = four ? vkt_permute(b->g, parts[0], (uint32_t[]) { 0, 2, 1, 3 })
             : vkt_reshape(b->g, parts[0], whole);
    vkt__onnx_give(b, 0, x, vx->type);
}

/* ---- Einsum ---- */

/* A tensor whose axes have letters. */
typedef struct lettered {
    vkt_tensor *t;
    char letters[VKT_MAX_RANK + 1];
} lettered;

static uint32_t size_of(const lettered *x, char c)
{
    const char *at = strchr(x->letters, c);
    return at && c ? vkt_tensor_shape(x->t).d[at - x->letters] : 1;
}

/* x with its axes in that order, which has the same letters. */
static void in_order(vkt__onnx_build *b, lettered *x, const char *letters)
{
    uint32_t order[VKT_MAX_RANK] = { 0 };
    if (!*letters || !strcmp(x->letters, letters)) return;
    for (uint32_t k = 0; letters[k]; k++)
        order[k] = (uint32_t)(strchr(x->letters, letters[k]) - x->letters);
    x->t = vkt_permute(b->g, x->t, order);
    memcpy(x->letters, letters, strlen(letters) + 1);
}

/* Sums over the letters that nobody needs. */
static void sum_others(vkt__onnx_build *b, lettered *x, const char *needed)
{
    uint32_t axes = 0, n = 0;
    for (uint32_t k = 0; x->letters[k]; k++) {
        if (!strchr(needed, x->letters[k]))
            axes |= 1u << k;
        else
            x->letters[n++] = x->letters[k];
    }
    x->letters[n] = 0;
    if (axes) x->t = vkt_reduce(b->g, VKT_REDUCE_SUM, x->t, axes, false);
}

static void append(char *to, size_t room, char c)
{
    size_t n = strlen(to);
    if (n + 1 < room) {
        to[n] = c;
        to[n + 1] = 0;
    }
}

static vkt_shape three(vkt__onnx_build *b, const lettered *x, const char *one, const char *two,
                       const char *last)
{
    const char *const groups[] = { one, two, last };
    int64_t d[3] = { 1, 1, 1 };
    for (int i = 0; i < 3; i++)
        for (const char *p = groups[i]; *p; p++) d[i] *= size_of(x, *p);
    return vkt__onnx_shape(b, d, 3);
}

/* Two tensors as one product: letters of both that are needed number the products, those of one
 * are its rows or columns, those of both that are not needed are summed over. */
static lettered contract(vkt__onnx_build *b, lettered x, lettered y, const char *needed)
{
    enum { ROOM = 2 * VKT_MAX_RANK + 2 };
    char batch[ROOM] = "", rows[ROOM] = "", cols[ROOM] = "", inner[ROOM] = "", need[160],
         order[3 * ROOM];
    snprintf(need, sizeof need, "%s%s", needed, y.letters);
    sum_others(b, &x, need);
    snprintf(need, sizeof need, "%s%s", needed, x.letters);
    sum_others(b, &y, need);
    for (const char *p = x.letters; *p; p++) {
        bool both = strchr(y.letters, *p) != NULL, kept = strchr(needed, *p) != NULL;
        if (both && size_of(&x, *p) != size_of(&y, *p))
            vkt__onnx_refuse(b, "the axes '%c' have sizes %u and %u", *p, size_of(&x, *p),
                             size_of(&y, *p));
        append(both ? kept ? batch : inner : rows, ROOM, *p);
    }
    for (const char *p = y.letters; *p; p++)
        if (!strchr(x.letters, *p)) append(cols, ROOM, *p);
    lettered out = { NULL, "" };
    size_t n = strlen(batch) + strlen(rows) + strlen(cols);
    if (n > VKT_MAX_RANK) vkt__onnx_refuse(b, "a result of %zu axes", n);
    if (b->st != VKT_OK) return out;
    snprintf(order, sizeof order, "%s%s%s", batch, rows, inner);
    in_order(b, &x, order);
    snprintf(order, sizeof order, "%s%s%s", batch, cols, inner);
    in_order(b, &y, order);
    vkt_shape s = { 0 };
    for (const char *p = batch; *p; p++) s.d[s.rank++] = size_of(&x, *p);
    for (const char *p = rows; *p; p++) s.d[s.rank++] = size_of(&x, *p);
    for (const char *p = cols; *p; p++) s.d[s.rank++] = size_of(&y, *p);
    vkt_tensor *a = vkt_reshape(b->g, x.t, three(b, &x, batch, rows, inner)),
               *c = vkt_reshape(b->g, y.t, three(b, &y, batch, cols, inner));
    if (!s.rank) s = vkt_shape1(1);
    out.t = vkt_reshape(b->g, vkt_matmul_broadcast(b->g, VKT_LAYOUT_NT, a, c), s);
    vkt__format(out.letters, sizeof out.letters, "%s%s%s", batch, rows, cols);
    return out;
}

static int letters_from(const char *p)
{
    int n = 0;
    for (; *p && *p != ',' && *p != '-'; p++) n += isalpha((unsigned char)*p) != 0;
    return n;
}

/* The equation with a digit for each axis that dots stand for, which are aligned at the last. Those
 * of the result are all. */
static void without_dots(vkt__onnx_build *b, const char *text, char *out, size_t room)
{
    int most = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t term = 0, n = b->n->n_in;
        const char *begin = text;
        *out = 0;
        for (const char *p = text; *p; p++) {
            if (*p == ',' || *p == '>') {
                begin = p + 1;
                term = *p == ',' ? term + 1 : n;
            }
            if (strncmp(p, "...", 3) != 0) {
                append(out, room, *p);
                continue;
            }
            int m = term < n ? (int)vkt__onnx_need(b, term)->rank - letters_from(begin) : most;
            if (m > most) most = VKT_MIN(m, 9);
            for (int k = most - m; k < most; k++) append(out, room, (char)('0' + k));
            p += 2;
        }
    }
}

/* "ij, jk -> ik" without spaces, the terms apart; false: refused. */
static bool read_equation(vkt__onnx_build *b, char terms[][VKT_MAX_RANK + 1], size_t n, char *out)
{
    char text[256];
    without_dots(b, vkt__onnx_word(b, "equation", ""), text, sizeof text);
    const char *p = text;
    bool arrow = false, ok = true;
    size_t at = 0;
    for (size_t i = 0; i <= n; i++) terms[i][0] = 0;
    for (; *p && ok; p++) {
        if (*p == ' ') continue;
        if (*p == '-' && p[1] == '>' && !arrow && at + 1 == n) {
            arrow = true;
            at = n;
            p++;
        } else if (*p == ',' && !arrow && at + 1 < n) {
            at++;
        } else {
            ok = isalnum((unsigned char)*p) && !strchr(terms[at], *p) &&
                 strlen(terms[at]) < VKT_MAX_RANK;
            if (ok) append(terms[at], VKT_MAX_RANK + 1, *p);
        }
    }
    ok = ok && (arrow || at + 1 == n);
    for (char c = '0'; ok && !arrow && c <= 'z';
         c++) { /* dots, letters that stand once: in order */
        size_t times = 0;
        for (size_t i = 0; i < n && isalnum((unsigned char)c); i++)
            times += strchr(terms[i], c) != NULL;
        if ((times == 1 || (times && isdigit((unsigned char)c))) && strlen(terms[n]) < VKT_MAX_RANK)
            append(terms[n], VKT_MAX_RANK + 1, c);
    }
    for (const char *c = terms[n]; ok && *c; c++) {
        bool there = false;
        for (size_t i = 0; i < n; i++) there = there || strchr(terms[i], *c);
        ok = there;
    }
    memcpy(out, terms[n], VKT_MAX_RANK + 1);
    if (!ok)
        vkt__onnx_refuse(b, "'%s': letters that stand once in each term are supported",
                         vkt__show(vkt__onnx_word(b, "equation", "")).s);
    return ok;
}

static void build_einsum(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    enum { MOST = 8 };
    char terms[MOST + 1][VKT_MAX_RANK + 1], out[VKT_MAX_RANK + 1], needed[160];
    size_t n = b->n->n_in;
    if (n < 1 || n > MOST) vkt__onnx_refuse(b, "of %zu tensors", n);
    if (b->st != VKT_OK || !read_equation(b, terms, n, out)) return;
    lettered sum = { NULL, "" };
    int type = vkt__onnx_need(b, 0)->type;
    for (size_t i = 0; i < n && b->st == VKT_OK; i++) {
        vkt__onnx_value *v = vkt__onnx_need(b, i);
        lettered x = { vkt__onnx_first(b, v), "" };
        if (strlen(terms[i]) != v->rank || !v->rank) {
            vkt__onnx_refuse(b, "'%s' of a tensor of rank %u", terms[i], v->rank);
            return;
        }
        memcpy(x.letters, terms[i], sizeof x.letters);
        snprintf(needed, sizeof needed, "%s", out);
        for (size_t j = i + 1; j < n; j++)
            snprintf(needed + strlen(needed), sizeof needed - strlen(needed), "%s", terms[j]);
        if (i)
            sum = contract(b, sum, x, needed);
        else
            sum = x;
        if (b->st == VKT_OK) sum_others(b, &sum, needed);
    }
    if (b->st != VKT_OK) return;
    in_order(b, &sum, out);
    if (*out)
        vkt__onnx_give(b, 0, sum.t, type);
    else
        vkt__onnx_give_rank0(b, 0, vkt_reshape(b->g, sum.t, vkt_shape1(1)), type);
}

const vkt__onnx_op vkt__onnx_attention_ops[] = {
    { "Attention", build_attention, NULL, 0, 0, 0, "matmul, softmax", "no lengths of its own" },
    { "RotaryEmbedding", build_rotary, NULL, 0, 0, 0, "slice, binary", NULL },
    { "Einsum", build_einsum, NULL, 0, 0, 0, "matmul, permute, reduce",
      "letters that stand once in each term; dots of equal sizes" },
    { .name = NULL },
};
