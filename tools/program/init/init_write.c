/* init_write.h */
#include <math.h>
#include <string.h>

#include "init_write.h"

uint64_t init_clamp(double v, double low, double high)
{
    return (uint64_t)fmin(fmax(v, low), high);
}

double init_steps(const init_data *d, double steps)
{
    enum { FEWEST = 20 };
    static const double times[] = { [INIT_PLAIN] = 1, [INIT_QUICK] = 0.2, [INIT_BEST] = 3 };
    return fmax(round(steps * times[d->effort]), fmin(steps, FEWEST));
}

/* Text in double quotes for YAML, escaped. */
void init_quoted(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        unsigned char b = (unsigned char)*s;
        if (b == '"' || b == '\\')
            fprintf(f, "\\%c", b);
        else if (b < 32 || b == 127)
            fprintf(f, "\\x%02x", b);
        else
            fputc(b, f);
    }
    fputc('"', f);
}

void init_write_head(FILE *f, const init_data *d, const char *name)
{
    fprintf(
        f,
        "# A starter recipe, written by `vktrain init`. It is simple on purpose: a small model and "
        "a common\n"
        "# optimizer. First see that it learns; then tune, in this order:\n"
        "#   vktrain train RECIPE                    does it learn, clearly better than chance?\n"
        "#   vktrain study batch-size RECIPE         speed: the largest batch size that still "
        "helps\n"
        "#   vktrain study lr RECIPE                 the learning rate, and whether training is "
        "stable above it\n"
        "#   vktrain study warmup|clip RECIPE        only if that says unstable\n"
        "#   vktrain study search RECIPE --space F   learning rate, decay, dropout and others "
        "together\n"
        "#   vktrain report RUN                      curves and findings: overfitting?\n");
    if (*d->changes) fprintf(f, "# %s.\n", d->changes);
    fprintf(f, "name: ");
    init_quoted(f, name);
    fprintf(
        f,
        "\nnote: first look         # why this run; `vktrain runs` shows it\ndata:\n  source: %s\n",
        d->source);
    if (d->path) {
        fprintf(f, "  path: ");
        init_quoted(f, d->path);
        fputc('\n', f);
    }
}

/* Label, task and what was counted: the end of the section data. */
void init_write_data(FILE *f, const init_data *d)
{
    bool classes = d->task == VKT_TASK_CLASSIFY;
    if (d->color != VKT_PICTURE_COLOR_AUTO)
        fprintf(f, "  color: %-17s# as the pretrained net takes them\n",
                d->color == VKT_PICTURE_COLOR_RGB ? "rgb" : "grey");
    if (d->standardize != VKT_STANDARDIZE_AUTO)
        fprintf(f, "  standardize: %-11s# the mean and deviation that the pretrained net %s\n",
                d->standardize == VKT_STANDARDIZE_NONE       ? "none"
                : d->standardize == VKT_STANDARDIZE_IMAGENET ? "imagenet"
                                                             : "symmetric",
                d->standardize == VKT_STANDARDIZE_NONE ? "begins with itself" : "was trained with");
    if (d->label) {
        fprintf(f, "  label: ");
        init_quoted(f, d->label);
        fprintf(f, "%s%s\n", *d->why ? "   # " : "", d->why);
    }
    if (d->label_classes) {
        fprintf(f, "  classes: ");
        init_quoted(f, d->label_classes);
        fprintf(f, "   # these labels are classes, each with a cross-entropy; the others are "
                   "numbers\n");
    }
    if (d->ignore) {
        fprintf(f, "  ignore: ");
        init_quoted(f, d->ignore);
        fputc('\n', f);
    }
    if (d->text) {
        fprintf(f, "  text: ");
        init_quoted(f, d->text);
        fprintf(f,
                "   # sentences, by a tokenizer that is trained on them\n"
                "  context: %-15u# tokens of a sentence that are read\n",
                d->context);
        if (d->vocab) fprintf(f, "  vocab: %-17u# tokens of the tokenizer\n", d->vocab);
        if (d->vocab && d->few_texts)
            fprintf(
                f, "  lowercase: true         # \"The\" and \"the\" are the same tokens: few texts "
                   "show a word in each form; false where capitals tell something\n");
    }
    if (d->embed) {
        fprintf(f, "  embed: ");
        init_quoted(f, d->embed);
        fprintf(f, "   # many different values: a vector is learned for each\n");
    }
    if (d->blanks)
        fprintf(f, "  missing: mean           # blank cells: numbers become the mean, texts a "
                   "category of their own\n");
    for (size_t i = 0; i < d->n_notes && i < INIT_MOST_NOTES; i++)
        fprintf(f, "  # %s\n", d->notes[i]);
    bool several = d->task == VKT_TASK_MULTILABEL;
    if (several)
        fprintf(f,
                "  task: multilabel        # each example has none, one or several labels: a|b\n");
    else if (d->task == VKT_TASK_DETECT)
        fprintf(f, "  task: detect            # boxes, each with a class\n");
    else if (d->task == VKT_TASK_POINTS)
        fprintf(f, "  task: points            # where named points lie\n");
    else if (d->task == VKT_TASK_INSTANCES)
        fprintf(f, "  task: instances         # which pixels belong to each of several things\n");
    else if (d->task == VKT_TASK_SEGMENT || d->task == VKT_TASK_PICTURE)
        fprintf(f, "  task: %s\n",
                d->task == VKT_TASK_SEGMENT ? "segment          # a class of each pixel"
                                            : "picture          # each picture becomes another");
    else if (!classes)
        fprintf(f, "  task: regress\n");
    if (d->skewed)
        fprintf(f,
                "  target: log             # positive and skewed; plain learns the number itself "
                "and predicts nearer to its mean\n");
    fprintf(f, "  # %llu training, %llu validation, %llu test examples of %u inputs\n",
            (unsigned long long)d->info.n[VKT_SPLIT_TRAIN],
            (unsigned long long)d->info.n[VKT_SPLIT_VALID],
            (unsigned long long)d->info.n[VKT_SPLIT_TEST], d->info.n_inputs);
    bool points = d->task == VKT_TASK_POINTS;
    if (classes || several || d->task == VKT_TASK_SEGMENT || d->task == VKT_TASK_DETECT || points)
        fprintf(f, "  # %u %s: %.150s\n", d->info.n_outputs,
                several  ? "labels"
                : points ? "points"
                         : "classes",
                d->classes);
    fprintf(f,
            "  valid_fraction: 0.1     # not trained on: selects the checkpoint, judges what you "
            "tune\n");
}

void init_write_run(FILE *f, const init_data *d, const init_length *l)
{
    double n = (double)d->info.n[VKT_SPLIT_TRAIN], valid = (double)d->info.n[VKT_SPLIT_VALID];
    double epoch = fmax(n / (double)l->batch, 1);
    uint64_t steps =
                 (uint64_t)init_steps(d, (double)init_clamp(l->passes * epoch, l->least, l->most)),
             batch = l->batch,
             every = l->evaluations ? init_clamp((double)(steps / l->evaluations), 1, 1e9)
                     : l->patience  ? init_clamp((double)steps / 80, 10, 1e9)
                                    : init_clamp((double)steps / 20, 10, epoch > 10 ? epoch : 10);
    fprintf(f,
            "train:\n"
            "  steps: %llu              # %.3g passes over the data; longer runs are better and "
            "slower to tune\n"
            "  batch: %llu               # for speed, not for accuracy: vktrain study batch-size\n",
            (unsigned long long)steps, (double)steps / epoch, (unsigned long long)batch);
    if (l->patience)
        fprintf(
            f,
            "  patience: %u            # it ends earlier, after this many evaluations without a "
            "better one\n",
            l->patience);
    fprintf(f,
            "eval:\n"
            "  every: %llu               # steps\n",
            (unsigned long long)every);
    if (d->task == VKT_TASK_CLASSIFY && valid < (l->enough > 0 ? l->enough : 1000))
        fprintf(f,
                "checkpoint:\n  metric: loss            # %.0f validation examples: accuracy would "
                "come in steps of %.2g%%\n",
                valid, 100 / fmax(valid, 1));
}

uint64_t init_batch_for(double n)
{
    uint64_t batch = 8;
    while (batch < 64 && 20.0 * (double)batch < n) batch *= 2;
    return batch;
}
