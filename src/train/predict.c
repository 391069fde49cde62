/* vkt_predict: files through a trained model, pictures that stand together in one batch; and
 * vkt_predictor: arrays through a model that stays on its device. */
#include "data/inputs.h"
#include "data/open.h"
#include "data/pictures/picture.h"
#include "recipe/options.h"
#include "train/calibrate.h"
#include "train/detect/predict_boxes.h"
#include "train/predict_pictures.h"
#include "train/trained_session.h"

typedef struct {
    void (*fn)(void *user, const vkt_prediction *p);
    void *user;
    const vkt_dataset *data;
    const char *input;
    uint64_t base; /* added to the index */
    int tta;
    bool uncalibrated;
    const vkt__session *session;
    uint32_t tiles;              /* by how many pixels they overlap; 0: none */
    vkt__picture_writer *writer; /* of masks and pictures; else NULL */
    vkt_status written;          /* the first that failed */
    vkt_prediction p;
} forwarded;

/* out of one example with all that it takes to read it. */
static void say(const vkt__session *s, const float *out, vkt_prediction *p)
{
    bool several = s->info->task == VKT_TASK_MULTILABEL;
    p->n = s->info->n_outputs;
    p->value = out;
    p->class_names = s->info->class_names;
    p->target_names = s->info->target_names;
    p->outputs = s->info->outputs;
    p->threshold = several ? s->calibration.threshold : NULL;
    p->predicted = several ? 0 : vkt__calibration_class(&s->calibration, out, p->n);
}

static void forward(void *user, uint64_t index, const float *out, const vkt_label *y,
                    const double *number)
{
    forwarded *f = user;
    const char *file = vkt_dataset_file(f->data, VKT_SPLIT_TEST, index);
    (void)y;
    f->p.input = file ? file : f->input;
    f->p.index = file ? 0 : f->base + index;
    f->p.alone = file != NULL;
    if (f->writer) {
        vkt_status st = vkt__picture_writer_take(f->writer, f->data, index, out, f->p.input);
        if (f->written == VKT_OK) f->written = st;
        const vkt__box_finder *boxes = vkt__picture_writer_boxes(f->writer);
        if (f->written != VKT_OK) return;
        if (boxes) {
            f->p.class_names = f->session->info->class_names;
            f->p.boxes = boxes->box;
            f->p.n_boxes = boxes->n;
            f->fn(f->user, &f->p);
            return;
        }
        const vkt__instance_finder *instances = vkt__picture_writer_instances(f->writer);
        if (instances) {
            f->p.class_names = f->session->info->class_names;
            f->p.boxes = instances->box;
            f->p.n_boxes = instances->n;
            f->fn(f->user, &f->p);
            return;
        }
        const vkt__point_finder *points = vkt__picture_writer_points(f->writer);
        if (points) {
            f->p.class_names = f->session->info->class_names;
            f->p.points = points->point;
            f->p.n_points = points->n;
            f->p.least_score = points->least_score;
            f->p.limbs = f->session->info->limbs;
            f->p.n_limbs = f->session->info->n_limbs;
            f->fn(f->user, &f->p);
            return;
        }
        out = vkt__picture_writer_shares(f->writer);
        if (!out) return;
    }
    say(f->session, out, &f->p);
    f->p.number = number;
    f->fn(f->user, &f->p);
}

/* How many of the inputs from the first are picture files, which go through the model together; at
 * least 1. */
static size_t group(const char *const *inputs, size_t n)
{
    size_t k = 0;
    bool picture = true;
    for (; k < n && picture; k++)
        if (vkt__picture_is(inputs[k], &picture) != VKT_OK) picture = false;
    return picture ? k : VKT_MAX(k - 1, 1);
}

/* Pictures at their own sizes, one after the other. */
static vkt_status predict_tiles(vkt__opened *o, forwarded *f)
{
    vkt_status st = VKT_OK;
    const vkt_dataset_info *info = vkt_dataset_get_info(f->data);
    for (uint64_t i = 0; i < info->n[VKT_SPLIT_TEST]; i++) {
        const char *file = vkt_dataset_file(f->data, VKT_SPLIT_TEST, i);
        if (!file)
            return vkt__fail(VKT_E_ARG, "predict",
                             "'%s': --tiles is for pictures in files, which have sizes of their "
                             "own",
                             f->input);
        VKT_TRY(vkt__picture_writer_tiles(f->writer, o->session, o->model.schema, f->data, i,
                                          f->tiles, file));
        const float *shares = vkt__picture_writer_shares(f->writer);
        f->p.input = file;
        f->p.alone = true;
        if (!shares) continue;
        say(f->session, shares, &f->p);
        f->fn(f->user, &f->p);
    }
fail:
    return st;
}

/* One data set through the model, which is put on the device for the first one: with a batch no
 * larger than need be where there is no other (alone). base: examples of the input before it. */
static vkt_status predict_data(vkt__opened *o, const vkt_dataset *data, bool alone, uint64_t base,
                               forwarded *f)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(data);
    vkt__eval_sums sums = { 0 };
    vkt_status st = VKT_OK;
    if (!o->session) {
        if (f->tiles) VKT_TRY(vkt__tiles_check(info, f->tiles));
        uint64_t most = alone && !f->tiles ? info->n[VKT_SPLIT_TEST] : o->model.config->eval_batch;
        VKT_TRY(
            vkt__opened_session(o, (uint32_t)VKT_MIN(most, o->model.config->eval_batch), false));
        VKT_TRY(vkt__evaluate_views(o->session, f->tta));
        if (f->uncalibrated) vkt__calibration_reset(o->session);
    }
    f->data = data;
    f->base = base;
    f->session = o->session;
    if (f->tiles) return predict_tiles(o, f);
    VKT_TRY(vkt__evaluate(o->session, data, VKT_SPLIT_TEST, 0, &sums, forward, f));
    vkt__eval_sums_finish(&sums);
    VKT_TRY(f->written);
fail:
    return st;
}

/* The session keeps the data set that it was made for. */
static void drop(vkt__opened *o, vkt_dataset **data)
{
    if (*data != o->data) vkt_dataset_destroy(data);
    *data = NULL;
}

static vkt_status predict_rows(vkt__opened *o, vkt__row_parts *rows, bool only, forwarded *f)
{
    vkt_status st = VKT_OK;
    uint64_t base = 0, n_dropped = 0;
    vkt_dataset *data = NULL;
    for (;;) {
        VKT_TRY(vkt__dataset_open_rows(o->model.schema, rows, &data));
        if (!data) break;
        const vkt_dataset_info *info = vkt_dataset_get_info(data);
        uint64_t n = info->n[VKT_SPLIT_TEST];
        bool first = !o->session;
        n_dropped += info->n_dropped;
        if (first) o->data = data;
        VKT_TRY(predict_data(o, data, only && vkt__row_parts_ended(rows), base, f));
        base += n;
        drop(o, &data);
    }
    if (n_dropped)
        vkt_log(VKT_LOG_WARN, "predict",
                "'%s': %llu rows have missing values and are left out (data.missing: drop)",
                f->input, (unsigned long long)n_dropped);
fail:
    if (data) drop(o, &data);
    return st;
}

static vkt_status open_model(vkt__opened *o, const vkt_gpu_desc *gpu, const char *checkpoint)
{
    vkt_status st = vkt__opened_checkpoint(checkpoint, 0, gpu, o);
    if (st != VKT_OK || !vkt__config_is_text(o->model.config)) return st;
    return vkt__fail(VKT_E_ARG, "predict", "'%s' is a language model: use `vktrain generate`",
                     checkpoint);
}

vkt_status vkt_predict(const vkt_predict_desc *d)
{
    vkt_status st = VKT_OK;
    vkt__opened o = { 0 };
    vkt__row_parts *rows = NULL;
    vkt__picture_writer *writer = NULL;
    VKT_TRY(open_model(&o, &d->gpu, d->checkpoint));
    VKT_TRY(vkt__picture_writer_create(o.model.config->data.task, d->out, d->least_score, &writer));
    for (size_t i = 0, n; i < d->n_inputs; i += n) {
        vkt_dataset *data = NULL;
        forwarded f = { .fn = d->fn,
                        .user = d->user,
                        .tta = d->tta,
                        .uncalibrated = d->uncalibrated,
                        .writer = writer,
                        .tiles = d->tiles,
                        .input = d->inputs[i] };
        VKT_TRY(vkt__dataset_rows(o.model.schema, d->inputs[i], &rows));
        if (rows) {
            n = 1;
            VKT_TRY(predict_rows(&o, rows, d->n_inputs == 1, &f));
            vkt__row_parts_close(&rows);
            continue;
        }
        vkt__log_quiet(true); /* a missing file is reported when it is opened */
        n = group(d->inputs + i, d->n_inputs - i);
        vkt__log_quiet(false);
        VKT_TRY((d->tiles ? vkt__dataset_open_sized
                          : vkt__dataset_open_inputs)(o.model.schema, d->inputs + i, n, &data));
        if (!o.session) o.data = data;
        st = predict_data(&o, data, n == d->n_inputs, 0, &f);
        drop(&o, &data);
        VKT_TRY(st);
    }
fail:
    vkt__row_parts_close(&rows);
    vkt__picture_writer_destroy(&writer);
    vkt__opened_finish(&o);
    return st;
}

vkt_status vkt_checkpoint_kind(const char *checkpoint, vkt_data_kind *out)
{
    vkt_status st;
    vkt__trained t = { 0 };
    vkt_dataset *like = NULL;
    VKT_TRY(vkt__trained_open(checkpoint, &t));
    *out = VKT_DATA_KIND_TEXT;
    if (!vkt__config_is_text(t.config)) {
        VKT_TRY(vkt__dataset_open_inputs(t.schema, NULL, 0, &like));
        *out = vkt_dataset_get_info(like)->kind;
    }
fail:
    vkt_dataset_destroy(&like);
    vkt__trained_close(&t);
    return st;
}

/* ---- arrays ---- */

struct vkt_predictor {
    vkt__opened o;
    vkt_predictor_info info;
};

vkt_status vkt_predictor_open(const vkt_gpu_desc *gpu, const char *checkpoint, vkt_predictor **out)
{
    return vkt_predictor_open_batch(gpu, checkpoint, 0, out);
}

vkt_status vkt_predictor_open_batch(const vkt_gpu_desc *gpu, const char *checkpoint, uint32_t batch,
                                    vkt_predictor **out)
{
    vkt_status st;
    vkt_predictor *p = vkt__alloc(sizeof *p);
    *out = NULL;
    VKT_TRY(open_model(&p->o, gpu, checkpoint));
    VKT_TRY(vkt__dataset_open_inputs(p->o.model.schema, NULL, 0, &p->o.data));
    VKT_TRY(vkt__opened_session(&p->o, batch, false));
    const vkt_dataset_info *info = vkt_dataset_get_info(p->o.data);
    if (info->task == VKT_TASK_PICTURE)
        VKT_TRY(vkt__fail(VKT_E_ARG, "predict",
                          "'%s' gives pictures: use `vktrain predict --out FOLDER`", checkpoint));
    p->info = (vkt_predictor_info) { .kind = info->kind,
                                     .task = info->task,
                                     .input_rank = info->input_rank,
                                     .n_inputs = info->n_inputs,
                                     .n_outputs = info->n_outputs,
                                     .class_names = info->class_names,
                                     .limbs = info->limbs,
                                     .n_limbs = info->n_limbs };
    memcpy(p->info.input_shape, info->input_shape, sizeof p->info.input_shape);
    *out = p;
    return VKT_OK;
fail:
    vkt_predictor_close(&p);
    return st;
}

void vkt_predictor_close(vkt_predictor **p)
{
    if (!p || !*p) return;
    vkt__opened_finish(&(*p)->o);
    free(*p);
    *p = NULL;
}

vkt_prediction vkt_predictor_prediction(const vkt_predictor *p, const float *out)
{
    vkt_prediction one = { 0 };
    say(p->o.session, out, &one);
    return one;
}

const vkt_predictor_info *vkt_predictor_get_info(const vkt_predictor *p)
{
    return &p->info;
}

/* One of the two; exact: numbers as no float keeps them. */
typedef struct {
    float *out;
    double *exact;
    uint32_t n_outputs, n_pixels; /* n_pixels: of masks; else 0 */
} rows_out;

static void keep_row(void *user, uint64_t index, const float *out, const vkt_label *y,
                     const double *number)
{
    const rows_out *r = user;
    (void)y;
    if (r->n_pixels) {
        float *shares = vkt__alloc(r->n_outputs * sizeof *shares);
        vkt__mask_shares(out, r->n_pixels, r->n_outputs, shares);
        for (uint32_t k = 0; r->out && k < r->n_outputs; k++)
            r->out[index * r->n_outputs + k] = shares[k];
        for (uint32_t k = 0; r->exact && k < r->n_outputs; k++)
            r->exact[index * r->n_outputs + k] = (double)shares[k];
        free(shares);
        return;
    }
    if (r->out) memcpy(r->out + index * r->n_outputs, out, r->n_outputs * sizeof *out);
    for (uint32_t k = 0; r->exact && k < r->n_outputs; k++)
        r->exact[index * r->n_outputs + k] = number ? number[k] : (double)out[k];
}

static vkt_status run_data(vkt_predictor *p, const vkt_dataset *data, rows_out rows)
{
    vkt__eval_sums sums = { 0 };
    if (p->info.task == VKT_TASK_DETECT || p->info.task == VKT_TASK_INSTANCES)
        return vkt__fail(VKT_E_ARG, "predict",
                         "the model gives boxes: vkt_predictor_find has them, "
                         "and `vktrain predict`");
    if (p->info.task == VKT_TASK_POINTS)
        return vkt__fail(VKT_E_ARG, "predict",
                         "the model gives points: vkt_predictor_locate has them, "
                         "and `vktrain predict`");
    rows.n_outputs = p->info.n_outputs;
    if (p->info.task == VKT_TASK_SEGMENT) rows.n_pixels = p->o.session->info->n_targets;
    vkt_status st = vkt__evaluate(p->o.session, data, VKT_SPLIT_TEST, 0, &sums, keep_row, &rows);
    if (st == VKT_OK) vkt__eval_sums_finish(&sums);
    return st;
}

static vkt_status run_array(vkt_predictor *p, const vkt_array *x, rows_out rows)
{
    vkt_status st;
    vkt_dataset *data = NULL;
    vkt_arrays arrays = { .x = *x };
    VKT_TRY(vkt__dataset_open_arrays(p->o.model.schema, &arrays, &data));
    if (vkt_dataset_get_info(data)->n_dropped) {
        st = vkt__fail(VKT_E_FORMAT, "predict",
                       "%llu rows of X have NaN, which training left out (data.missing: drop): "
                       "leave them out here, too",
                       (unsigned long long)vkt_dataset_get_info(data)->n_dropped);
        goto fail;
    }
    VKT_TRY(run_data(p, data, rows));
fail:
    vkt_dataset_destroy(&data);
    return st;
}

vkt_status vkt_predictor_run(vkt_predictor *p, const vkt_array *x, float *out)
{
    return run_array(p, x, (rows_out) { .out = out });
}

vkt_status vkt_predictor_run_doubles(vkt_predictor *p, const vkt_array *x, double *out)
{
    return run_array(p, x, (rows_out) { .exact = out });
}

/* ---- files in memory ---- */

bool vkt_predictor_get_column(const vkt_predictor *p, uint32_t i, vkt_data_column *out, bool *named)
{
    return vkt__dataset_column(p->o.data, i, out, named);
}

vkt_status vkt_predictor_read_rows(const vkt_predictor *p, const char *text, size_t bytes,
                                   const char *name, vkt_inputs *out)
{
    return vkt__inputs_of_rows(p->o.data, text, bytes, name, out);
}

vkt_status vkt_predictor_read_picture(const vkt_predictor *p, const void *file, size_t bytes,
                                      const char *name, vkt_inputs *out)
{
    return vkt__inputs_of_picture(p->o.data, file, bytes, name, out);
}

static vkt_status run_inputs(vkt_predictor *p, const vkt_inputs *in, size_t n_in, rows_out rows)
{
    vkt_status st;
    vkt_dataset *data = NULL;
    VKT_TRY(vkt__dataset_open_examples(p->o.model.schema, in, n_in, &data));
    VKT_TRY(run_data(p, data, rows));
fail:
    vkt_dataset_destroy(&data);
    return st;
}

vkt_status vkt_predictor_run_inputs(vkt_predictor *p, const vkt_inputs *in, size_t n_in, float *out)
{
    return run_inputs(p, in, n_in, (rows_out) { .out = out });
}

vkt_status vkt_predictor_run_inputs_doubles(vkt_predictor *p, const vkt_inputs *in, size_t n_in,
                                            double *out)
{
    return run_inputs(p, in, n_in, (rows_out) { .exact = out });
}

/* ---- boxes ---- */

static vkt_status open_pictures(const vkt_predictor *p, const vkt_inputs *in, size_t n_in,
                                vkt_dataset **data)
{
    for (size_t i = 0; i < n_in; i++)
        if (in[i].n != 1 || !in[i].width)
            return vkt__fail(VKT_E_ARG, "predict", "input %zu is no picture of its own", i);
    return vkt__dataset_open_examples(p->o.model.schema, in, n_in, data);
}

typedef struct {
    const vkt_dataset *data;
    const vkt_inputs *in; /* a picture each */
    vkt__box_finder finder;
    vkt__instance_finder instances;
    vkt_found_boxes *out;
    vkt_status failed;
} found_out;

static void keep_boxes(void *user, uint64_t index, const float *out, const vkt_label *y,
                       const double *number)
{
    found_out *r = user;
    vkt_found_boxes *to = &r->out[index];
    (void)y;
    (void)number;
    uint32_t w = r->in[index].width, h = r->in[index].height;
    const vkt_found_box *from;
    char name[40];
    snprintf(name, sizeof name, "input %llu", (unsigned long long)index);
    if (r->data->schema.task == VKT_TASK_INSTANCES) {
        vkt_status st = vkt__instances_found(&r->instances, r->data, out, w, h);
        if (r->failed == VKT_OK) r->failed = st;
        if (st != VKT_OK) return;
        vkt__instances_say_full(&r->instances, name);
        to->n = r->instances.n;
        from = r->instances.box;
    } else {
        vkt__boxes_found(&r->finder, r->data, out, w, h);
        vkt__boxes_say_full(&r->finder, name);
        to->n = r->finder.n;
        from = r->finder.box;
    }
    to->box = vkt__alloc((to->n + 1) * sizeof *to->box);
    memcpy(to->box, from, to->n * sizeof *to->box);
}

vkt_status vkt_predictor_find(vkt_predictor *p, const vkt_inputs *in, size_t n_in,
                              vkt_found_boxes *out)
{
    vkt_status st;
    vkt_dataset *data = NULL;
    vkt__eval_sums sums = { 0 };
    memset(out, 0, n_in * sizeof *out);
    if (p->info.task != VKT_TASK_DETECT && p->info.task != VKT_TASK_INSTANCES)
        return vkt__fail(VKT_E_ARG, "predict", "the model gives no boxes");
    VKT_TRY(open_pictures(p, in, n_in, &data));
    found_out rows = { .data = data, .in = in, .out = out };
    st = vkt__evaluate(p->o.session, data, VKT_SPLIT_TEST, 0, &sums, keep_boxes, &rows);
    if (st == VKT_OK) st = rows.failed;
    vkt__box_finder_finish(&rows.finder);
    vkt__instance_finder_finish(&rows.instances);
    vkt__eval_sums_finish(&sums);
    for (size_t i = 0; i < n_in && st != VKT_OK; i++) {
        free(out[i].box);
        out[i] = (vkt_found_boxes) { 0 };
    }
fail:
    vkt_dataset_destroy(&data);
    return st;
}

/* ---- points ---- */

typedef struct {
    const vkt_dataset *data;
    const vkt_inputs *in; /* a picture each */
    vkt__point_finder finder;
    vkt_found_point *out; /* [n_in, points] */
} located_out;

static void keep_points(void *user, uint64_t index, const float *out, const vkt_label *y,
                        const double *number)
{
    located_out *r = user;
    (void)y;
    (void)number;
    vkt__points_found(&r->finder, r->data, out, r->in[index].width, r->in[index].height);
    memcpy(r->out + index * r->finder.n, r->finder.point, r->finder.n * sizeof *r->out);
}

vkt_status vkt_predictor_locate(vkt_predictor *p, const vkt_inputs *in, size_t n_in,
                                vkt_found_point *out)
{
    vkt_status st;
    vkt_dataset *data = NULL;
    vkt__eval_sums sums = { 0 };
    memset(out, 0, n_in * p->info.n_outputs * sizeof *out);
    if (p->info.task != VKT_TASK_POINTS)
        return vkt__fail(VKT_E_ARG, "predict", "the model gives no points");
    VKT_TRY(open_pictures(p, in, n_in, &data));
    located_out rows = { .data = data, .in = in, .out = out };
    st = vkt__evaluate(p->o.session, data, VKT_SPLIT_TEST, 0, &sums, keep_points, &rows);
    vkt__point_finder_finish(&rows.finder);
    vkt__eval_sums_finish(&sums);
fail:
    vkt_dataset_destroy(&data);
    return st;
}
