/* poses.h */
#include <math.h>

#include "data/points/poses.h"

vkt_status vkt__poses_create(uint32_t n, uint32_t n_points, vkt__poses **out)
{
    vkt_status st = VKT_OK;
    vkt__poses *p = vkt__alloc(sizeof *p);
    uint64_t each = (uint64_t)n_points * VKT__POINT_NUMBERS;
    p->n = n;
    p->n_points = n_points;
    VKT_TRY(vkt__alloc_large(n + 1ull, sizeof *p->crop, "the points", &p->crop));
    VKT_TRY(vkt__alloc_large(n + 1ull, sizeof *p->size, "the points", &p->size));
    VKT_TRY(vkt__alloc_large(n * each + 1, sizeof *p->at, "the points", &p->at));
    *out = p;
    return VKT_OK;
fail:
    vkt__poses_destroy(&p);
    return st;
}

void vkt__poses_destroy(vkt__poses **pp)
{
    vkt__poses *p = *pp;
    if (!p) return;
    free(p->crop);
    free(p->size);
    free(p->at);
    free(p->mirror);
    free(p);
    *pp = NULL;
}

uint64_t vkt__poses_hash(const vkt__poses *p, uint64_t seed)
{
    size_t each = (size_t)p->n_points * VKT__POINT_NUMBERS * sizeof *p->at;
    uint64_t h = vkt__hash(p->at, p->n * each, seed);
    h = vkt__hash(p->size, p->n * sizeof *p->size, h);
    return vkt__hash(p->crop, p->n * sizeof *p->crop, h);
}

/* ---- targets ---- */

void vkt__poses_nothing(const vkt_dataset *ds, vkt_label *y)
{
    for (uint32_t k = 0, n = vkt__n_labels(&ds->schema); k < n; k++) y[k].f = 0;
}

void vkt__poses_target(const vkt_dataset *ds, vkt_split split, uint64_t i, const vkt__moves *moves,
                       vkt_label *y)
{
    enum { N = VKT__POINT_NUMBERS };
    const vkt__poses *p = ds->part[ds->of_part[split]].poses;
    const uint32_t *side = ds->schema.input_shape, at = ds->index[split][i];
    vkt__poses_nothing(ds, y);
    if (!p) return;
    const double *from = p->at + (size_t)at * p->n_points * N;
    uint32_t w = p->crop[at].w, h = p->crop[at].h, W = side[1], H = side[0];
    bool mirrored = moves && moves->flip != moves->turn;
    for (uint32_t k = 0; k < p->n_points; k++) {
        double x = from[k * N], v = from[k * N + 1];
        uint32_t to = mirrored && p->mirror ? p->mirror[k] : k;
        vkt__moves_forth(moves, w, h, W, H, &x, &v);
        if (!(from[k * N + 2] > 0) || !(x >= 0 && x <= W && v >= 0 && v <= H)) continue;
        y[to * N].f = (float)fmin(x, W - 1e-6); /* a mirror moves the first edge to the last */
        y[to * N + 1].f = (float)fmin(v, H - 1e-6);
        y[to * N + 2].f = (float)from[k * N + 2];
    }
    vkt__box on = vkt__letterbox(w, h, W, H);
    double scale = (double)on.w / w;
    y[p->n_points * N].f = (float)(p->size[at][0] * scale);
    y[p->n_points * N + 1].f = (float)(sqrt(p->size[at][1]) * scale);
}

void vkt__poses_count(const vkt_dataset *ds, vkt_split split, uint64_t *out)
{
    const vkt__poses *p = ds->part[ds->of_part[split]].poses;
    for (uint64_t i = 0; p && i < ds->info.n[split]; i++)
        for (uint32_t k = 0; k < p->n_points; k++)
            out[k] +=
                p->at[((size_t)ds->index[split][i] * p->n_points + k) * VKT__POINT_NUMBERS + 2] > 0;
}

void vkt__poses_back(const vkt__schema *s, uint32_t w, uint32_t h, double *x, double *y)
{
    vkt__box from = vkt__letterbox(w, h, s->input_shape[1], s->input_shape[0]);
    *x = fmin(fmax((*x - from.x) * w / from.w, 0), w);
    *y = fmin(fmax((*y - from.y) * h / from.h, 0), h);
}

/* ---- mirrors ---- */

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* The name of the other side, into out; false: it has none. Words end at what is no letter, and
 * before a capital behind a small letter: left_eye, leftEye, eyeL. */
static bool other_side(const char *name, vkt__str *out)
{
    static const char *const words[][2] = {
        { "left", "right" }, { "right", "left" }, { "l", "r" }, { "r", "l" }
    };
    bool has = false;
    out->len = 0;
    for (const char *p = name; *p;) {
        char word[8];
        const char *to = NULL;
        size_t n = 1;
        while (letter(*p) && letter(p[n]) && !(upper(p[n]) && !upper(p[n - 1]))) n++;
        snprintf(word, sizeof word, "%.*s", (int)VKT_MIN(n, sizeof word - 1), p);
        for (size_t k = 0; k < VKT_COUNT(words) && n < sizeof word; k++)
            if (vkt__same_word(word, words[k][0])) to = words[k][1];
        vkt__str_add(out, to ? to : p, to ? strlen(to) : n);
        has |= to != NULL;
        p += n;
    }
    return has;
}

static uint32_t find(const char *const *name, uint32_t n, const char *one, size_t length)
{
    uint32_t k = 0;
    while (k < n && (strlen(name[k]) != length || strncmp(name[k], one, length) != 0)) k++;
    return k;
}

/* The next pair of "a:b, c:d" at *p, which moves behind it; a point that is not there is n. */
typedef struct pair {
    uint32_t a, b;
    const char *text;
    int length; /* as an error shows it */
} pair;
static bool next_pair(const char **p, const char *const *name, uint32_t n, pair *out)
{
    const char *from = *p + strspn(*p, " ,");
    if (!*from) return false;
    size_t first = strcspn(from, ":,"), second = 0;
    const char *other = from[first] == ':' ? from + first + 1 : "";
    other += strspn(other, " ");
    second = strcspn(other, ",");
    const char *end = *other ? other + second : from + first;
    while (first && from[first - 1] == ' ') first--;
    while (second && other[second - 1] == ' ') second--;
    *out = (pair) { find(name, n, from, first), find(name, n, other, second), from,
                    (int)VKT_MIN(end - from, 100) };
    *p = end;
    return true;
}

static vkt_status read_pairs(const char *const *name, uint32_t n, const char *pairs,
                             uint32_t *mirror)
{
    pair is;
    while (next_pair(&pairs, name, n, &is)) {
        if (is.a == n || is.b == n || is.a == is.b || mirror[is.a] != is.a || mirror[is.b] != is.b)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "data.flip_pairs: '%.*s' is no pair of two points, each in one pair, "
                             "as left_eye:right_eye",
                             is.length, is.text);
        mirror[is.a] = is.b;
        mirror[is.b] = is.a;
    }
    return VKT_OK;
}

vkt_status vkt__poses_limbs(const char *const *name, uint32_t n, const char *pairs,
                            vkt__arena *arena, uint32_t (**limb)[2], uint32_t *n_limbs)
{
    pair is;
    *n_limbs = 0;
    *limb = NULL;
    if (!strcmp(pairs, "none")) return VKT_OK;
    *limb = vkt__arena_alloc(arena, VKT__LIMBS_MOST * sizeof **limb);
    while (next_pair(&pairs, name, n, &is)) {
        if (is.a == n || is.b == n || is.a == is.b || *n_limbs == VKT__LIMBS_MOST)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "data.limbs: '%.*s' is no pair of two points, as hip:left_foot, or "
                             "beyond the first %d",
                             is.length, is.text, VKT__LIMBS_MOST);
        (*limb)[*n_limbs][0] = is.a;
        (*limb)[(*n_limbs)++][1] = is.b;
    }
    return VKT_OK;
}

vkt_status vkt__poses_mirror(const char *const *name, uint32_t n, const char *pairs,
                             uint32_t *mirror, bool *known)
{
    vkt__str other = { 0 };
    bool sided = false, alone = false;
    for (uint32_t k = 0; k < n; k++) mirror[k] = k;
    *known = true;
    if (pairs && *pairs) return strcmp(pairs, "none") ? read_pairs(name, n, pairs, mirror) : VKT_OK;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t to = 0;
        if (!other_side(name[k], &other)) continue;
        while (to < n && !vkt__same_word(name[to], other.data)) to++;
        sided = true;
        alone |= to == n;
        if (to < n) mirror[k] = to;
    }
    for (uint32_t k = 0; k < n; k++) alone |= mirror[mirror[k]] != k; /* Left, left, right */
    *known = sided && !alone;
    vkt__str_finish(&other);
    return VKT_OK;
}

vkt_status vkt__poses_check(const vkt_dataset *ds, const vkt_augment *how)
{
    const vkt__poses *p = ds->part[0].poses;
    if (!p || p->mirror || !(how->flip > 0 || how->flip_vertical > 0)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "data",
                     "data.augment.%s: a mirror exchanges left and right, and the points' names do "
                     "not say which are which: set data.flip_pairs, as a:b, c:d, or to none where "
                     "no point has a side",
                     how->flip > 0 ? "flip" : "flip_vertical");
}
