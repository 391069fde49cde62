/* predictions.h */
#include "train/predictions.h"

void vkt__collect(void *user, uint64_t index, const float *out, const vkt_label *y,
                  const double *number)
{
    vkt__collected *c = user;
    uint64_t n = c->p.n++;
    c->index[n] = index;
    memcpy(c->value + n * c->p.n_outputs, out, c->p.n_outputs * sizeof *out);
    if (number)
        memcpy(c->number + 2 * n * c->p.n_outputs, number, 2 * c->p.n_outputs * sizeof *number);
    if (c->classify) c->target[n] = y->u;
    for (uint32_t k = 0; !c->classify && k < c->n_labels; k++)
        c->target_value[n * c->n_labels + k] = y[k].f;
}

vkt__collected vkt__collected_create(const vkt_dataset_info *info, uint64_t n)
{
    vkt__collected c = { .classify = info->task == VKT_TASK_CLASSIFY, .n_labels = info->n_labels };
    c.index = vkt__alloc(n * sizeof *c.index);
    c.value = vkt__alloc(n * info->n_outputs * sizeof *c.value);
    c.target = vkt__alloc(n * sizeof *c.target);
    c.target_value = vkt__alloc(n * info->n_labels * sizeof *c.target_value);
    if (info->task == VKT_TASK_REGRESS)
        c.number = vkt__alloc(2 * n * info->n_outputs * sizeof *c.number);
    c.p = (vkt__predictions) { .n_outputs = info->n_outputs,
                               .index = c.index,
                               .value = c.value,
                               .number = c.number,
                               .several = info->task == VKT_TASK_MULTILABEL,
                               .class_names = info->class_names,
                               .target_names = info->target_names,
                               .outputs = info->outputs };
    if (info->has_labels && c.classify) c.p.target = c.target;
    if (info->has_labels && !c.classify) c.p.target_value = c.target_value;
    return c;
}

void vkt__collected_finish(vkt__collected *c)
{
    free(c->index);
    free(c->value);
    free(c->number);
    free(c->target);
    free(c->target_value);
}

vkt_status vkt__predictions_sample(vkt__session *s, vkt_split split, uint64_t limit,
                                   const char *run_dir, uint64_t step)
{
    vkt__eval_sums sums;
    vkt__collected c = vkt__collected_create(s->info, VKT_MIN(limit, s->info->n[split]));
    vkt_status st = vkt__evaluate(s, NULL, split, limit, &sums, vkt__collect, &c);
    if (st == VKT_OK) {
        vkt__eval_sums_finish(&sums);
        st = vkt__predictions_save(run_dir, step, &c.p);
    }
    vkt__collected_finish(&c);
    return st;
}
