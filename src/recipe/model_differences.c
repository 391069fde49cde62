/* vkt_model_differences: models side by side. Their layers are set in one row of slots, by an
 * alignment that pairs what is alike, as programs that compare texts pair lines. */
#include "recipe/recipe_model.h"

/* Largest table of the alignment, in cells; longer lists of layers are paired by position. */
enum { MOST_CELLS = 4 << 20 };

typedef struct slot {
    const vkt_layer **of; /* [n] of each model; NULL: it has no such layer */
    const vkt_layer *any; /* of the first that has it */
    const char *path;     /* "model.1.body.0", there */
} slot;

typedef struct slots {
    slot *s;
    size_t n, cap, n_models;
    vkt__arena *arena;
} slots;

static void add(slots *to, const slot *s)
{
    to->s = vkt__grow(to->s, to->n, &to->cap, sizeof *to->s);
    to->s[to->n++] = *s;
}

/* Layers, each before those in it. */
static void flatten(slots *to, size_t model, const vkt_layer *layers, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++) {
        const vkt_layer *l = &layers[i];
        slot s = { vkt__arena_alloc(to->arena, to->n_models * sizeof *s.of), l,
                   vkt__arena_printf(to->arena, "%s.%zu", path, i) };
        memset((void *)s.of, 0, to->n_models * sizeof *s.of);
        s.of[model] = l;
        add(to, &s);
        if (l->n_body)
            flatten(to, model, l->body, l->n_body, vkt__arena_printf(to->arena, "%s.body", s.path));
        if (l->n_shortcut)
            flatten(to, model, l->shortcut, l->n_shortcut,
                    vkt__arena_printf(to->arena, "%s.shortcut", s.path));
    }
}

/* How deep a layer lies within others: only layers of the same depth are paired. */
static size_t depth(const slot *s)
{
    size_t n = 0;
    for (const char *p = s->path; *p; p++) n += *p == '.';
    return n;
}

static char *opt_text(const vkt_layer *l, const vkt_layer_opt *o)
{
    vkt__str out = { 0 };
    vkt__model_opt_yaml(l, o, &out);
    return out.data;
}

static const char *from_text(vkt__arena *a, const vkt_layer *l)
{
    vkt__str out = { 0 };
    vkt__model_from_yaml(l, &out);
    const char *text = vkt__arena_strdup(a, out.len ? out.data : "default");
    vkt__str_finish(&out);
    return text;
}

static bool same_opts(const vkt_layer *a, const vkt_layer *b)
{
    bool same = !strcmp(a->name ? a->name : "", b->name ? b->name : "") && a->n_from == b->n_from;
    for (size_t k = 0; k < a->n_from && same; k++) same = !strcmp(a->from[k], b->from[k]);
    for (const vkt_layer_opt *o = vkt__model_opts(a); o->name && same; o++) {
        char *x = opt_text(a, o), *y = opt_text(b, o);
        same = !strcmp(x ? x : "", y ? y : "");
        free(x);
        free(y);
    }
    return same;
}

/* What a pair is worth; 0: it is none. */
static uint32_t worth(const slot *a, const slot *b)
{
    if (strcmp(a->any->type, b->any->type) || depth(a) != depth(b)) return 0;
    return same_opts(a->any, b->any) ? 3 : 2;
}

static void join(slots *to, const slot *a, const slot *b, size_t model)
{
    slot s = *(a ? a : b);
    if (a && b) s.of[model] = b->any;
    add(to, &s);
}

/* Slots i.. of a against j.. of b, the pairs that are worth most; too many: in their order. */
static void merge_middle(slots *to, const slots *a, size_t i, size_t i_end, const slots *b,
                         size_t j, size_t j_end, size_t model)
{
    size_t rows = i_end - i, columns = j_end - j, wide = columns + 1;
    bool fits = (rows + 1) * wide <= MOST_CELLS;
    uint32_t *best = fits ? vkt__alloc((rows + 1) * wide * sizeof *best) : NULL,
             *pair = fits ? vkt__alloc((rows + 1) * wide * sizeof *pair) : NULL;
    for (size_t r = rows; fits && r-- > 0;)
        for (size_t c = columns; c-- > 0;) {
            uint32_t w = pair[r * wide + c] = worth(&a->s[i + r], &b->s[j + c]);
            uint32_t both = w ? w + best[(r + 1) * wide + c + 1] : 0;
            best[r * wide + c] =
                VKT_MAX(both, VKT_MAX(best[(r + 1) * wide + c], best[r * wide + c + 1]));
        }
    for (size_t r = 0, c = 0; r < rows || c < columns;) {
        bool last_a = r == rows, last_b = c == columns;
        const slot *x = last_a ? NULL : &a->s[i + r], *y = last_b ? NULL : &b->s[j + c];
        uint32_t w = !x || !y ? 0 : fits ? pair[r * wide + c] : worth(x, y);
        bool both = w && (!fits || best[r * wide + c] == w + best[(r + 1) * wide + c + 1]);
        bool down =
            !both &&
            (last_b || (!last_a && (!fits || best[r * wide + c] == best[(r + 1) * wide + c])));
        join(to, both || down ? x : NULL, both || !down ? y : NULL, model);
        r += both || down;
        c += both || !down;
    }
    free(best);
    free(pair);
}

static void merge(slots *all, const slots *b, size_t model)
{
    slots to = { .n_models = all->n_models, .arena = all->arena };
    size_t head = 0, tail = 0, most = VKT_MIN(all->n, b->n);
    while (head < most && worth(&all->s[head], &b->s[head]) == 3) head++;
    while (tail < most - head && worth(&all->s[all->n - 1 - tail], &b->s[b->n - 1 - tail]) == 3)
        tail++;
    for (size_t i = 0; i < head; i++) join(&to, &all->s[i], &b->s[i], model);
    merge_middle(&to, all, head, all->n - tail, b, head, b->n - tail, model);
    for (size_t k = tail; k-- > 0;) join(&to, &all->s[all->n - 1 - k], &b->s[b->n - 1 - k], model);
    free(all->s);
    *all = to;
}

/* A layer that some models lack: what the others set, "yes" where they set nothing. */
static const char *layer_text(vkt__arena *a, const vkt_layer *l)
{
    vkt__str out = { 0 };
    for (const vkt_layer_opt *o = vkt__model_opts(l); o->name; o++) {
        char *v = opt_text(l, o);
        if (v) vkt__str_printf(&out, "%s%s: %s", out.len ? ", " : "", o->name, v);
        free(v);
    }
    const char *text = vkt__arena_strdup(a, out.data ? out.data : "yes");
    vkt__str_finish(&out);
    return text;
}

static void tell_slot(const slots *all, const slot *s, vkt_difference_fn fn, void *user)
{
    vkt__arena a = { 0 };
    size_t n = all->n_models;
    bool lacking = false;
    const char **v = vkt__arena_alloc(&a, n * sizeof *v);
    for (size_t k = 0; k < n; k++) lacking |= !s->of[k];
    if (lacking) {
        for (size_t k = 0; k < n; k++) v[k] = s->of[k] ? layer_text(&a, s->of[k]) : NULL;
        fn(user, vkt__arena_printf(&a, "%s: %s", s->path, s->any->type), v);
    }
    bool differs = false;
    for (size_t k = 0; k < n && !lacking; k++) {
        v[k] = from_text(&a, s->of[k]);
        differs |= strcmp(v[k], v[0]) != 0;
    }
    if (differs) fn(user, vkt__arena_printf(&a, "%s.from (%s)", s->path, s->any->type), v);
    for (const vkt_layer_opt *o = vkt__model_opts(s->any); o->name && !lacking; o++) {
        differs = false;
        for (size_t k = 0; k < n; k++) {
            char *text = opt_text(s->of[k], o);
            v[k] = text ? vkt__arena_strdup(&a, text) : "default";
            differs |= strcmp(v[k], v[0]) != 0;
            free(text);
        }
        if (differs)
            fn(user, vkt__arena_printf(&a, "%s.%s (%s)", s->path, o->name, s->any->type), v);
    }
    vkt__arena_finish(&a);
}

void vkt_model_differences(const vkt_config *const *configs, size_t n, vkt_difference_fn fn,
                           void *user)
{
    vkt__arena a = { 0 };
    slots all = { .n_models = n, .arena = &a };
    for (size_t k = 0; k < n; k++) {
        slots one = { .n_models = n, .arena = &a };
        if (configs[k]) flatten(&one, k, configs[k]->layers, configs[k]->n_layers, "model");
        merge(&all, &one, k);
        free(one.s);
    }
    for (size_t i = 0; i < all.n; i++) tell_slot(&all, &all.s[i], fn, user);
    free(all.s);
    vkt__arena_finish(&a);
}
