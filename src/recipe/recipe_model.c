/* The `model:` list of a recipe, and one option of it, to vkt_layer trees. vkt_layer_types says
 * which layers and options there are; this file knows only how they are written. The way back is
 * recipe_model_write.c's. */
#include <stdio.h>

#include "base/number.h"
#include "base/os.h"
#include "recipe/options.h"
#include "recipe/recipe_model.h"

typedef struct reader {
    vkt__arena *arena;
    const char *source;
} reader;

static vkt_status read_list(reader *r, const vkt__yaml *list, int depth, vkt_layer **layers,
                            size_t *n_layers, uint64_t *n_total);

const vkt_layer_type *vkt__model_type(const vkt_layer *l)
{
    size_t n;
    const vkt_layer_type *t = vkt_layer_types(&n), *end = t + n;
    while (t < end && strcmp(t->name, l->type) != 0) t++;
    VKT_ASSERT(t < end);
    return t;
}

bool vkt__model_needs(const vkt_layer_type *t, const vkt_layer_opt *o)
{
    return o->type == VKT_OPT_FLOAT && t->main_opt && !strcmp(t->main_opt, o->name);
}

static const vkt_layer_type *find_type(reader *r, const char *name, int line)
{
    size_t n;
    const vkt_layer_type *t = vkt_layer_types(&n);
    const char *names[64];
    VKT_ASSERT(n <= VKT_COUNT(names));
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(t[i].name, name)) return &t[i];
        names[i] = t[i].name;
    }
    vkt_hint hint = vkt_did_you_mean(name, names, n);
    vkt__str all = { 0 };
    for (size_t i = 0; i < n && !*hint.text; i++)
        vkt__str_printf(&all, "%s%s", i ? ", " : "; known are ", names[i]);
    vkt__fail(VKT_E_ARG, "config", "%s:%d: unknown layer '%s'%s%s", r->source, line, name,
              hint.text, all.data ? all.data : "");
    vkt__str_finish(&all);
    return NULL;
}

static vkt_status bad_value(reader *r, const vkt__yaml *v, const char *type, const char *opt,
                            const char *what)
{
    const char *text = v->kind == VKT__YAML_SCALAR ? v->text
                       : v->kind == VKT__YAML_LIST ? "a list"
                                                   : "a block";
    return vkt__fail(VKT_E_ARG, "config", "%s:%d: %s.%s: %s is expected, not '%s'", r->source,
                     v->line, type, opt, what, text);
}

static vkt_status set_number(reader *r, vkt_layer *l, const vkt_layer_opt *o, const vkt__yaml *v)
{
    bool is_uint = o->type != VKT_OPT_FLOAT, ok = v->kind == VKT__YAML_SCALAR && !v->quoted;
    double d = 0;
    uint64_t u = 0;
    if (ok) ok = is_uint ? vkt__parse_u64(v->text, &u) : vkt__number(v->text, &d);
    if (!ok)
        return bad_value(r, v, l->type, o->name, is_uint ? "a whole number" : "a finite number");
    if (is_uint) d = (double)u;
    if (d < o->min || d > o->max) {
        char lo[32], hi[32];
        return vkt__fail(VKT_E_ARG, "config", "%s:%d: %s.%s: %s is out of range: %s to %s",
                         r->source, v->line, l->type, o->name, v->text,
                         vkt__double_text(o->min, false, lo), vkt__double_text(o->max, false, hi));
    }
    char *at = (char *)l + o->offset;
    if (o->type == VKT_OPT_FLOAT)
        memcpy(at, &(float) { (float)d }, sizeof(float));
    else if (o->type == VKT_OPT_MAYBE)
        memcpy(at, &(vkt_maybe) { true, (uint32_t)u }, sizeof(vkt_maybe));
    else
        memcpy(at, &(uint32_t) { (uint32_t)u }, sizeof(uint32_t));
    return VKT_OK;
}

static vkt_status set_word(reader *r, vkt_layer *l, const vkt_layer_opt *o, const vkt__yaml *v)
{
    if (v->kind != VKT__YAML_SCALAR || !v->text[0])
        return bad_value(r, v, l->type, o->name, "a word");
    const char *word = vkt__arena_strdup(r->arena, v->text);
    bool ok = !o->choices;
    vkt__str all = { 0 };
    for (const char *const *p = o->choices; p && *p; p++) {
        ok = ok || !strcmp(*p, word);
        vkt__str_printf(&all, "%s%s", all.len ? ", " : "one of ", *p);
    }
    vkt_status st = ok ? VKT_OK : bad_value(r, v, l->type, o->name, all.data);
    vkt__str_finish(&all);
    memcpy((char *)l + o->offset, &word, sizeof word);
    return st;
}

/* `shape: [4, 4, 8]`, or one number alone. */
static vkt_status set_sizes(reader *r, vkt_layer *l, const vkt_layer_opt *o, const vkt__yaml *v)
{
    enum { MOST = VKT_MAX_RANK - 1 }; /* the batch is one, too */
    vkt_shape s = { 0 };
    for (const vkt__yaml *e = v->kind == VKT__YAML_LIST ? v->first : v; e;
         e = v->kind == VKT__YAML_LIST ? e->next : NULL) {
        uint64_t u = 0;
        if (e->kind != VKT__YAML_SCALAR || e->quoted || !vkt__parse_u64(e->text, &u) ||
            s.rank == MOST)
            return bad_value(r, s.rank == MOST ? v : e, l->type, o->name,
                             "a list of up to 5 whole numbers");
        if ((double)u < o->min || (double)u > o->max) {
            char lo[32], hi[32];
            return vkt__fail(VKT_E_ARG, "config", "%s:%d: %s.%s: %s is out of range: %s to %s",
                             r->source, e->line, l->type, o->name, e->text,
                             vkt__double_text(o->min, false, lo),
                             vkt__double_text(o->max, false, hi));
        }
        s.d[s.rank++] = (uint32_t)u;
    }
    if (!s.rank) return bad_value(r, v, l->type, o->name, "a list of up to 5 whole numbers");
    memcpy((char *)l + o->offset, &s, sizeof s);
    return VKT_OK;
}

/* `NAME` or `[a, b]`. Which names there are is asked when the model is planned. */
static vkt_status set_names(reader *r, const vkt_layer *l, const char *opt, const char *what,
                            const vkt__yaml *v, const char *const **out, size_t *n_out)
{
    enum { MOST = 64 };
    size_t n = 0;
    const char *names[MOST];
    for (const vkt__yaml *e = v->kind == VKT__YAML_LIST ? v->first : v; e;
         e = v->kind == VKT__YAML_LIST ? e->next : NULL) {
        if (e->kind != VKT__YAML_SCALAR || !e->text[0]) return bad_value(r, e, l->type, opt, what);
        if (n == MOST) return bad_value(r, v, l->type, opt, what);
        names[n++] = vkt__arena_strdup(r->arena, e->text);
    }
    if (!n) return bad_value(r, v, l->type, opt, what);
    const char **copy = vkt__arena_alloc(r->arena, n * sizeof(const char *));
    memcpy((void *)copy, names, n * sizeof(const char *));
    *out = copy;
    *n_out = n;
    return VKT_OK;
}

static vkt_status set_from(reader *r, vkt_layer *l, const vkt__yaml *v)
{
    return set_names(r, l, "from", "the name of an earlier layer, or a list of up to 64,", v,
                     &l->from, &l->n_from);
}

static vkt_status set_opt(reader *r, vkt_layer *l, const vkt_layer_opt *o, const vkt__yaml *v,
                          int depth, uint64_t *n_body_total)
{
    bool b = false;
    switch (o->type) {
    case VKT_OPT_UINT:
    case VKT_OPT_MAYBE:
    case VKT_OPT_FLOAT:
        return set_number(r, l, o, v);
    case VKT_OPT_STRING:
        return set_word(r, l, o, v);
    case VKT_OPT_SIZES:
        return set_sizes(r, l, o, v);
    case VKT_OPT_FROM:
        return set_from(r, l, v);
    case VKT_OPT_NAMES: {
        const char *const *names = NULL;
        size_t n = 0;
        vkt_status st = set_names(r, l, o->name, "a name, or a list of up to 64,", v, &names, &n);
        memcpy((char *)l + o->offset, (const void *)&names, sizeof names);
        memcpy((char *)l + o->offset + sizeof names, &n, sizeof n);
        return st;
    }
    case VKT_OPT_BOOL:
    case VKT_OPT_NOT_BOOL:
        if (v->kind != VKT__YAML_SCALAR || v->quoted || !vkt__parse_bool(v->text, &b))
            return bad_value(r, v, l->type, o->name, "true or false");
        b = b != (o->type == VKT_OPT_NOT_BOOL);
        memcpy((char *)l + o->offset, &b, sizeof b);
        return VKT_OK;
    case VKT_OPT_BODY: {
        vkt_layer *body = NULL;
        size_t n = 0;
        vkt_status st = read_list(r, v, depth + 1, &body, &n, n_body_total);
        memcpy((char *)l + o->offset, &body, sizeof body);
        memcpy((char *)l + o->offset + sizeof body, &n, sizeof n);
        return st;
    }
    }
    return VKT_E_ARG;
}

static const vkt_layer_opt *find_opt(const vkt_layer_type *t, const char *name)
{
    for (const vkt_layer_opt *o = t->opts; o < t->opts + VKT_COUNT(t->opts) && o->name; o++)
        if (!strcmp(o->name, name)) return o;
    return NULL;
}

static vkt_status unknown_opt(reader *r, const vkt_layer_type *t, const vkt__yaml *v)
{
    vkt__str all = { 0 };
    for (const vkt_layer_opt *o = t->opts; o < t->opts + VKT_COUNT(t->opts) && o->name; o++)
        if (o->type != VKT_OPT_FROM) vkt__str_printf(&all, "%s, ", o->name);
    vkt_status st =
        vkt__fail(VKT_E_ARG, "config", "%s:%d: %s has no option '%s'; it takes %sname, from",
                  r->source, v->line, t->name, v->key, all.data ? all.data : "");
    vkt__str_finish(&all);
    return st;
}

/* Names become parts of parameter names, so they hold no dots. */
static vkt_status set_name(reader *r, vkt_layer *l, const vkt__yaml *v)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t n = v->kind == VKT__YAML_SCALAR ? strlen(v->text) : 0;
    if (n == 0 || n > 64 || v->text[strspn(v->text, allowed)] || v->text[0] == '.' ||
        v->text[n - 1] == '.' || strstr(v->text, ".."))
        return bad_value(r, v, l->type, "name",
                         "a name of letters, digits, _ and -, which may have dots between them");
    l->name = vkt__arena_strdup(r->arena, v->text);
    return VKT_OK;
}

/* As many as this machine's memory has room to plan. */
static uint64_t most_layers(void)
{
    return vkt__ram_bytes() / VKT__LAYER_BYTES;
}

static vkt_status too_many(const char *where)
{
    return vkt__fail(VKT_E_ARG, "config",
                     "%s: the model has more than %llu layers, which is what this machine's memory "
                     "has room to plan: repeat fewer",
                     where, (unsigned long long)most_layers());
}

static vkt_status read_layer(reader *r, const vkt__yaml *e, int depth, vkt_layer *l,
                             uint64_t *n_total)
{
    vkt_status st = VKT_OK;
    const vkt__yaml *value = NULL;
    const char *name = e->text;
    uint64_t n_body = 0;
    if (e->kind == VKT__YAML_MAP) {
        value = e->first;
        if (!value)
            return vkt__fail(VKT_E_ARG, "config", "%s:%d: a layer without a type", r->source,
                             e->line);
        if (value->next)
            return vkt__fail(
                VKT_E_ARG, "config",
                "%s:%d: a layer is one `type: options`; '%s' must be indented under '%s'",
                r->source, value->next->line, value->next->key, value->key);
        name = value->key;
    } else if (e->kind == VKT__YAML_LIST) {
        return vkt__fail(VKT_E_ARG, "config", "%s:%d: a layer is expected, not a list", r->source,
                         e->line);
    }
    const vkt_layer_type *t = find_type(r, name, e->line);
    if (!t) return VKT_E_ARG;
    *l = (vkt_layer) { .type = t->name, .line = value ? value->line : e->line };
    bool main_set = false;
    if (value && value->kind == VKT__YAML_MAP) {
        for (const vkt__yaml *v = value->first; v; v = v->next) {
            const vkt_layer_opt *o = find_opt(t, v->key);
            main_set = main_set || (t->main_opt && !strcmp(t->main_opt, v->key));
            if (o)
                VKT_TRY(set_opt(r, l, o, v, depth, &n_body));
            else if (!strcmp(v->key, "name"))
                VKT_TRY(set_name(r, l, v));
            else if (!strcmp(v->key, "from"))
                VKT_TRY(set_from(r, l, v));
            else
                return unknown_opt(r, t, v);
        }
    } else if (value && !(value->kind == VKT__YAML_SCALAR && !value->text[0] && !value->quoted)) {
        if (!t->main_opt)
            return vkt__fail(VKT_E_ARG, "config", "%s:%d: %s takes no bare value", r->source,
                             value->line, t->name);
        VKT_TRY(set_opt(r, l, find_opt(t, t->main_opt), value, depth, &n_body));
        main_set = true;
    }
    if (t->main_opt && !main_set && vkt__model_needs(t, find_opt(t, t->main_opt)))
        return vkt__fail(VKT_E_ARG, "config", "%s:%d: %s lacks its %s", r->source, l->line, t->name,
                         t->main_opt);
    if (find_opt(t, "body") && !l->n_body)
        return vkt__fail(VKT_E_ARG, "config", "%s:%d: %s needs a body: a list of layers", r->source,
                         l->line, t->name);
    if (find_opt(t, "n") && !l->repeat)
        return vkt__fail(VKT_E_ARG, "config", "%s:%d: %s needs n, the number of copies", r->source,
                         l->line, t->name);
    *n_total += 1 + n_body * VKT_MAX(l->repeat, 1);
    if (*n_total > most_layers()) {
        char where[300];
        snprintf(where, sizeof where, "%s:%d", r->source, l->line);
        return too_many(where);
    }
fail:
    return st;
}

/* Names of one list must differ, a given one from the positions of the others too. */
static vkt_status check_names(reader *r, const vkt_layer *l, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!l[i].name) continue;
        for (size_t j = 0; j < n; j++) {
            char position[24];
            snprintf(position, sizeof position, "%zu", j);
            if (j != i && !strcmp(l[i].name, l[j].name ? l[j].name : position))
                return vkt__fail(VKT_E_ARG, "config",
                                 "%s:%d: the name '%s' is taken by the layer on line %d", r->source,
                                 l[VKT_MAX(i, j)].line, l[i].name, l[VKT_MIN(i, j)].line);
        }
    }
    return VKT_OK;
}

static vkt_status read_list(reader *r, const vkt__yaml *list, int depth, vkt_layer **layers,
                            size_t *n_layers, uint64_t *n_total)
{
    vkt_status st = VKT_OK;
    size_t n = 0, i = 0;
    if (depth > VKT__MAX_LAYER_DEPTH)
        return vkt__fail(VKT_E_ARG, "config", "%s:%d: layers are nested more than %d deep",
                         r->source, list->line, VKT__MAX_LAYER_DEPTH);
    if (list->kind != VKT__YAML_LIST)
        return vkt__fail(VKT_E_ARG, "config", "%s:%d: a list of layers is expected", r->source,
                         list->line);
    for (const vkt__yaml *e = list->first; e; e = e->next) n++;
    vkt_layer *l = vkt__arena_alloc(r->arena, n * sizeof *l);
    for (const vkt__yaml *e = list->first; e; e = e->next)
        VKT_TRY(read_layer(r, e, depth, &l[i++], n_total));
    VKT_TRY(check_names(r, l, n));
    *layers = l;
    *n_layers = n;
fail:
    return st;
}

/* `model: {onnx: net.onnx, cut: NODES, head: [layers]}`: a layer "onnx" and those of the head. */
static vkt_status parse_net(reader *r, vkt_config *c, const vkt__yaml *map)
{
    vkt_status st = VKT_OK;
    uint64_t total = 1;
    vkt_layer *head = NULL;
    size_t n_head = 0;
    const vkt_layer_type *t = find_type(r, "onnx", map->line);
    vkt_layer net = { .type = t->name, .line = map->line };
    for (const vkt__yaml *v = map->first; v; v = v->next) {
        bool is_file = !strcmp(v->key, "onnx");
        const vkt_layer_opt *o = find_opt(t, is_file ? "file" : v->key);
        if (!strcmp(v->key, "head"))
            VKT_TRY(read_list(r, v, 1, &head, &n_head, &total));
        else if (!strcmp(v->key, "name"))
            VKT_TRY(set_name(r, &net, v));
        else if (o && (is_file || strcmp(v->key, "file") != 0))
            VKT_TRY(set_opt(r, &net, o, v, 1, &total));
        else
            return vkt__fail(
                VKT_E_ARG, "config",
                "%s:%d: model: a block has the keys onnx, cut, strides, layout, inputs, frozen, "
                "name and head, and no '%s'; other models are a list of layers",
                r->source, v->line, v->key);
    }
    c->layers = vkt__arena_alloc(r->arena, (n_head + 1) * sizeof *c->layers);
    c->n_layers = n_head + 1;
    c->layers[0] = net;
    if (n_head) memcpy(c->layers + 1, head, n_head * sizeof *head);
    st = check_names(r, c->layers, c->n_layers);
fail:
    return st;
}

static bool is_net(const vkt__yaml *map)
{
    const vkt__yaml *v = map->kind == VKT__YAML_MAP ? map->first : NULL;
    while (v && strcmp(v->key, "onnx") != 0) v = v->next;
    return v != NULL;
}

vkt_status vkt__model_parse(vkt_config *c, const vkt__yaml *list, const char *source)
{
    uint64_t total = 0;
    reader r = { &c->priv->arena, source };
    if (is_net(list)) return parse_net(&r, c, list);
    return read_list(&r, list, 1, &c->layers, &c->n_layers, &total);
}

/* ---- one option of one layer ---- */

static bool begins_with(const char *key, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(key, name, n) && (!key[n] || key[n] == '.');
}

/* The layer of a list whose place or name key begins with: the longest name, since names may have
 * dots. *n: letters of it. */
static vkt_layer *layer_named(vkt_layer *list, size_t n_list, const char *key, size_t *n)
{
    vkt_layer *found = NULL;
    for (size_t i = 0; i < n_list; i++) {
        char place[24];
        snprintf(place, sizeof place, "%zu", i);
        const char *name = list[i].name && begins_with(key, list[i].name) ? list[i].name : place;
        if (!begins_with(key, name) || (found && strlen(name) <= *n)) continue;
        found = &list[i];
        *n = strlen(name);
    }
    return found;
}

vkt_status vkt__model_at(const vkt_config *c, const char *key, const char *where, vkt_layer **layer,
                         const vkt_layer_opt **opt)
{
    reader r = { &c->priv->arena, where };
    vkt_layer *list = c->layers;
    size_t n_list = c->n_layers;
    const char *at = key + strlen("model");
    for (;;) {
        const char *word = at + 1;
        size_t n = strcspn(word, ".");
        vkt_layer *l = *at == '.' ? layer_named(list, n_list, word, &n) : NULL;
        if (!l)
            return vkt__fail(
                VKT_E_ARG, "config",
                "%s: there is no layer '%.*s': give a layer's index, 0 to %zu, or its name", where,
                (int)n, *at ? word : "", n_list ? n_list - 1 : 0);
        const vkt_layer_type *t = find_type(&r, l->type, 0);
        at = word + n;
        word = *at ? at + 1 : t->main_opt;
        if (!word)
            return vkt__fail(VKT_E_ARG, "config", "%s: %s takes no bare value", where, t->name);
        char name[64];
        n = strcspn(word, ".");
        snprintf(name, sizeof name, "%.*s", (int)VKT_MIN(n, sizeof name - 1), word);
        *layer = l;
        *opt = find_opt(t, name);
        if (!*opt) return unknown_opt(&r, t, &(vkt__yaml) { .key = name });
        if ((*opt)->type != VKT_OPT_BODY) {
            if (*at && word[n])
                return vkt__fail(VKT_E_ARG, "config", "%s: nothing can follow %s.%s", where,
                                 t->name, name);
            return VKT_OK;
        }
        memcpy(&list, (char *)l + (*opt)->offset, sizeof list);
        memcpy(&n_list, (char *)l + (*opt)->offset + sizeof list, sizeof n_list);
        at = *at ? word + n : "";
    }
}

static uint64_t count_layers(const vkt_layer *l, size_t n)
{
    uint64_t total = 0;
    uint64_t most = most_layers();
    for (size_t i = 0; i < n && total <= most; i++)
        total +=
            1 + (uint64_t)VKT_MAX(l[i].repeat, 1) * (count_layers(l[i].body, l[i].n_body) +
                                                     count_layers(l[i].shortcut, l[i].n_shortcut));
    return VKT_MIN(total, most + 1);
}

vkt_status vkt__model_set(vkt_config *c, const char *key, const char *value, const char *where)
{
    vkt_status st = VKT_OK;
    reader r = { &c->priv->arena, where };
    vkt__yaml *list, scalar = { .kind = VKT__YAML_SCALAR, .line = 1, .text = value };
    vkt_layer *layer;
    const vkt_layer_opt *opt;
    if (!strcmp(key, "model")) {
        VKT_TRY(vkt__yaml_parse(&c->priv->arena, value, strlen(value), where, &list));
        return vkt__model_parse(c, list, where);
    }
    VKT_TRY(vkt__model_at(c, key, where, &layer, &opt));
    if (opt->type == VKT_OPT_SIZES || opt->type == VKT_OPT_FROM || opt->type == VKT_OPT_NAMES) {
        VKT_TRY(vkt__yaml_parse(&c->priv->arena, value, strlen(value), where, &list));
        return set_opt(&r, layer, opt, list, 1, NULL);
    }
    VKT_TRY(set_opt(&r, layer, opt, &scalar, 1, NULL));
    if (count_layers(c->layers, c->n_layers) > most_layers()) return too_many(where);
fail:
    return st;
}
