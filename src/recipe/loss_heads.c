/* loss_heads.h */
#include "recipe/loss_heads.h"

#include "base/number.h"
#include "recipe/config.h"
#include "recipe/loss_terms.h"

/* The label that output k is of. */
static const char *label_of(const vkt_dataset_info *info, uint32_t k)
{
    return info->outputs ? info->outputs[k].label : info->target_names[k];
}

/* Where there are classes among the labels an entry that names targets is of such or of numbers,
 * and its kind says which, or follows. */
static vkt_status check_kind(const vkt_config *c, const vkt_loss_term *t,
                             const vkt_dataset_info *info, const uint32_t *which, uint32_t n,
                             vkt_loss_kind *kind)
{
    uint32_t n_of = 0;
    for (uint32_t j = 0; j < n; j++) n_of += info->outputs && info->outputs[which[j]].value;
    if (t->kind_follows && n_of == n) *kind = VKT_LOSS_KIND_CROSS_ENTROPY;
    bool classes = *kind == VKT_LOSS_KIND_CROSS_ENTROPY || *kind == VKT_LOSS_KIND_FOCAL;
    if (n_of && n_of < n)
        return vkt__config_refuse(c, "losses",
                                  "'%s': target '%s' has classes and numbers: an entry "
                                  "for each",
                                  t->on, vkt__show(t->target).s);
    if (n_of && !classes)
        return vkt__config_refuse(c, "losses",
                                  "'%s': kind %s is for numbers, and '%s' is a class: "
                                  "set kind to cross_entropy or focal",
                                  t->on, vkt__loss_kind_name(t->kind), vkt__show(t->target).s);
    if (!n_of && classes)
        return vkt__config_refuse(c, "losses",
                                  "'%s': kind %s is for classes, and '%s' is a number: "
                                  "mse or huber, or name it in data.classes",
                                  t->on, vkt__loss_kind_name(t->kind), vkt__show(t->target).s);
    return VKT_OK;
}

/* Without `target` an entry is of all labels. Where there are classes among them its kind is that
 * of the numbers. */
static vkt_status check_whole(const vkt_config *c, const vkt_loss_term *t,
                              const vkt_dataset_info *info)
{
    bool classes = t->kind == VKT_LOSS_KIND_CROSS_ENTROPY || t->kind == VKT_LOSS_KIND_FOCAL;
    for (uint32_t k = 0; classes && info->outputs && k < info->n_outputs; k++)
        if (!info->outputs[k].value)
            return vkt__config_refuse(c, "losses",
                                      "'%s': kind %s is for classes, and this entry is of numbers "
                                      "too: name its target",
                                      t->on, vkt__loss_kind_name(t->kind));
    return VKT_OK;
}

static vkt_status unknown(const vkt_config *c, const vkt_loss_term *t, const char *name,
                          const vkt_dataset_info *info)
{
    const char **names = vkt__alloc(info->n_outputs * sizeof *names);
    for (uint32_t k = 0; k < info->n_outputs; k++) names[k] = label_of(info, k);
    vkt_hint hint = vkt_did_you_mean(name, names, info->n_outputs);
    free(names);
    return vkt__config_refuse(c, "losses", "'%s': the data has no target '%s'%s", t->on,
                              vkt__show(name).s, hint.text);
}

/* "price, area" to places among the data's targets. */
static vkt_status find_targets(const vkt_config *c, const vkt_loss_term *t,
                               const vkt_dataset_info *info, vkt__arena *arena, uint32_t **which,
                               uint32_t *n, vkt_loss_kind *kind)
{
    uint32_t *list = vkt__arena_alloc(arena, info->n_outputs * sizeof *list);
    *n = 0;
    for (const char *p = t->target; *p;) {
        size_t len = strcspn(p, ",");
        const char *name = vkt__arena_printf(arena, "%.*s", (int)len, p);
        uint32_t before = *n;
        for (uint32_t k = 0; k < info->n_outputs; k++) {
            if (strcmp(label_of(info, k), name) != 0) continue;
            for (uint32_t j = 0; j < *n; j++)
                if (list[j] == k)
                    return vkt__config_refuse(c, "losses", "'%s': target names '%s' twice", t->on,
                                              vkt__show(name).s);
            list[(*n)++] = k;
        }
        if (*n == before) return unknown(c, t, name, info);
        p += len;
        p += strspn(p, ", ");
    }
    *which = list;
    return check_kind(c, t, info, list, *n, kind);
}

/* The last entry that is of target k, and where in its output; false: there is none. */
static bool predicts(const vkt__loss_terms *t, uint32_t k, size_t *entry, uint32_t *column)
{
    for (size_t i = t->n; i-- > 0;)
        for (uint32_t j = 0; j < t->heads[i].n_outputs; j++) {
            if ((t->which[i] ? t->which[i][j] : j) != k) continue;
            *entry = i;
            *column = j;
            return true;
        }
    return false;
}

/* What the entries are called; two of a layer are of different kinds, also where those follow. */
static vkt_status name_terms(const vkt_config *c, vkt__arena *arena, vkt__loss_terms *out)
{
    for (size_t i = 0; i < out->n; i++) {
        vkt__str name = { 0 };
        for (size_t k = 0; k < i; k++)
            if (!strcmp(c->losses[k].on, c->losses[i].on) && out->kinds[k] == out->kinds[i])
                return vkt__config_refuse(c, "losses", "two entries are %s of '%s'",
                                          vkt__loss_kind_name(out->kinds[i]), c->losses[i].on);
        vkt__loss_term_name(c, i, out->kinds[i], &name);
        out->names[i] = vkt__arena_strdup(arena, name.data);
        vkt__str_finish(&name);
    }
    return VKT_OK;
}

vkt_status vkt__loss_terms_of(const vkt_config *c, const vkt_dataset_info *info, vkt__arena *arena,
                              vkt__loss_terms *out)
{
    vkt_status st = VKT_OK;
    size_t entry;
    uint32_t column;
    out->n = c->n_losses;
    out->heads = vkt__arena_alloc(arena, c->n_losses * sizeof *out->heads);
    out->kinds = vkt__arena_alloc(arena, c->n_losses * sizeof *out->kinds);
    out->which = vkt__arena_alloc(arena, c->n_losses * sizeof *out->which);
    out->names = vkt__arena_alloc(arena, c->n_losses * sizeof(const char *));
    for (size_t i = 0; i < c->n_losses; i++) {
        const vkt_loss_term *t = &c->losses[i];
        out->heads[i] = (vkt_model_head) { t->on, info->n_outputs };
        out->kinds[i] = t->kind;
        if (!t->target)
            VKT_TRY(check_whole(c, t, info));
        else
            VKT_TRY(find_targets(c, t, info, arena, &out->which[i], &out->heads[i].n_outputs,
                                 &out->kinds[i]));
    }
    VKT_TRY(name_terms(c, arena, out));
    for (uint32_t k = 0; out->n && info->task == VKT_TASK_REGRESS && k < info->n_outputs; k++)
        if (!predicts(out, k, &entry, &column))
            return vkt__config_refuse(c, "losses", "no entry is of the target '%s'",
                                      vkt__show(label_of(info, k)).s);
fail:
    return st;
}

static vkt_tensor *column_of(vkt_graph *g, vkt_tensor *x, uint32_t first, uint32_t count)
{
    vkt_shape s = vkt_tensor_shape(x);
    if (count == s.d[1]) return x;
    return vkt_slice(g, x, (uint32_t[]) { 0, first }, (uint32_t[]) { s.d[0], count }, NULL);
}

vkt_tensor *vkt__loss_term_columns(const vkt__loss_terms *t, size_t i, vkt_graph *g, vkt_tensor *x)
{
    const uint32_t *which = t->which[i];
    uint32_t n = t->heads[i].n_outputs, k = 1;
    if (!which) return x;
    while (k < n && which[k] == which[0] + k) k++;
    if (k == n) return column_of(g, x, which[0], n);
    vkt_tensor **parts = vkt__alloc(n * sizeof(vkt_tensor *));
    for (k = 0; k < n; k++) parts[k] = column_of(g, x, which[k], 1);
    x = vkt_concat(g, parts, n, 1);
    free((void *)parts);
    return x;
}

vkt_tensor *vkt__loss_terms_output(const vkt__loss_terms *t, const vkt_model *m, vkt_graph *g,
                                   const vkt_dataset_info *info, vkt_tensor *last)
{
    uint32_t n = info->n_outputs, n_parts = 0, count;
    if (!t->n || info->task != VKT_TASK_REGRESS) return last;
    vkt_tensor **parts = vkt__alloc(n * sizeof(vkt_tensor *));
    for (uint32_t k = 0; k < n; k += count) {
        size_t entry = 0, next = 0;
        uint32_t column = 0, then = 0;
        bool found = predicts(t, k, &entry, &column);
        VKT_ASSERT(found);
        count = 1; /* classes of a label come as one */
        while (info->outputs && k + count < n && predicts(t, k + count, &next, &then) &&
               next == entry && then == column + count)
            count++;
        parts[n_parts++] = column_of(g, vkt_model_output(m, g, entry), column, count);
    }
    vkt_tensor *all = n_parts > 1 ? vkt_concat(g, parts, n_parts, 1) : parts[0];
    free((void *)parts);
    return all;
}

vkt_tensor *vkt__label_probabilities(const vkt_dataset_info *info, vkt_graph *g, vkt_tensor *x)
{
    uint32_t n = info->n_outputs, n_parts = 0, count;
    if (!info->outputs) return x;
    vkt_tensor **parts = vkt__alloc(n * sizeof(vkt_tensor *));
    for (uint32_t k = 0; k < n; k += count) {
        bool classes = info->outputs[k].value;
        count = VKT_MAX(info->outputs[k].n_classes, 1);
        while (!classes && k + count < n && !info->outputs[k + count].value) count++;
        vkt_tensor *of = column_of(g, x, k, count);
        parts[n_parts++] = classes ? vkt_softmax(g, of) : of;
    }
    x = n_parts > 1 ? vkt_concat(g, parts, n_parts, 1) : parts[0];
    free((void *)parts);
    return x;
}

void vkt__loss_terms_explain(const vkt_config *c, const vkt__loss_terms *t, vkt__str *out)
{
    char number[32];
    if (!c->n_losses) return;
    vkt__str_printf(out, "\nlosses, whose weighted sum is trained\n  %-28s %10s  %s\n", "on",
                    "weight", "of");
    for (size_t i = 0; i < c->n_losses; i++)
        vkt__str_printf(out, "  %-28s %10s  %s\n", t->names[i],
                        vkt__double_text((double)c->losses[i].weight, true, number),
                        c->losses[i].target ? c->losses[i].target : "the label");
}
