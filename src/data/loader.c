/* The loader: threads fill a ring of batches ahead of the device, strictly in order. What a batch
 * holds is a function of (data, seed, position) alone, so neither the number of threads nor where a
 * run resumed matters. Two locks: `order` is held while the next batch is claimed and its examples
 * are listed (batches are claimed in order, so one epoch's order is enough), `lock` guards the
 * ring's counters. order is taken before lock. */
#include "data/dataset.h"
#include "data/parts/parts.h"
#include "data/pictures/augment.h"
#include "data/pictures/dense.h"
#include "data/points/poses.h"
#include "data/shuffle.h"
#include "data/text/corpus.h"

/* Batch k of the pass or stream into its slot: this loader's rows of the examples in list [batch];
 * n_valid of these rows are no padding; share [rows] is room for how much of each counts. */
typedef vkt_status fill_fn(vkt_loader *l, uint64_t k, vkt_batch *b, const uint32_t *list,
                           uint32_t n_valid, vkt__scratch *scratch, float *share);

struct vkt_loader {
    vkt_loader_desc desc;
    uint32_t row, rows; /* of each batch: [row, row + rows) */
    fill_fn *fill;      /* as the kind of data needs */
    vkt_augment augment;
    bool augments;
    float *class_weight; /* [n_outputs] or NULL */
    uint64_t n;          /* examples of the split */
    uint64_t n_pass;     /* !shuffle: examples of the pass */
    uint32_t views;      /* !shuffle: of each, one after the other */
    uint64_t end;        /* first batch that does not exist; UINT64_MAX when endless */

    vkt__mutex *order;
    vkt__stream stream; /* shuffle, but not in order */
    uint32_t *list;     /* [n_slots, batch] examples of each slot's batch, all rows */

    vkt__mutex *lock;
    vkt__cond *work, *ready;
    bool stop;
    bool *filled;                      /* [n_slots] */
    uint64_t claimed, given, released; /* batches since `start`; released <= given <= claimed */
    uint64_t n_bad;                    /* examples that could not be read */
    uint64_t n_bad_rows;               /* of them, those since the last batch with a good one */
    vkt_status failed;                 /* what ended a thread's work */

    bool alone; /* one batch is all: whoever asks for it fills it, without a thread */
    uint32_t n_threads, n_running; /* started; that have told their number */
    vkt__thread *threads[64];
};

/* The examples of batch k; padding is example 0. Returns how many of this loader's rows are none.
 * Under `order`. */
static uint32_t list_batch(vkt_loader *l, uint64_t k, uint32_t *list)
{
    uint32_t batch = l->desc.batch;
    uint64_t first = k * batch;
    if (l->desc.shuffle) {
        bool in_order = l->desc.sampling == VKT_SAMPLING_IN_ORDER;
        for (uint32_t i = 0; i < batch; i++)
            list[i] =
                in_order ? (uint32_t)((first + i) % l->n) : vkt__stream_at(&l->stream, first + i);
        return l->rows;
    }
    uint32_t n_valid = (uint32_t)VKT_MIN(l->n_pass * l->views - first, batch);
    for (uint32_t i = 0; i < batch; i++)
        list[i] = i < n_valid ? (uint32_t)((first + i) / l->views * l->n / l->n_pass) : 0;
    return n_valid <= l->row ? 0 : VKT_MIN(n_valid - l->row, l->rows);
}

/* Weighs a pair's answers: the tokens that count weigh one together in each answer. targets, w [n,
 * context]. */
static void weigh_answers(const uint32_t *targets, size_t n, uint32_t context, float *w)
{
    for (size_t i = 0; i < n; i++, targets += context, w += context) {
        uint32_t counted = 0;
        for (uint32_t k = 0; k < context; k++) counted += targets[k] != VKT_NO_TOKEN;
        for (uint32_t k = 0; k < context; k++)
            w[k] = targets[k] == VKT_NO_TOKEN ? 0 : 1 / (float)counted;
    }
}

/* Windows of text. Each epoch of the shuffled stream has its own shift. The slot's memory may be
 * slow to read and to write in leaps, so all is made in scratch first. */
static vkt_status fill_windows(vkt_loader *l, uint64_t k, vkt_batch *b, const uint32_t *list,
                               uint32_t n_valid, vkt__scratch *scratch, float *share)
{
    vkt_status st;
    (void)share; /* all of a window counts, or none */
    const vkt__corpus *c = l->desc.data->corpus;
    uint32_t rows = l->rows, context = c->pairs ? 2 * c->context : c->context,
             n_vocab = l->desc.data->schema.n_outputs;
    uint64_t first = k * l->desc.batch + l->row;
    size_t n = (size_t)rows * context;
    uint32_t *tokens, *targets, *documents, *order, *segments, n_counted = 0;
    VKT_TRY(vkt__scratch_need(scratch, 0, 3 * n * sizeof *tokens, &tokens));
    targets = tokens + n;
    documents = targets + n;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t *y = targets + (size_t)i * context;
        uint64_t shift = !l->desc.shuffle ? 0
                                          : vkt__corpus_shift(c, l->desc.split, l->desc.seed,
                                                              (first + i) / l->n);
        uint32_t n_here = vkt__corpus_window(c, l->desc.split, list[l->row + i], shift,
                                             tokens + (size_t)i * context, y,
                                             b->documents ? documents + (size_t)i * context : NULL);
        for (uint32_t j = 0; j < context && l->desc.ignore.given; j++)
            if (y[j] == l->desc.ignore.n && y[j] != VKT_NO_TOKEN) y[j] = VKT_NO_TOKEN, n_here--;
        if (i < n_valid)
            n_counted += n_here;
        else
            memset(y, 0xff, context * sizeof *y); /* VKT_NO_TOKEN */
    }
    memcpy(b->tokens, tokens, n * sizeof *tokens);
    memcpy(b->targets, targets, n * sizeof *targets);
    if (b->documents) memcpy(b->documents, documents, n * sizeof *documents);
    float w = l->desc.weight > 0 ? l->desc.weight : n_counted ? 1 / (float)n_counted : 0;
    for (size_t i = 0; i < n; i++) b->w[i] = targets[i] == VKT_NO_TOKEN ? 0 : w;
    if (c->pairs) weigh_answers(targets, 2 * (size_t)rows, c->context, b->w);
    if (b->order) {
        VKT_TRY(vkt__scratch_need(scratch, 1, (n + n_vocab + 1) * sizeof *order, &order));
        segments = order + n;
        vkt_token_order(tokens, (uint32_t)n, n_vocab, order, segments);
        memcpy(b->order, order, n * sizeof *order);
        memcpy(b->segments, segments, ((size_t)n_vocab + 1) * sizeof *segments);
    }
    b->n_counted = c->pairs ? n_valid : n_counted;
    b->weight = b->n_counted;
fail:
    return st;
}

enum { BAD_SHOWN = 3 };

/* An example that is damaged or gone: said, or the end of the loader, as what the system failed to
 * read is. */
static vkt_status bad_example(vkt_loader *l, vkt_status st)
{
    if (l->desc.stop_on_bad || st != VKT_E_FORMAT)
        return vkt__fail(st, "data", "%s", vkt__last_failure());
    vkt__mutex_lock(l->lock);
    uint64_t n = ++l->n_bad;
    vkt__mutex_unlock(l->lock);
    if (n <= BAD_SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %s%s", vkt__last_failure(),
                n == BAD_SHOWN ? "; further ones are not listed" : "");
    return VKT_OK;
}

/* Example i of a batch into x, and where its target is a picture into y; *ok false: it is left out,
 * x zeroed. */
static vkt_status fill_one(vkt_loader *l, uint64_t position, uint32_t example,
                           vkt__scratch *scratch, float *x, vkt_label *y, bool *ok)
{
    const vkt_dataset *ds = l->desc.data;
    vkt__moves moves;
    vkt__draw draw = { &l->augment, l->desc.seed, position, &moves };
    vkt__log_quiet(true);
    bool draws = l->augments && (l->desc.shuffle || position % l->views);
    vkt_status st = vkt__dataset_fill(ds, l->desc.split, example, draws ? &draw : NULL, scratch, x);
    if (st == VKT_OK && y)
        st = vkt__dataset_target(ds, l->desc.split, example, draws ? &moves : NULL, scratch, y);
    vkt__log_quiet(false);
    *ok = st == VKT_OK;
    if (*ok) return VKT_OK;
    if (y) vkt__dataset_no_target(ds, y);
    memset(x, 0, ds->schema.n_inputs * sizeof *x);
    return bad_example(l, st);
}

/* CutMix: the box of each lies in the other afterwards. The share that each has of its own, at
 * least one half: where the box is larger, all else is exchanged. */
static float exchange_box(const vkt_loader *l, uint64_t position, float *made[2])
{
    const uint32_t *shape = l->desc.data->schema.input_shape, C = shape[2];
    vkt__box b = vkt__augment_cut(l->augment.cutmix, l->desc.seed, position, shape[1], shape[0]);
    float a = 1 - (float)((double)b.w * b.h / ((double)shape[0] * shape[1]));
    for (uint32_t y = b.y; y < b.y + b.h; y++)
        for (size_t k = ((size_t)y * shape[1] + b.x) * C, end = k + (size_t)b.w * C; k < end; k++) {
            float own = made[0][k];
            made[0][k] = made[1][k];
            made[1][k] = own;
        }
    if (a >= 0.5f) return a;
    float *first = made[0];
    made[0] = made[1];
    made[1] = first;
    return 1 - a;
}

/* Rows i and j of the batch blended: share of i in row i, of j in row j, each at least one half, so
 * that y is the larger part's label: the pair's two blends are the same either way. The slot's
 * memory may be slow to read, so both are made in scratch first. x and share lead from row 0; a row
 * that is not this loader's is left out. */
static vkt_status fill_pair(vkt_loader *l, uint64_t first, float *x, const uint32_t *list,
                            uint32_t i, uint32_t j, vkt__scratch *scratch, float *share)
{
    vkt_status st;
    uint32_t n = l->desc.data->schema.n_inputs;
    const uint32_t row[2] = { i, j };
    float *made[2];
    bool ok[2];
    VKT_TRY(vkt__scratch_need(scratch, 2, 2 * (uint64_t)n * sizeof *made[0], &made[0]));
    made[1] = made[0] + n;
    for (uint32_t e = 0; e < 2; e++)
        VKT_TRY(fill_one(l, first + row[e], list[row[e]], scratch, made[e], NULL, &ok[e]));
    bool cuts = vkt__augment_cuts(&l->augment, l->desc.seed, first + i);
    float a =
        ok[0] && ok[1] && !cuts ? vkt__augment_mix(l->augment.mixup, l->desc.seed, first + i) : 1;
    a = VKT_MAX(a, 1 - a);
    if (cuts && ok[0] && ok[1]) a = exchange_box(l, first + i, made);
    for (uint32_t e = 0; e < 2; e++) {
        if (row[e] < l->row || row[e] >= l->row + l->rows) continue;
        float *to = x + (size_t)(row[e] - l->row) * n;
        if (cuts)
            memcpy(to, made[e], n * sizeof *to);
        else
            for (uint32_t k = 0; k < n; k++) to[k] = a * made[e][k] + (1 - a) * made[1 - e][k];
        share[row[e] - l->row] = ok[e] ? a : 0;
    }
fail:
    return st;
}

/* Inputs, and each example's share: 1, less when it is blended with its mirror in the batch, 0 when
 * it is left out. */
static vkt_status fill_inputs(vkt_loader *l, uint64_t first, vkt_batch *b, const uint32_t *list,
                              uint32_t n_valid, vkt__scratch *scratch, float *share)
{
    vkt_status st = VKT_OK;
    uint32_t batch = l->desc.batch, n = l->desc.data->schema.n_inputs, end = l->row + l->rows;
    bool mixes = l->augments && (l->augment.mixup > 0 || l->augment.cutmix > 0) && b->y2;
    for (uint32_t i = l->row; i < end; i++) {
        uint32_t other = batch - 1 - i;
        bool ok;
        if (mixes && other != i) {
            bool made = other < i && other >= l->row; /* with its mirror, before */
            if (!made)
                VKT_TRY(fill_pair(l, first, b->x, list, VKT_MIN(i, other), VKT_MAX(i, other),
                                  scratch, share));
            continue;
        }
        VKT_TRY(
            fill_one(l, first + i, list[i], scratch, b->x + (size_t)(i - l->row) * n, NULL, &ok));
        share[i - l->row] = ok && i - l->row < n_valid ? 1 : 0;
    }
fail:
    return st;
}

/* n: examples of a batch that were all left out, else 0. A mean over nothing is no number, and data
 * that is gone is an error; a rank's few rows may all be bad by chance. */
static vkt_status count_left_out(vkt_loader *l, uint32_t n)
{
    vkt__mutex_lock(l->lock);
    uint64_t all = l->n_bad_rows = n ? l->n_bad_rows + n : 0;
    vkt__mutex_unlock(l->lock);
    if (all < l->desc.batch) return VKT_OK;
    return vkt__fail(VKT_E_IO, "data",
                     "none of the %u examples of a batch can be read: is the data still there? %s",
                     l->desc.batch, vkt__last_failure());
}

static bool is_ignored(const vkt_loader *l, const vkt_label *y)
{
    return l->desc.ignore.given && y->u == l->desc.ignore.n;
}

/* What an example of the class is in the sum that the mean divides by. */
static double class_share(const vkt_loader *l, const vkt_label *y)
{
    if (is_ignored(l, y)) return 0;
    return l->class_weight ? (double)l->class_weight[y->u] : 1;
}

static vkt_status fill_examples(vkt_loader *l, uint64_t k, vkt_batch *b, const uint32_t *list,
                                uint32_t n_valid, vkt__scratch *scratch, float *share)
{
    vkt_status st;
    const vkt_dataset *ds = l->desc.data;
    uint32_t batch = l->desc.batch, n_labels = vkt__n_labels(&ds->schema);
    double sum = 0;
    uint32_t n_left_out = 0, n_ignored = 0;
    VKT_TRY(fill_inputs(l, k * batch, b, list, n_valid, scratch, share));
    while (n_left_out < n_valid && share[n_left_out] == 0) n_left_out++;
    VKT_TRY(count_left_out(l, n_left_out == n_valid ? n_valid : 0));
    for (uint32_t i = 0; i < l->rows; i++) {
        const vkt_label *y = vkt__dataset_label(ds, l->desc.split, list[l->row + i]);
        uint32_t other = list[batch - 1 - l->row - i];
        memcpy(b->y + (size_t)i * n_labels, y, n_labels * sizeof *y);
        if (b->y2) b->y2[i] = *vkt__dataset_label(ds, l->desc.split, other);
        double rest = b->y2 && share[i] > 0 ? 1 - (double)share[i] : 0;
        n_ignored += i < n_valid && is_ignored(l, y);
        sum += (double)share[i] * class_share(l, y);
        if (rest > 0) sum += rest * class_share(l, &b->y2[i]);
    }
    float w = l->desc.weight > 0 ? l->desc.weight : sum > 0 ? (float)(1 / sum) : 0;
    for (uint32_t i = 0; i < l->rows; i++) {
        b->w[i] = w * share[i];
        if (b->w2) b->w2[i] = share[i] > 0 ? w * (1 - share[i]) : 0;
    }
    b->n_counted = n_valid - n_ignored;
    b->weight = sum;
fail:
    return st;
}

/* How much each pixel counts, into share [n]; *counted: how many do. */
static double pixel_shares(const vkt_loader *l, const vkt_label *y, size_t n, float *share,
                           uint32_t *counted)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        bool counts = y[i].u != VKT_NO_TOKEN && !is_ignored(l, &y[i]);
        share[i] = counts ? 1 : 0;
        *counted += counts;
        if (counts) sum += class_share(l, &y[i]);
    }
    return sum;
}

/* Examples whose targets are as large as pictures: of masks each pixel has its weight. The slot's
 * memory may be slow to read, so targets are made in scratch first. */
static vkt_status fill_dense(vkt_loader *l, uint64_t k, vkt_batch *b, const uint32_t *list,
                             uint32_t n_valid, vkt__scratch *scratch, float *share)
{
    vkt_status st = VKT_OK;
    const vkt_dataset *ds = l->desc.data;
    bool masks = ds->schema.task == VKT_TASK_SEGMENT, ok;
    size_t n = ds->schema.n_inputs, n_labels = vkt__n_labels(&ds->schema),
           n_w = masks ? n_labels : 1;
    vkt_label *y;
    float *part;
    double sum = 0;
    uint32_t n_bad = 0, counted = 0;
    VKT_TRY(vkt__scratch_need(scratch, 6, n_labels * sizeof *y, &y));
    VKT_TRY(vkt__scratch_need(scratch, 7, n_w * sizeof *part, &part));
    for (uint32_t i = 0; i < l->rows; i++) {
        VKT_TRY(fill_one(l, k * l->desc.batch + l->row + i, list[l->row + i], scratch, b->x + i * n,
                         y, &ok));
        share[i] = ok && i < n_valid ? 1 : 0;
        n_bad += i < n_valid && !ok;
        memcpy(b->y + i * n_labels, y, n_labels * sizeof *y);
        memset(part, 0, n_w * sizeof *part);
        if (share[i] > 0 && masks)
            sum += pixel_shares(l, y, n_labels, part, &counted);
        else if (share[i] > 0)
            sum += part[0] = 1;
        for (size_t j = 0; j < n_w && l->desc.weight > 0; j++) part[j] *= l->desc.weight;
        memcpy(b->w + i * n_w, part, n_w * sizeof *part);
    }
    VKT_TRY(count_left_out(l, n_bad == n_valid ? n_bad : 0));
    for (size_t i = 0; i < l->rows * n_w && !(l->desc.weight > 0) && sum > 0; i++)
        b->w[i] *= (float)(1 / sum);
    b->n_counted = masks ? counted : n_valid;
    b->weight = sum;
fail:
    return st;
}

/* Claims the next batch when its slot is free: its number since `start`. False when there is none
 * left or at stop. */
static bool claim(vkt_loader *l, uint64_t *k)
{
    vkt__mutex_lock(l->lock);
    while (!l->stop && l->desc.start + l->claimed < l->end &&
           l->claimed - l->released == l->desc.n_slots)
        vkt__cond_wait(l->work, l->lock);
    bool go = !l->stop && l->desc.start + l->claimed < l->end;
    if (go) *k = l->claimed++;
    vkt__mutex_unlock(l->lock);
    return go;
}

/* The next batch into its slot; false: there is none left, or it is to stop. */
static bool fill_next(vkt_loader *l, uint32_t thread, vkt__scratch *scratch, float *share,
                      vkt_status *st)
{
    uint64_t k;
    vkt__mutex_lock(l->order);
    if (!claim(l, &k)) {
        vkt__mutex_unlock(l->order);
        return false;
    }
    double start = l->desc.on_batch ? vkt__now() : 0;
    uint32_t slot = (uint32_t)(k % l->desc.n_slots), *list = l->list + (size_t)slot * l->desc.batch;
    uint32_t n_valid = list_batch(l, l->desc.start + k, list);
    vkt__mutex_unlock(l->order);
    vkt_batch *b = &l->desc.slots[slot];
    if (*st == VKT_OK) *st = l->fill(l, l->desc.start + k, b, list, n_valid, scratch, share);
    b->n_valid = n_valid;
    b->first = l->desc.shuffle ? (l->desc.start + k) * l->desc.batch + l->row : list[l->row];
    b->index = list + l->row;
    if (l->desc.on_batch) l->desc.on_batch(l->desc.user, thread, k, start, vkt__now());
    vkt__mutex_lock(l->lock);
    l->filled[slot] = true;
    if (l->failed == VKT_OK) l->failed = *st;
    if (!l->alone) vkt__cond_broadcast(l->ready);
    vkt__mutex_unlock(l->lock);
    return true;
}

static void work(void *arg)
{
    vkt_loader *l = arg;
    vkt__scratch scratch = { 0 };
    vkt_status st = VKT_OK;
    float *share = vkt__alloc(l->rows * sizeof *share);
    vkt__mutex_lock(l->lock);
    uint32_t thread = l->n_running++;
    vkt__mutex_unlock(l->lock);
    while (fill_next(l, thread, &scratch, share, &st)) {
    }
    vkt__scratch_finish(&scratch);
    free(share);
}

/* The only batch, by who asks for it. */
static void fill_alone(vkt_loader *l)
{
    vkt__scratch scratch = { 0 };
    vkt_status st = VKT_OK;
    float *share = vkt__alloc(l->rows * sizeof *share);
    fill_next(l, 0, &scratch, share, &st);
    vkt__scratch_finish(&scratch);
    free(share);
}

static vkt_status check(const vkt_loader_desc *d)
{
    const vkt_dataset_info *info = &d->data->info;
    uint64_t n = (unsigned)d->split < VKT_N_SPLITS ? info->n[d->split] : 0, unused;
    vkt_status st;
    if (d->batch == 0 || d->n_slots == 0 || !d->slots)
        return vkt__fail(VKT_E_ARG, "data", "loader: batch (%u) and slots (%u) must be above 0",
                         d->batch, d->n_slots);
    if (d->row > d->batch || d->rows > d->batch - d->row || (d->row && !d->rows))
        return vkt__fail(VKT_E_ARG, "data", "loader: rows %u to %u are not in a batch of %u",
                         d->row, d->row + d->rows, d->batch);
    if (n == 0)
        return vkt__fail(VKT_E_ARG, "data",
                         "loader: the %s split has no examples: set data.%s_fraction, or give "
                         "files for this split",
                         vkt_split_name(d->split), vkt_split_name(d->split));
    bool classes = info->task == VKT_TASK_CLASSIFY && info->kind != VKT_DATA_KIND_TEXT;
    if ((d->class_weight && !classes && info->task != VKT_TASK_SEGMENT) ||
        (d->sampling == VKT_SAMPLING_BALANCED && !classes))
        return vkt__fail(VKT_E_ARG, "data",
                         "loader: class weights and balanced sampling need a classification task");
    if (d->augment && (st = vkt__augment_check(d->augment, info)) != VKT_OK) return st;
    if (d->augment && (st = vkt__poses_check(d->data, d->augment)) != VKT_OK) return st;
    if (d->start > UINT64_MAX / 2 / d->batch || !vkt__mul_ok(d->batch, d->n_slots, &unused))
        return vkt__fail(VKT_E_ARG, "data", "loader: start %llu is out of range",
                         (unsigned long long)d->start);
    return VKT_OK;
}

vkt_status vkt_loader_create(const vkt_loader_desc *desc, vkt_loader **out)
{
    vkt_status st = VKT_OK;
    vkt_loader *l = NULL;
    *out = NULL;
    VKT_TRY(check(desc));
    l = vkt__alloc(sizeof *l);
    l->desc = *desc;
    l->row = desc->row;
    l->rows = desc->rows ? desc->rows : desc->batch;
    l->n = desc->data->info.n[desc->split];
    l->n_pass = desc->limit ? VKT_MIN(desc->limit, l->n) : l->n;
    l->views = VKT_MAX(desc->views, 1);
    l->end = desc->shuffle ? UINT64_MAX : (l->n_pass * l->views + desc->batch - 1) / desc->batch;
    if (desc->augment) l->augment = *desc->augment;
    l->fill = desc->data->info.kind == VKT_DATA_KIND_TEXT ? fill_windows
              : vkt__is_dense(desc->data->info.task)      ? fill_dense
                                                          : fill_examples;
    l->augments = desc->augment && vkt__augments(desc->augment);
    l->order = vkt__mutex_create();
    l->lock = vkt__mutex_create();
    l->work = vkt__cond_create();
    l->ready = vkt__cond_create();
    l->filled = vkt__alloc(desc->n_slots * sizeof *l->filled);
    VKT_TRY(vkt__alloc_large((uint64_t)desc->n_slots * desc->batch, sizeof *l->list, "the loader",
                             &l->list));
    if (desc->shuffle && desc->sampling != VKT_SAMPLING_IN_ORDER)
        VKT_TRY(vkt__stream_init(desc->data, desc->split, desc->sampling == VKT_SAMPLING_BALANCED,
                                 desc->seed, &l->stream));
    if (desc->class_weight) {
        size_t bytes = desc->data->info.n_outputs * sizeof *l->class_weight;
        l->class_weight = memcpy(vkt__alloc(bytes), desc->class_weight, bytes);
    }
    uint32_t n_threads =
        VKT_MIN(VKT_MAX(desc->n_threads, 1), VKT_MIN(desc->n_slots, VKT_COUNT(l->threads)));
    l->alone = !desc->shuffle && l->end == desc->start + 1;
    for (; l->n_threads < n_threads && !l->alone; l->n_threads++)
        VKT_TRY(vkt__thread_start(work, l, &l->threads[l->n_threads]));
    *out = l;
    return VKT_OK;
fail:
    vkt_loader_destroy(&l);
    return st;
}

void vkt_loader_destroy(vkt_loader **pl)
{
    vkt_loader *l = *pl;
    if (!l) return;
    vkt__mutex_lock(l->lock);
    l->stop = true;
    vkt__cond_broadcast(l->work);
    vkt__mutex_unlock(l->lock);
    for (uint32_t i = 0; i < l->n_threads; i++) vkt__thread_join(&l->threads[i]);
    vkt__mutex_destroy(&l->order);
    vkt__mutex_destroy(&l->lock);
    vkt__cond_destroy(&l->work);
    vkt__cond_destroy(&l->ready);
    free(l->class_weight);
    vkt__stream_finish(&l->stream);
    free(l->list);
    free(l->filled);
    free(l);
    *pl = NULL;
}

vkt_status vkt_loader_next(vkt_loader *l, uint32_t *slot, double *wait_s)
{
    vkt_status st = VKT_OK;
    double waited = 0;
    *slot = UINT32_MAX;
    if (l->alone && !l->claimed) {
        double start = vkt__now();
        fill_alone(l);
        waited = vkt__now() - start;
    }
    vkt__mutex_lock(l->lock);
    uint32_t next = (uint32_t)(l->given % l->desc.n_slots);
    if (l->desc.start + l->given >= l->end) {
        /* the pass is over */
    } else if (l->given - l->released == l->desc.n_slots) {
        st = vkt__fail(VKT_E_ARG, "data",
                       "loader: all %u slots are in use; release one before asking for the next",
                       l->desc.n_slots);
    } else {
        if (!l->filled[next]) {
            double start = vkt__now();
            while (!l->filled[next]) vkt__cond_wait(l->ready, l->lock);
            waited = vkt__now() - start;
        }
        st = l->failed;
        if (st == VKT_OK) {
            l->given++;
            *slot = next;
        }
    }
    vkt__mutex_unlock(l->lock);
    if (wait_s) *wait_s = waited;
    return st;
}

void vkt_loader_release(vkt_loader *l, uint32_t slot)
{
    vkt__mutex_lock(l->lock);
    VKT_ASSERT(l->released < l->given && slot == l->released % l->desc.n_slots);
    l->filled[slot] = false;
    l->released++;
    if (!l->alone) vkt__cond_broadcast(l->work);
    vkt__mutex_unlock(l->lock);
}
