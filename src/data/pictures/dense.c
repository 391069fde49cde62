/* dense.h */
#include "data/pictures/dense.h"
#include "data/pictures/instance_map.h"
#include "data/pictures/mask_code.h"
#include "data/pictures/picture_files.h"

void vkt__dense_open(vkt_dataset *ds)
{
    const vkt__schema *s = &ds->schema;
    if (!vkt__is_dense(s->task) || s->task == VKT_TASK_DETECT || s->task == VKT_TASK_POINTS) return;
    ds->target = (vkt__schema) { .kind = VKT_DATA_KIND_PICTURES,
                                 .input_rank = 3,
                                 .n_inputs = vkt__n_labels(s),
                                 .crop = s->crop,
                                 .bits = s->bits };
    memcpy(ds->target.input_shape, s->output_shape, sizeof s->output_shape);
    bool instances = s->task == VKT_TASK_INSTANCES;
    if (instances) {
        ds->target.input_shape[2] = sizeof(uint16_t); /* numbers, moved as two channels are */
        ds->target.n_inputs = s->output_shape[0] * s->output_shape[1] * (uint32_t)sizeof(uint16_t);
    }
    for (int i = 0; i < 2; i++)
        if (ds->part[i].targets && s->task == VKT_TASK_SEGMENT)
            vkt__files_are_masks(ds->part[i].targets, &ds->schema.mask);
        else if (ds->part[i].targets && instances)
            vkt__files_are_instances(ds->part[i].targets);
}

void vkt__dense_nothing(const vkt_dataset *ds, vkt_label *y)
{
    bool masks = ds->schema.task == VKT_TASK_SEGMENT;
    for (uint32_t k = 0; k < vkt__n_labels(&ds->schema); k++)
        y[k] = masks ? (vkt_label) { .u = VKT_NO_TOKEN } : (vkt_label) { .f = 0 };
}

vkt_status vkt__dense_target(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__moves *moves, vkt__scratch *scratch, vkt_label *y)
{
    vkt_status st;
    const vkt__part *part = &ds->part[ds->of_part[split]];
    const vkt__schema *t = &ds->target;
    uint32_t at = ds->index[split][i], H = t->input_shape[0], W = t->input_shape[1], w = W, h = H;
    const uint8_t *from;
    uint8_t *moved;
    if (!part->targets && part->labels) {
        uint32_t n = vkt__n_labels(&ds->schema);
        memcpy(y, part->labels + (uint64_t)at * n, n * sizeof *y);
        return VKT_OK;
    }
    if (!part->targets) {
        vkt__dense_nothing(ds, y);
        return VKT_OK;
    }
    if (moves && moves->crops)
        VKT_TRY(vkt__files_source(part->targets, t, at, scratch, &w, &h, &from));
    else
        VKT_TRY(vkt__files_pixels(part->targets, t, at, scratch, &from));
    if (moves) {
        vkt__moves scaled = *moves; /* of a larger picture the shift is as much larger */
        scaled.dx = scaled.dx * W / ds->schema.input_shape[1];
        scaled.dy = scaled.dy * H / ds->schema.input_shape[0];
        VKT_TRY(vkt__scratch_need(scratch, 5, t->n_inputs, &moved));
        vkt__moves_apply(&scaled, from, w, h, t->input_shape[2], W, H, moved);
        from = moved;
    }
    if (ds->schema.task == VKT_TASK_INSTANCES) return vkt__instance_target(from, W, H, y);
    bool masks = ds->schema.task == VKT_TASK_SEGMENT;
    for (uint32_t k = 0; k < t->n_inputs && masks; k++)
        y[k].u = from[k] == VKT__MASK_IGNORE ? VKT_NO_TOKEN : from[k];
    for (uint32_t k = 0; k < t->n_inputs && !masks; k++) y[k].f = (float)from[k] / 255;
fail:
    return st;
}

void vkt__dense_count(const vkt_dataset *ds, vkt_split split, uint64_t *out)
{
    const vkt__part *part = &ds->part[ds->of_part[split]];
    uint32_t n = ds->schema.n_outputs;
    for (uint64_t i = 0; part->class_pixels && i < ds->info.n[split]; i++)
        for (uint32_t c = 0; c < n; c++)
            out[c] += part->class_pixels[(size_t)ds->index[split][i] * n + c];
}

void vkt__dense_note(vkt_dataset *ds, const char *text)
{
    uint32_t n = ds->info.n_notes;
    const char **all = vkt__arena_alloc(&ds->arena, (n + 1) * sizeof *all);
    for (uint32_t i = 0; i < n; i++) all[i] = ds->info.notes[i];
    all[n] = text;
    ds->info.notes = all;
    ds->info.n_notes = n + 1;
}

/* Training pictures whose masks have one class alone, `class`. */
static uint64_t count_alone(const vkt_dataset *ds, uint32_t class)
{
    uint64_t alone = 0;
    uint32_t n = ds->schema.n_outputs;
    for (uint64_t i = 0; i < ds->info.n[VKT_SPLIT_TRAIN]; i++) {
        const uint32_t *count =
            ds->part[0].class_pixels + (size_t)ds->index[VKT_SPLIT_TRAIN][i] * n;
        bool others = false;
        for (uint32_t c = 0; c < n; c++) others |= c != class && count[c];
        alone += !others;
    }
    return alone;
}

void vkt__dense_note_masks(vkt_dataset *ds)
{
    enum { SHOWN = 12 };
    const vkt__schema *s = &ds->schema;
    vkt__str line = { 0 };
    uint64_t *count = vkt__alloc(s->n_outputs * sizeof *count), all = 0;
    uint32_t most = 0;
    vkt__dense_count(ds, VKT_SPLIT_TRAIN, count);
    for (uint32_t c = 0; c < s->n_outputs; c++) {
        all += count[c];
        if (count[c] > count[most]) most = c;
    }
    vkt__str_printf(&line, "pixels of the training masks:");
    for (uint32_t c = 0; c < VKT_MIN(s->n_outputs, SHOWN); c++)
        vkt__str_printf(&line, "%s %s %.3g%%", c ? "," : "", vkt__show(s->classes[c]).s,
                        100 * (double)count[c] / (double)VKT_MAX(all, 1));
    vkt__dense_note(
        ds, vkt__arena_printf(&ds->arena, "%s%s", line.data, s->n_outputs > SHOWN ? ", ..." : ""));
    for (uint32_t c = 0; c < s->n_outputs; c++)
        if (!count[c])
            vkt__dense_note(ds, vkt__arena_printf(&ds->arena,
                                                  "class '%s' has no training pixel: it can't be "
                                                  "learned",
                                                  vkt__show(s->classes[c]).s));
    uint64_t alone = count_alone(ds, most);
    if (alone)
        vkt__dense_note(ds, vkt__arena_printf(&ds->arena,
                                              "%llu of %llu training pictures have nothing but "
                                              "class '%s'",
                                              (unsigned long long)alone,
                                              (unsigned long long)ds->info.n[VKT_SPLIT_TRAIN],
                                              vkt__show(s->classes[most]).s));
    vkt__str_finish(&line);
    free(count);
}
