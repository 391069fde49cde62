/* vktrain eval: a saved model on a split of its data, or on other data. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "cli.h"
#include "eval_tasks.h"

typedef struct eval_options {
    cli_options common;
    int cache;
    int split;
    bool json, raw;
    const char *predictions, *data, *confusion, *curves, *importance, *tta, *tasks;
    uint32_t batch, shuffles, context, tiles;
} eval_options;

#define AT(field) offsetof(eval_options, field)
static const cli_flag flags[] = {
    { "--split", CLI_CHOICE, AT(split), "train|valid|test", "test",
      "which examples of the run's own data to use" },
    { "--data", CLI_TEXT, AT(data), "PATH", "the run's own",
      "evaluate on all of this data instead: CSV, IDX images, text, or a folder, of the same "
      "kind" },
    { "--predictions", CLI_OUT, AT(predictions), "FILE.csv", NULL,
      "write the model's prediction for each example" },
    { "--confusion", CLI_TEXT, AT(confusion), "PATH", NULL,
      "write the confusion matrix to PATH.csv and PATH.png" },
    { "--curves", CLI_TEXT, AT(curves), "PATH", NULL,
      "write the points of ROC and precision-recall curves to PATH-ranking.csv, and how often "
      "probabilities are right to PATH-reliability.csv" },
    { "--importance", CLI_OUT, AT(importance), "FILE.csv", NULL,
      "of a table: write how much worse the model becomes when a column is shuffled among the "
      "rows" },
    { "--shuffles", CLI_UINT, AT(shuffles), "N", "10", "how often each column is shuffled" },
    { "--batch", CLI_UINT, AT(batch), "N", "0", "batch size; 0: the same as in the run" },
    { "--kv-cache", CLI_CHOICE, AT(cache), CLI_CACHE_TYPES, "f32",
      "with --tasks: " CLI_CACHE_HELP },
    { "--context", CLI_UINT, AT(context), "N", "0",
      "of a language model: tokens that it sees at a time; 0: the run's own, of a folder or a GGUF "
      "file at most 1024, with --tasks the model's, at most 4096" },
    { "--tta", CLI_TEXT, AT(tta), "flips|N", NULL, CLI_TTA_HELP },
    { "--tiles", CLI_UINT, AT(tiles), "N", NULL,
      "masks and pictures: measure at their own sizes, by tiles of the model's size that overlap "
      "by "
      "N pixels, in place of resizing them" },
    { "--tasks", CLI_TEXT, AT(tasks), "FILE.jsonl", NULL,
      "of a language model: questions with choices, answers or texts instead of data, a JSON "
      "object "
      "a line" },
    { "--raw", CLI_BOOL, AT(raw), NULL, NULL,
      "use the weights themselves, not their average (for runs with train.ema)" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL, "print JSON" },
    { 0 },
};

static void print_json(const eval_options *o, const vkt_eval_result *r, const char *split)
{
    json_t *classes = json_array(), *targets = json_array(), *thresholds = json_array();
    json_t *columns = json_array(), *losses = json_array();
    for (uint32_t i = 0; i < r->n_losses; i++)
        json_array_append_new(losses, json_pack("{s:s, s:o}", "name", r->losses[i].name, "loss",
                                                cli_json_number(r->losses[i].loss)));
    for (uint32_t i = 0; i < r->n_columns; i++)
        json_array_append_new(
            columns,
            json_pack("{s:s, s:o, s:o, s:s, s:o, s:o}", "name", r->columns[i].name, "loss_rise",
                      cli_json_number(r->columns[i].loss_rise), "loss_rise_std",
                      cli_json_number(r->columns[i].loss_rise_std), "score", r->column_score,
                      "score_fall", cli_json_number(r->columns[i].score_fall), "score_fall_std",
                      cli_json_number(r->columns[i].score_fall_std)));
    for (uint32_t i = 0; i < r->n_classes && r->threshold; i++)
        json_array_append_new(thresholds, cli_json_number((double)r->threshold[i]));
    for (uint32_t i = 0; i < r->n_classes && r->class_count; i++) {
        json_t *one =
            json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "name",
                      r->class_names ? r->class_names[i] : "", "n", (json_int_t)r->class_count[i],
                      "correct", (json_int_t)r->class_correct[i], "precision",
                      cli_json_number(r->points ? NAN : r->class_precision[i]), "recall",
                      cli_json_number(r->points ? NAN : r->class_recall[i]), "f1",
                      cli_json_number(r->points ? NAN : r->class_f1[i]), "average_precision",
                      cli_json_number(r->class_ap[i]), "iou",
                      cli_json_number(r->points ? NAN : r->class_iou[i]));
        if (r->points) {
            double n = (double)r->class_count[i];
            json_object_set_new(one, "pck", cli_json_number((double)r->class_correct[i] / n));
            json_object_set_new(one, "mean_error", cli_json_number(r->class_error[i]));
        }
        json_array_append_new(classes, one);
    }
    for (uint32_t k = 0; k < r->n_targets; k++)
        json_array_append_new(targets,
                              isnan(r->targets[k].accuracy)
                                  ? json_pack("{s:s, s:o, s:o, s:o}", "name", r->targets[k].name,
                                              "mae", cli_json_number(r->targets[k].mae), "rmse",
                                              cli_json_number(r->targets[k].rmse), "r2",
                                              cli_json_number(r->targets[k].r2))
                                  : json_pack("{s:s, s:o}", "name", r->targets[k].name, "accuracy",
                                              cli_json_number(r->targets[k].accuracy)));
    cli_json_print(
        json_pack(
            "{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
            "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
            "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
            "checkpoint", o->common.args[0], o->data ? "data" : "split", o->data ? o->data : split,
            "n", (json_int_t)r->n, "loss", cli_json_number(r->loss), "accuracy",
            cli_json_number(r->accuracy), "top5_accuracy", cli_json_number(r->top5),
            "balanced_accuracy", cli_json_number(r->balanced_accuracy), "macro_f1",
            cli_json_number(r->macro_f1), "micro_f1", cli_json_number(r->micro_f1), "roc_auc",
            cli_json_number(r->roc_auc), "average_precision", cli_json_number(r->average_precision),
            "ece", cli_json_number(r->ece), "mae", cli_json_number(r->mae), "rmse",
            cli_json_number(r->rmse), "r2", cli_json_number(r->r2), "perplexity",
            cli_json_number(r->perplexity), "bits_per_byte", cli_json_number(r->bits_per_byte),
            "rewards_chosen", cli_json_number(r->rewards_chosen), "rewards_rejected",
            cli_json_number(r->rewards_rejected), "rewards_margin",
            cli_json_number(r->rewards_margin), "context", (json_int_t)r->context, "classes",
            classes, "targets", targets, "temperature",
            cli_json_number(r->temperature > 0 ? r->temperature : NAN), "calibrated_ece",
            cli_json_number(r->calibrated_ece), "thresholds", thresholds, "importance", columns,
            "losses", losses, "mean_iou", cli_json_number(r->mean_iou), "psnr",
            cli_json_number(r->psnr), "ssim", cli_json_number(r->ssim), "map",
            cli_json_number(r->map), "map50", cli_json_number(r->map50), "oks_ap",
            cli_json_number(r->oks_ap), "pck", cli_json_number(r->pck), "point_error",
            cli_json_number(r->point_error), "instance_ap50", cli_json_number(r->instance_ap50)),
        JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

/* Several labels of an example: how many have each, how many of them were found. */
static void print_classes(const vkt_eval_result *r)
{
    static const cli_column
        class_col[] = { { "class", false, 32 },       { "examples", true, 0 },
                        { "correct", true, 0 },       { "precision", true, 0 },
                        { "recall", true, 0 },        { "F1", true, 0 },
                        { "avg. precision", true, 0 } },
        pixel_col[] = { { "class", false, 32 },   { "pixels", true, 0 }, { "correct", true, 0 },
                        { "precision", true, 0 }, { "recall", true, 0 }, { "Dice", true, 0 },
                        { "IoU", true, 0 } },
        box_col[] = { { "class", false, 32 },     { "boxes", true, 0 },  { "found", true, 0 },
                      { "precision", true, 0 },   { "recall", true, 0 }, { "AP 0.50", true, 0 },
                      { "AP 0.50:0.95", true, 0 } },
        instance_col[] = { { "class", false, 32 },       { "instances", true, 0 },
                           { "found", true, 0 },         { "precision", true, 0 },
                           { "recall", true, 0 },        { "F1", true, 0 },
                           { "avg. precision", true, 0 } },
        label_col[] = { { "label", false, 32 },       { "examples", true, 0 }, { "found", true, 0 },
                        { "precision", true, 0 },     { "recall", true, 0 },   { "F1", true, 0 },
                        { "avg. precision", true, 0 } };
    const cli_column *col = r->several     ? label_col
                            : r->boxes     ? box_col
                            : r->instances ? instance_col
                            : r->pixels    ? pixel_col
                                           : class_col;
    enum { COLUMNS = CLI_COUNT(class_col), NUMBERS = COLUMNS - 1 };
    char(*text)[NUMBERS][24] = cli_zeros(r->n_classes, sizeof *text);
    const char **cell = cli_zeros(COLUMNS * (size_t)r->n_classes, sizeof *cell);
    for (uint32_t i = 0; i < r->n_classes; i++) {
        const double score[] = { r->class_precision[i], r->class_recall[i],
                                 r->boxes && r->class_ap50 ? r->class_ap50[i] : r->class_f1[i],
                                 r->pixels ? r->class_iou[i] : r->class_ap[i] };
        snprintf(text[i][0], 24, "%s", cli_count(r->class_count[i]));
        snprintf(text[i][1], 24, "%s", cli_count(r->class_correct[i]));
        for (uint32_t k = 0; k < CLI_COUNT(score); k++)
            snprintf(text[i][2 + k], 24, "%s",
                     !isfinite(score[k])                 ? "-"
                     : k == 3 && !r->pixels && !r->boxes ? cli_number(score[k])
                                                         : cli_percent(score[k]));
        cell[COLUMNS * i] = r->class_names ? r->class_names[i] : "";
        for (uint32_t k = 0; k < NUMBERS; k++) cell[COLUMNS * i + 1 + k] = text[i][k];
    }
    putchar('\n');
    cli_table(stdout, col, COLUMNS, cell, r->n_classes);
    free(text);
    free(cell);
}

static void print_points(const vkt_eval_result *r)
{
    static const cli_column col[] = { { "point", false, 32 },
                                      { "there", true, 0 },
                                      { "right", true, 0 },
                                      { "PCK", true, 0 },
                                      { "mean error, pixels", true, 0 } };
    enum { COLUMNS = CLI_COUNT(col), NUMBERS = COLUMNS - 1 };
    char(*text)[NUMBERS][24] = cli_zeros(r->n_classes, sizeof *text);
    const char **cell = cli_zeros(COLUMNS * (size_t)r->n_classes, sizeof *cell);
    for (uint32_t i = 0; i < r->n_classes; i++) {
        bool any = r->class_count[i] > 0;
        snprintf(text[i][0], 24, "%s", cli_count(r->class_count[i]));
        snprintf(text[i][1], 24, "%s", cli_count(r->class_correct[i]));
        snprintf(text[i][2], 24, "%s", any ? cli_percent(r->class_recall[i]) : "-");
        snprintf(text[i][3], 24, "%s", any ? cli_number(r->class_error[i]) : "-");
        cell[COLUMNS * i] = r->class_names[i];
        for (uint32_t k = 0; k < NUMBERS; k++) cell[COLUMNS * i + 1 + k] = text[i][k];
    }
    putchar('\n');
    cli_table(stdout, col, COLUMNS, cell, r->n_classes);
    free(text);
    free(cell);
}

static void print_targets(const vkt_eval_result *r)
{
    static const cli_column col[] = { { "target", false, 32 },
                                      { "mean absolute error", true, 0 },
                                      { "RMSE", true, 0 },
                                      { "R2", true, 0 },
                                      { "accuracy", true, 0 } };
    enum { MOST = CLI_COUNT(col) };
    size_t n_columns = MOST - 1; /* without accuracies */
    for (uint32_t i = 0; i < r->n_targets; i++)
        if (isfinite(r->targets[i].accuracy)) n_columns = MOST;
    char(*text)[MOST - 1][24] = cli_zeros(r->n_targets, sizeof *text);
    const char **cell = cli_zeros(n_columns * r->n_targets, sizeof *cell);
    for (uint32_t i = 0; i < r->n_targets; i++) {
        const vkt_eval_target *t = &r->targets[i];
        const double score[] = { t->mae, t->rmse, t->r2, t->accuracy };
        cell[n_columns * i] = t->name;
        for (size_t k = 0; k < n_columns - 1; k++) {
            snprintf(text[i][k], 24, "%s",
                     !isfinite(score[k]) ? "-"
                     : k == MOST - 2     ? cli_percent(score[k])
                                         : cli_number(score[k]));
            cell[n_columns * i + 1 + k] = text[i][k];
        }
    }
    putchar('\n');
    cli_table(stdout, col, n_columns, cell, r->n_targets);
    free(text);
    free(cell);
}

static void print_columns(const vkt_eval_result *r)
{
    enum { COLUMNS = 3 };
    const cli_column col[COLUMNS] = { { "column shuffled", false, 32 },
                                      { "loss rises by", true, 0 },
                                      { cli_text("%s falls by", r->column_score), true, 0 } };
    const char **cell = cli_zeros(COLUMNS * (size_t)r->n_columns, sizeof *cell);
    char(*text)[2][64] = cli_zeros(r->n_columns, sizeof *text);
    for (uint32_t i = 0; i < r->n_columns; i++) {
        const vkt_eval_column *c = &r->columns[i];
        snprintf(text[i][0], 64, "%.4f +- %.4f", c->loss_rise, c->loss_rise_std);
        snprintf(text[i][1], 64, "%.4f +- %.4f", c->score_fall, c->score_fall_std);
        cell[COLUMNS * i] = c->name;
        for (uint32_t k = 0; k < 2; k++) cell[COLUMNS * i + 1 + k] = text[i][k];
    }
    printf("\nof %s examples, mean and standard deviation of the shuffles\n",
           cli_count(r->column_examples));
    cli_table(stdout, col, COLUMNS, cell, r->n_columns);
    free(text);
    free(cell);
}

static void print_losses(const vkt_eval_result *r)
{
    static const cli_column col[] = { { "loss of", false, 32 }, { "mean", true, 0 } };
    enum { COLUMNS = CLI_COUNT(col) };
    char(*text)[24] = cli_zeros(r->n_losses, sizeof *text);
    const char **cell = cli_zeros(COLUMNS * (size_t)r->n_losses, sizeof *cell);
    for (uint32_t i = 0; i < r->n_losses; i++) {
        double loss = r->losses[i].loss;
        snprintf(text[i], 24, "%s", isfinite(loss) ? cli_number(loss) : "-");
        cell[COLUMNS * i] = r->losses[i].name;
        cell[COLUMNS * i + 1] = text[i];
    }
    putchar('\n');
    cli_table(stdout, col, COLUMNS, cell, r->n_losses);
    free(text);
    free(cell);
}

static void print_text(const eval_options *o, const vkt_eval_result *r, const char *split)
{
    printf("%s%s%s: %s %s", cli_color(stdout, CLI_BOLD), o->data ? o->data : split,
           cli_color(stdout, CLI_PLAIN), cli_count(r->n),
           isfinite(r->rewards_margin) ? "preferences"
           : r->pixels                 ? "pixels"
           : r->context                ? cli_text("tokens in windows of %u", r->context)
           : r->boxes || r->instances  ? "pictures"
                                       : "examples");
    if (!o->tiles || r->pixels) printf(", loss %s", cli_number(r->loss)); /* else there is none */
    if (isfinite(r->accuracy))
        printf(", %s %s", r->several ? "all labels right" : "accuracy", cli_percent(r->accuracy));
    if (isfinite(r->mean_iou))
        printf(", mean IoU %s, mean Dice %s", cli_percent(r->mean_iou), cli_percent(r->macro_f1));
    if (isfinite(r->psnr)) printf(", PSNR %s dB", cli_number(r->psnr));
    if (isfinite(r->ssim)) printf(", SSIM %s", cli_number(r->ssim));
    if (isfinite(r->map))
        printf(", mAP %s, at IoU 0.50 %s", cli_percent(r->map), cli_percent(r->map50));
    if (r->points)
        printf(", OKS-AP %s, PCK@0.1 %s, mean error %s pixels", cli_percent(r->oks_ap),
               cli_percent(r->pck), cli_number(r->point_error));
    if (r->instances)
        printf(", instances: TP / (TP + FP + FN) at IoU 0.50 %s", cli_percent(r->instance_ap50));
    if (isfinite(r->top5)) printf(", top-5 %s", cli_percent(r->top5));
    if (isfinite(r->perplexity)) printf(", perplexity %s", cli_number(r->perplexity));
    if (isfinite(r->bits_per_byte)) printf(", %s bits per byte", cli_number(r->bits_per_byte));
    if (isfinite(r->rewards_margin))
        printf(", rewards: chosen %s, rejected %s, margin %s", cli_number(r->rewards_chosen),
               cli_number(r->rewards_rejected), cli_number(r->rewards_margin));
    if (isfinite(r->balanced_accuracy) && !r->pixels)
        printf(", balanced %s, macro F1 %s", cli_percent(r->balanced_accuracy),
               cli_percent(r->macro_f1));
    if (r->several)
        printf(", macro F1 %s, micro F1 %s", cli_percent(r->macro_f1), cli_percent(r->micro_f1));
    if (isfinite(r->roc_auc))
        printf(", ROC-AUC %s, average precision %s", cli_number(r->roc_auc),
               cli_number(r->average_precision));
    if (isfinite(r->ece)) printf(", calibration error %s", cli_percent(r->ece));
    if (isfinite(r->calibrated_ece))
        printf(" (%s with the temperature %s)", cli_percent(r->calibrated_ece),
               cli_number(r->temperature));
    if (isfinite(r->mae))
        printf(", mean absolute error %s, RMSE %s, R2 %s%s", cli_number(r->mae),
               cli_number(r->rmse), cli_number(r->r2), r->n_targets > 1 ? " (means)" : "");
    putchar('\n');
    if (r->n_losses && !o->common.quiet) print_losses(r);
    if (r->n_targets > 1 && !o->common.quiet) print_targets(r);
    if (r->points && !o->common.quiet)
        print_points(r);
    else if (r->n_classes && r->class_count && !o->common.quiet)
        print_classes(r);
    if (r->n_columns && !o->common.quiet) print_columns(r);
}

/* --confusion writes a table and a picture, --curves two tables. */
static int may_write(const eval_options *o)
{
    const struct {
        const char *path, *end;
    } files[] = { { o->confusion, ".csv" },
                  { o->confusion, ".png" },
                  { o->curves, "-ranking.csv" },
                  { o->curves, "-reliability.csv" } };
    int rc = CLI_OK;
    for (size_t i = 0; i < CLI_COUNT(files) && !rc; i++)
        if (files[i].path)
            rc = cli_may_write("eval", cli_text("%s%s", files[i].path, files[i].end),
                               o->common.force);
    return rc;
}

static int run(void *options)
{
    const eval_options *o = options;
    if (o->tasks) {
        if (o->data || o->predictions || o->confusion || o->curves || o->importance || o->tta ||
            o->batch || o->raw || o->tiles) {
            cli_error("eval: --tasks goes with --json and --context only");
            return CLI_USAGE;
        }
        vkt_text_desc model = { .gpu = o->common.gpu,
                                .checkpoint = o->common.args[0],
                                .context = o->context,
                                .cache = (vkt_dtype)o->cache };
        return eval_tasks(&model, o->tasks, o->json);
    }
    if (o->cache) {
        cli_error("eval: --kv-cache needs --tasks: a text is evaluated whole windows at a time");
        return CLI_USAGE;
    }
    int may = may_write(o);
    if (may) return may;
    vkt_eval_desc desc = {
        .gpu = o->common.gpu,
        .checkpoint = o->common.args[0],
        .data = o->data,
        .split = (vkt_split)o->split,
        .predictions = o->predictions,
        .confusion = o->confusion,
        .curves = o->curves,
        .importance = o->importance,
        .shuffles = o->shuffles,
        .batch = o->batch,
        .context = o->context,
        .raw = o->raw,
        .tiles = o->tiles,
    };
    vkt_eval_result r = { 0 };
    if (!cli_tta("eval", o->tta, &desc.tta)) return CLI_USAGE;
    vkt_status st = vkt_eval(&desc, &r);
    if (st == VKT_OK) {
        const char *split = vkt_split_name(desc.split);
        if (o->json)
            print_json(o, &r, split);
        else
            print_text(o, &r, split);
        if (o->predictions && !o->json)
            printf("%spredictions: %s\n", r.n_classes && !o->common.quiet ? "\n" : "",
                   o->predictions);
    }
    vkt_eval_result_finish(&r);
    return cli_exit_code(st);
}

const cli_command cmd_eval = {
    .name = "eval",
    .args = "RUN|CHECKPOINT|FOLDER|GGUF",
    .summary = "evaluate a saved model: loss, accuracy, scores of each class",
    .details = "A run folder stands for its best checkpoint.\n"
               "FOLDER is a Hugging Face model with its tokenizer, or a PEFT adapter, which is "
               "merged into its base model.\n"
               "tasks: {\"query\", \"choices\": [..], \"gold\": 0} takes the likeliest choice, "
               "also per byte; {\"prompt\", \"answer\"} compares the greedy text; {\"text\"} or "
               "{\"prompt\", \"completion\"} gives the loss; samples that lm-evaluation-harness "
               "logged are read, too. Each may have a \"category\".\n"
               "example: vktrain eval runs/try --split test --predictions what.csv",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(eval_options),
    .run = run,
};
