/* initial_names.h: an axis of a tensor is a list of names in both data sets; the values move from
 * where a name stands there to where it stands here. */
#include <stdio.h>

#include "base/os.h"
#include "models/huggingface/hf_folder.h"
#include "models/import.h"
#include "models/initial_names.h"
#include "models/trained.h"

/* Names of rows or columns: those of the model, where each stands in the run, -1: nowhere. */
typedef struct axis {
    uint32_t n, n_from;
    int64_t *at; /* [n] */
    bool same;   /* the same names in the same order */
    uint32_t n_new, n_unused;
    const char *new, *unused; /* the first of them */
} axis;

typedef struct match {
    const vkt_config *c;
    vkt__weights *w;
    vkt__trained run;
    vkt__safetensors *file;      /* where `init` is one */
    const vkt__safetensors *has; /* what is filled from: the file, or the run's checkpoint */
    vkt__schema here, there;
    vkt__by_name *out;
    bool fixed;
    axis plain, columns, rows, input, output; /* input: of the first linear layer */
} match;

/* ---- names ---- */

static const char *input_name(vkt__arena *a, const vkt__column *c, uint32_t category)
{
    if (c->n_categories) return vkt__arena_printf(a, "%s = %s", c->name, c->categories[category]);
    if (category) return vkt__arena_printf(a, "%s (bin %u)", input_name(a, c, 0), category);
    return c->part ? vkt__arena_printf(a, "%s (%s)", c->name, vkt__date_part_name(c->part))
                   : c->name;
}

typedef enum which { PLAIN_INPUTS, EMBEDDED_COLUMNS, EMBEDDED_ROWS, OUTPUTS } which;

/* In the order of the model's memory: vkt__schema_place. */
static const char **names_of(vkt__arena *a, const vkt__schema *s, which w, uint32_t *n)
{
    size_t most = w == OUTPUTS ? s->n_outputs : s->n_columns;
    for (uint32_t i = 0; i < s->n_columns && w != OUTPUTS; i++)
        most += vkt__column_inputs(&s->columns[i]) + s->columns[i].n_categories;
    const char **out = vkt__arena_alloc(a, (most + 1) * sizeof *out);
    *n = 0;
    if (w == OUTPUTS && (s->task == VKT_TASK_PICTURE || s->task == VKT_TASK_DETECT ||
                         s->task == VKT_TASK_INSTANCES))
        return out; /* pixels have no names, nor have the numbers of a box */
    for (uint32_t k = 0; k < s->n_outputs && w == OUTPUTS; k++)
        out[(*n)++] = s->task == VKT_TASK_REGRESS ? s->targets[k].name : s->classes[k];
    for (uint32_t i = 0; i < s->n_columns && w != OUTPUTS; i++) {
        const vkt__column *c = &s->columns[i];
        if (c->n_tokens || c->embed != (w != PLAIN_INPUTS)) continue;
        uint32_t each = w == EMBEDDED_COLUMNS ? 1
                        : c->embed            ? c->n_categories
                                              : vkt__column_inputs(c);
        for (uint32_t k = 0; k < each; k++)
            out[(*n)++] = w == EMBEDDED_COLUMNS ? c->name : input_name(a, c, k);
    }
    return out;
}

typedef struct place {
    const char *name;
    uint32_t at;
} place;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const place *)a)->name, ((const place *)b)->name);
}

static axis match_names(vkt__arena *a, const char *const *here, uint32_t n,
                        const char *const *there, uint32_t n_from)
{
    axis x = { .n = n, .n_from = n_from, .same = n == n_from };
    place *all = vkt__arena_alloc(a, (n_from + 1) * sizeof *all);
    bool *used = vkt__arena_alloc(a, n_from + 1);
    x.at = vkt__arena_alloc(a, (n + 1) * sizeof *x.at);
    for (uint32_t i = 0; i < n_from; i++) all[i] = (place) { there[i], i };
    if (n_from) qsort(all, n_from, sizeof *all, by_name);
    for (uint32_t i = 0; i < n; i++) {
        const place key = { here[i], 0 },
                    *found = n_from ? bsearch(&key, all, n_from, sizeof *all, by_name) : NULL;
        x.at[i] = found ? (int64_t)found->at : -1;
        x.same = x.same && x.at[i] == (int64_t)i;
        if (found)
            used[found->at] = true;
        else if (!x.n_new++)
            x.new = here[i];
    }
    for (uint32_t i = 0; i < n_from; i++)
        if (!used[i] && !x.n_unused++) x.unused = there[i];
    return x;
}

static axis axis_of(match *m, which w)
{
    vkt__arena *a = &m->out->arena;
    uint32_t n, n_from;
    const char **here = names_of(a, &m->here, w, &n), **there = names_of(a, &m->there, w, &n_from);
    return match_names(a, here, n, there, n_from);
}

/* The columns of the first linear layer: plain inputs, then `width` of each embedded one. */
static axis joined(vkt__arena *a, const axis *plain, const axis *columns, uint32_t width)
{
    axis x = { .n = plain->n + columns->n * width,
               .n_from = plain->n_from + columns->n_from * width,
               .same = plain->same && columns->same };
    x.at = vkt__arena_alloc(a, (x.n + 1) * sizeof *x.at);
    memcpy(x.at, plain->at, plain->n * sizeof *x.at);
    for (uint32_t c = 0; c < columns->n; c++)
        for (uint32_t k = 0; k < width; k++)
            x.at[plain->n + c * width + k] =
                columns->at[c] < 0 ? -1 : plain->n_from + columns->at[c] * width + k;
    return x;
}

/* ---- tensors ---- */

static uint64_t rest_of(const vkt__st_tensor *t)
{
    uint64_t n = 1;
    for (uint32_t i = 1; i < t->rank; i++) n *= t->shape[i];
    return n;
}

static bool is_mine(const vkt__by_name *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (!strcmp(b->tensor[i], name)) return true;
    return false;
}

/* Whether the run has that tensor in the shape that its names give it. */
static bool run_has(const match *m, const vkt__st_tensor *t)
{
    size_t at;
    if (!vkt__safetensors_find(m->has, t->name, &at)) return false;
    const vkt_tensor_info *have = vkt__safetensors_tensor(m->has, at);
    bool same = have->rank == t->rank;
    for (uint32_t i = 0; i < t->rank && same; i++) same = have->shape[i] == t->shape[i];
    return same;
}

/* Moves t's values from where the run has them. rows, columns: NULL where they stand as here. */
static vkt_status take(match *m, vkt__st_tensor *t, const axis *rows, const axis *columns)
{
    vkt_status st = VKT_OK;
    vkt__st_tensor from = *t;
    bool moves = (rows && !rows->same) || (columns && !columns->same);
    if (!moves || strcmp(t->dtype, "F32") != 0 || is_mine(m->out, t->name)) return VKT_OK;
    if (rows) from.shape[0] = rows->n_from;
    if (columns) from.shape[1] = columns->n_from;
    if (!run_has(m, &from)) return VKT_OK; /* another size: as weights without names */
    uint64_t width = rest_of(t), from_width = rest_of(&from);
    float *to = t->data, *values = malloc((from.shape[0] * from_width + 1) * sizeof *values);
    if (!values) return vkt__fail(VKT_E_OOM_HOST, "model", "no memory for '%s'", t->name);
    from.data = values;
    VKT_TRY(vkt__weights_import(m->c->init, &from, 1, (vkt__import_how) { .all = true }));
    for (uint64_t r = 0; r < t->shape[0]; r++) {
        int64_t row = rows ? rows->at[r] : (int64_t)r;
        for (uint64_t k = 0; k < width && row >= 0; k++) {
            int64_t column = columns ? columns->at[k] : (int64_t)k;
            if (column >= 0)
                to[r * width + k] = values[(uint64_t)row * from_width + (uint64_t)column];
        }
    }
    m->out->tensor[m->out->n++] = t->name;
fail:
    free(values);
    return st;
}

/* The tensors of the layer, whose names open with its name, or with its number where it has none.
 */
static bool of_layer(const match *m, const vkt__st_tensor *t, size_t layer)
{
    char number[24];
    const char *name = m->c->layers[layer].name;
    snprintf(number, sizeof number, "%zu", layer);
    if (!name) name = number;
    size_t n = strlen(name);
    return strncmp(t->name, name, n) == 0 && t->name[n] == '.';
}

/* All of a layer's tensors are vectors along the axis, as a norm's are: they are taken. */
static vkt_status take_vectors(match *m, size_t layer, const axis *x, bool *any, bool *only)
{
    vkt_status st = VKT_OK;
    *any = false;
    *only = true;
    for (size_t i = 0; i < m->w->n_model; i++) {
        const vkt__st_tensor *t = &m->w->model[i];
        if (!of_layer(m, t, layer)) continue;
        *any = true;
        *only = *only && ((t->rank == 1 && t->shape[0] == x->n) || strcmp(t->dtype, "F32") != 0);
    }
    for (size_t i = 0; i < m->w->n_model && *only && *any; i++)
        if (of_layer(m, &m->w->model[i], layer)) VKT_TRY(take(m, &m->w->model[i], x, NULL));
fail:
    return st;
}

/* Some layer says whose output it takes: then what follows another in the list need not read it. */
static bool is_graph(const vkt_config *c)
{
    for (size_t i = 0; i < c->n_layers; i++)
        if (c->layers[i].n_from) return true;
    return false;
}

/* Layers from the input on, up to the first that mixes the inputs, which must be linear. *done:
 * all of them were matched; in a graph none are, as several layers may read the input. */
static vkt_status take_inputs(match *m, bool *done)
{
    vkt_status st = VKT_OK;
    size_t layer = 0;
    const vkt_layer *l = m->c->layers;
    *done = false;
    m->input = m->plain;
    if (is_graph(m->c)) return VKT_OK;
    if (m->c->n_layers && strcmp(l->type, "embed") == 0) {
        uint32_t width = 0;
        for (size_t i = 0; i < m->w->n_model; i++)
            if (of_layer(m, &m->w->model[i], 0) && m->w->model[i].rank == 2) {
                width = (uint32_t)m->w->model[i].shape[1];
                VKT_TRY(take(m, &m->w->model[i], &m->rows, NULL));
            }
        m->input = joined(&m->out->arena, &m->plain, &m->columns, width);
        layer = 1;
    }
    for (bool any, only; layer < m->c->n_layers && !*done; layer++) {
        VKT_TRY(take_vectors(m, layer, &m->input, &any, &only));
        if (any && only) continue;
        for (size_t i = 0; i < m->w->n_model && any; i++) {
            vkt__st_tensor *t = &m->w->model[i];
            bool linear = strcmp(l[layer].type, "linear") == 0 && t->rank == 2;
            if (!of_layer(m, t, layer) || !linear || t->shape[1] != m->input.n) continue;
            bool head = layer + 1 == m->c->n_layers && t->shape[0] == m->output.n;
            VKT_TRY(take(m, t, head ? &m->output : NULL, &m->input));
            *done = true;
        }
        if (any) break;
    }
fail:
    return st;
}

/* Layers from the output back, up to the one that makes it. */
static vkt_status take_outputs(match *m, bool *done)
{
    vkt_status st = VKT_OK;
    *done = false;
    for (size_t i = 0; i < m->w->n_model; i++)
        if (strcmp(m->w->model[i].name, "score.weight") == 0) {
            *done = true;
            return take(m, &m->w->model[i], &m->output, NULL);
        }
    for (size_t layer = m->c->n_layers; layer-- > 0 && !*done;) {
        bool any, only;
        VKT_TRY(take_vectors(m, layer, &m->output, &any, &only));
        if ((!any || only) && m->c->layers[layer].n_from) break; /* made by others */
        if (!any || only) continue;
        const char *type = m->c->layers[layer].type;
        if (strcmp(type, "linear") != 0 && strcmp(type, "conv") != 0) break;
        for (size_t i = 0; i < m->w->n_model; i++) {
            vkt__st_tensor *t = &m->w->model[i];
            if (!of_layer(m, t, layer) || t->shape[0] != m->output.n) continue;
            VKT_TRY(take(m, t, &m->output, NULL));
            *done = true;
        }
        break;
    }
fail:
    return st;
}

/* ---- the log line ---- */

static void add_part(vkt__str *s, const char *what, const axis *x)
{
    if (x->same) return;
    vkt__str_printf(s, "%s%u of %u %s are matched by name", s->len ? "; " : "", x->n - x->n_new,
                    x->n, what);
    if (x->n_new)
        vkt__str_printf(s, ", %u new start%s at random, %s'%s'", x->n_new, x->n_new == 1 ? "s" : "",
                        x->n_new == 1 ? "" : "such as ", vkt__show(x->new).s);
    if (x->n_unused)
        vkt__str_printf(s, ", %u of the run %s not used, %s'%s'", x->n_unused,
                        x->n_unused == 1 ? "is" : "are", x->n_unused == 1 ? "" : "such as ",
                        vkt__show(x->unused).s);
}

static void tell(const match *m)
{
    vkt__str s = { 0 };
    bool odd = m->plain.n_new + m->rows.n_new + m->output.n_new + m->plain.n_unused +
               m->rows.n_unused + m->output.n_unused;
    add_part(&s, "inputs", &m->plain);
    add_part(&s, "embedded columns", &m->columns);
    add_part(&s, "embedded values", &m->rows);
    add_part(&s, m->here.task == VKT_TASK_REGRESS ? "targets" : "classes", &m->output);
    if (s.len)
        vkt_log(odd ? VKT_LOG_WARN : VKT_LOG_INFO, "train", "weights of '%s': %s", m->c->init,
                s.data);
    vkt__str_finish(&s);
}

static vkt_status refuse(const match *m, const char *what, const axis *x)
{
    const char *name = x->new ? x->new : x->unused;
    return vkt__fail(VKT_E_FORMAT, "train",
                     "'%s' was trained with other %s, or in another order%s%s%s, and this model's "
                     "%s can't be matched by name: give the data the same ones, or begin without "
                     "init",
                     m->c->init, what, name ? " (as '" : "", name ? vkt__show(name).s : "",
                     name ? "')" : "", m->fixed ? "frozen weights" : "layers");
}

/* ---- all of it ---- */

/* The run or checkpoint that `init` is, or that the file lies in. NULL: it is neither. */
static const char *run_of(vkt__arena *a, const char *init)
{
    if (vkt__is_dir(init)) {
        bool other = vkt__is_hf_folder(init) || vkt__is_peft_folder(init) ||
                     (!vkt__checkpoint_is(init) && vkt__is_weights_folder(init));
        return other ? NULL : init;
    }
    const char *slash = strrchr(init, '/');
    if (!slash || strcmp(slash, "/model.safetensors") != 0) return NULL;
    const char *dir = vkt__arena_printf(a, "%.*s", (int)(slash - init), init);
    return vkt__checkpoint_is(dir) ? dir : NULL;
}

/* What `init` is made of, and the schema that has its names; NULL: it has none. */
static vkt_status open_source(match *m, const char **schema)
{
    vkt_status st = VKT_OK;
    const char *run = run_of(&m->out->arena, m->c->init);
    if (!run && vkt__is_weights_file(m->c->init)) {
        VKT_TRY(vkt__safetensors_open(m->c->init, &m->file));
        m->has = m->file;
        *schema = vkt__safetensors_meta(m->file, VKT__SCHEMA_KEY);
    } else if (run) {
        VKT_TRY(vkt__trained_open(run, &m->run));
        m->has = m->run.ckpt ? m->run.ckpt->model : NULL;
        *schema = m->run.schema;
    }
fail:
    return st;
}

static bool same_tokenizer(const vkt__schema *a, const vkt__schema *b)
{
    return !a->tokenizer || !b->tokenizer || strcmp(a->tokenizer, b->tokenizer) == 0;
}

static vkt_status match_all(match *m)
{
    vkt_status st = VKT_OK;
    bool tables = m->here.kind == VKT_DATA_KIND_TABLE && m->there.kind == VKT_DATA_KIND_TABLE, done,
         outputs = !m->output.same && (m->here.n_outputs > 1 || m->there.n_outputs > 1);
    if (tables && !same_tokenizer(&m->here, &m->there))
        return vkt__fail(VKT_E_FORMAT, "train",
                         "'%s' has another tokenizer, so its weights are of other tokens: set "
                         "data.tokenizer to the run's, or begin without init",
                         m->c->init);
    bool inputs = tables && !(m->plain.same && m->columns.same && m->rows.same);
    if (m->fixed && inputs) return refuse(m, "columns", &m->plain);
    if (m->fixed && outputs) return refuse(m, "classes", &m->output);
    if (!outputs) m->output.same = true;
    if (inputs) VKT_TRY(take_inputs(m, &done));
    if (inputs && !done) return refuse(m, "columns", &m->plain);
    if (outputs) VKT_TRY(take_outputs(m, &done));
    if (outputs && !done) return refuse(m, "classes", &m->output);
    tell(m);
    if (m->here.task == VKT_TASK_REGRESS && m->there.task == VKT_TASK_REGRESS &&
        m->here.targets->curve != m->there.targets->curve)
        vkt_log(VKT_LOG_WARN, "train",
                "'%s' was trained with another data.target: its outputs are of other numbers until "
                "they have been trained, or set data.target as it was",
                m->c->init);
fail:
    return st;
}

vkt_status vkt__match_names(const vkt_config *c, const char *schema, bool fixed, vkt__weights *w,
                            vkt__by_name *out)
{
    vkt_status st = VKT_OK;
    *out = (vkt__by_name) { 0 };
    match m = { .c = c, .w = w, .out = out, .fixed = fixed };
    const char *there = NULL;
    if (schema) VKT_TRY(open_source(&m, &there));
    if (!there || !m.has) goto fail;
    out->tensor = vkt__arena_alloc(&out->arena, (w->n_model + 1) * sizeof *out->tensor);
    VKT_TRY(vkt__schema_parse(schema, &out->arena, &m.here));
    VKT_TRY(vkt__schema_parse(there, &out->arena, &m.there));
    if (!m.here.n_outputs || !m.there.n_outputs) goto fail; /* language models */
    bool classes = m.here.task != VKT_TASK_REGRESS, were = m.there.task != VKT_TASK_REGRESS;
    m.plain = axis_of(&m, PLAIN_INPUTS);
    m.columns = axis_of(&m, EMBEDDED_COLUMNS);
    m.rows = axis_of(&m, EMBEDDED_ROWS);
    if (classes != were) m.there.n_outputs = 0; /* numbers are no classes */
    m.output = axis_of(&m, OUTPUTS);
    VKT_TRY(match_all(&m));
fail:
    vkt__trained_close(&m.run);
    vkt__safetensors_close(&m.file);
    return st;
}

void vkt__by_name_finish(vkt__by_name *b)
{
    vkt__arena_finish(&b->arena);
    *b = (vkt__by_name) { 0 };
}
