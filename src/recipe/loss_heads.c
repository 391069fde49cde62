/* loss_heads.h */
#include "recipe/loss_heads.h"

#include "base/number.h"
#include "recipe/config.h"
#include "recipe/loss_terms.h"

static vkt_status unknown(const vkt_config *c, const vkt_loss_term *t, const char *name,
                          const vkt_dataset_info *info)
{
    vkt_hint hint = vkt_did_you_mean(name, info->target_names, info->n_outputs);
    return vkt__config_refuse(c, "losses", "'%s': the data has no target '%s'%s", t->on,
                              vkt__show(name).s, hint.text);
}

/* "price, area" to places among the data's targets. */
static vkt_status find_targets(const vkt_config *c, const vkt_loss_term *t,
                               const vkt_dataset_info *info, vkt__arena *arena, uint32_t **which,
                               uint32_t *n)
{
    uint32_t *list = vkt__arena_alloc(arena, info->n_outputs * sizeof *list);
    *n = 0;
    for (const char *p = t->target; *p;) {
        size_t len = strcspn(p, ",");
        const char *name = vkt__arena_printf(arena, "%.*s", (int)len, p);
        uint32_t k = 0;
        while (k < info->n_outputs && strcmp(info->target_names[k], name)) k++;
        if (k == info->n_outputs) return unknown(c, t, name, info);
        for (uint32_t j = 0; j < *n; j++)
            if (list[j] == k)
                return vkt__config_refuse(c, "losses", "'%s': target names '%s' twice", t->on,
                                          vkt__show(name).s);
        list[(*n)++] = k;
        p += len;
        p += strspn(p, ", ");
    }
    *which = list;
    return VKT_OK;
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

vkt_status vkt__loss_terms_of(const vkt_config *c, const vkt_dataset_info *info, vkt__arena *arena,
                              vkt__loss_terms *out)
{
    vkt_status st = VKT_OK;
    size_t entry;
    uint32_t column;
    out->n = c->n_losses;
    out->heads = vkt__arena_alloc(arena, c->n_losses * sizeof *out->heads);
    out->which = vkt__arena_alloc(arena, c->n_losses * sizeof *out->which);
    out->names = vkt__arena_alloc(arena, c->n_losses * sizeof(const char *));
    for (size_t i = 0; i < c->n_losses; i++) {
        const vkt_loss_term *t = &c->losses[i];
        vkt__str name = { 0 };
        vkt__loss_term_name(c, i, &name);
        out->names[i] = vkt__arena_strdup(arena, name.data);
        vkt__str_finish(&name);
        out->heads[i] = (vkt_model_head) { t->on, info->n_outputs };
        if (t->target)
            VKT_TRY(find_targets(c, t, info, arena, &out->which[i], &out->heads[i].n_outputs));
    }
    for (uint32_t k = 0; out->n && info->task == VKT_TASK_REGRESS && k < info->n_outputs; k++)
        if (!predicts(out, k, &entry, &column))
            return vkt__config_refuse(c, "losses", "no entry is of the target '%s'",
                                      vkt__show(info->target_names[k]).s);
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
    uint32_t n = info->n_outputs;
    if (!t->n || info->task != VKT_TASK_REGRESS) return last;
    vkt_tensor **parts = vkt__alloc(n * sizeof(vkt_tensor *));
    for (uint32_t k = 0; k < n; k++) {
        size_t entry = 0;
        uint32_t column = 0;
        bool found = predicts(t, k, &entry, &column);
        VKT_ASSERT(found);
        parts[k] = column_of(g, vkt_model_output(m, g, entry), column, 1);
    }
    vkt_tensor *all = n > 1 ? vkt_concat(g, parts, n, 1) : parts[0];
    free((void *)parts);
    return all;
}

void vkt__loss_terms_explain(const vkt_config *c, vkt__str *out)
{
    char number[32];
    if (!c->n_losses) return;
    vkt__str_printf(out, "\nlosses, whose weighted sum is trained\n  %-28s %10s  %s\n", "on",
                    "weight", "of");
    for (size_t i = 0; i < c->n_losses; i++) {
        vkt__str name = { 0 };
        vkt__loss_term_name(c, i, &name);
        vkt__str_printf(out, "  %-28s %10s  %s\n", name.data,
                        vkt__double_text((double)c->losses[i].weight, true, number),
                        c->losses[i].target ? c->losses[i].target : "the label");
        vkt__str_finish(&name);
    }
}
