/* vktrain predict: classes with probabilities, or the target's value, for raw inputs. */
#include <jansson.h>
#include <string.h>

#include "cli.h"
#include "prediction.h"

typedef struct predict_options {
    cli_options common;
    bool json, csv, uncalibrated;
    uint32_t top, tiles;
    double score;
    const char *tta, *out;
} predict_options;

#define AT(field) offsetof(predict_options, field)
static const cli_flag flags[] = {
    { "--top", CLI_UINT, AT(top), "K", "3",
      "number of classes to print, likeliest first (text and JSON); of several labels all that are "
      "predicted are printed" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL, "print one JSON object per line" },
    { "--tta", CLI_TEXT, AT(tta), "flips|N", NULL, CLI_TTA_HELP },
    { "--uncalibrated", CLI_BOOL, AT(uncalibrated), NULL, NULL,
      "the model's own probabilities, without the temperature and thresholds that the run fitted" },
    { "--out", CLI_TEXT, AT(out), "FOLDER", NULL,
      "masks and pictures: the folder for a PNG of each input, and of masks NAME-overlay.png; "
      "boxes: for NAME.txt as YOLO's, with the score at the end, and NAME.png with boxes drawn; "
      "points: for NAME.png with points drawn" },
    { "--score", CLI_NUMBER, AT(score), "X", NULL,
      "boxes: from which score on they are given (default: 0.3): a lower one finds more, and more "
      "that is wrong; points: the same (default: 0, all)" },
    { "--tiles", CLI_UINT, AT(tiles), "N", NULL,
      "masks and pictures: go over each picture at its own size, in tiles of the model's size that "
      "overlap by N pixels, in place of resizing it; seams are blended" },
    { "--csv", CLI_BOOL, AT(csv), NULL, NULL, "print CSV with a column for each class" },
    { 0 },
};

typedef struct printer {
    const predict_options *o;
    uint64_t n;
} printer;

static const char *class_name(const vkt_prediction *p, uint32_t i)
{
    return p->class_names ? p->class_names[i] : "";
}

/* The labels that are predicted, as the data has them: a|b. */
static void csv_label_set(const vkt_prediction *p)
{
    size_t bytes = 1;
    for (uint32_t i = 0; i < p->n; i++) bytes += strlen(class_name(p, i)) + 1;
    char *all = cli_zeros(bytes, 1), *at = all;
    for (uint32_t i = 0; i < p->n; i++)
        if (prediction_has(p, i)) at += sprintf(at, "%s%s", at > all ? "|" : "", class_name(p, i));
    cli_csv(stdout, all);
    free(all);
}

static void csv_heading(const vkt_prediction *p)
{
    printf("input,index");
    if (p->class_names || p->n == 1) printf(",predicted");
    for (uint32_t i = 0; i < p->n && (p->class_names || p->n > 1); i++) {
        if (p->outputs && p->outputs[i].n_classes) {
            putchar(',');
            cli_csv(stdout, p->outputs[i].label);
        }
        putchar(',');
        cli_csv(stdout, p->class_names              ? cli_text("p(%s)", class_name(p, i))
                        : prediction_of_class(p, i) ? cli_text("p(%s)", p->target_names[i])
                                                    : p->target_names[i]);
    }
    putchar('\n');
}

/* A row for each box. */
static void csv_boxes(const vkt_prediction *p, bool first)
{
    if (first) printf("input,class,score,left,top,right,bottom\n");
    for (uint32_t i = 0; i < p->n_boxes; i++) {
        const vkt_found_box *b = &p->boxes[i];
        cli_csv(stdout, p->input);
        putchar(',');
        cli_csv(stdout, class_name(p, b->label));
        printf(",%.6g,%.6g,%.6g,%.6g,%.6g\n", (double)b->score, b->box[0], b->box[1], b->box[2],
               b->box[3]);
    }
}

static bool is_found(const vkt_prediction *p, uint32_t k)
{
    return (double)p->points[k].score >= p->least_score;
}

/* A row for each picture, as data.source: points reads them; empty where no point is. */
static void csv_points(const vkt_prediction *p, bool first)
{
    for (uint32_t k = 0; k < p->n_points && first; k++) {
        if (!k) printf("file");
        for (const char *const *end = (const char *const[]) { "_x", "_y", "_score", NULL }; *end;
             end++) {
            putchar(',');
            cli_csv(stdout, cli_text("%s%s", class_name(p, k), *end));
        }
    }
    if (first) putchar('\n');
    cli_csv(stdout, p->input);
    for (uint32_t k = 0; k < p->n_points; k++) {
        const vkt_found_point *at = &p->points[k];
        if (is_found(p, k))
            printf(",%.6g,%.6g,%.4g", at->x, at->y, (double)at->score);
        else
            printf(",,,%.4g", (double)at->score);
    }
    putchar('\n');
}

static void print_csv(const vkt_prediction *p, bool first)
{
    if (p->points) {
        csv_points(p, first);
        return;
    }
    if (p->boxes) {
        csv_boxes(p, first);
        return;
    }
    int digits = prediction_digits(p);
    if (first) csv_heading(p);
    cli_csv(stdout, p->input);
    printf(",%llu", (unsigned long long)p->index);
    if (p->class_names) {
        putchar(',');
        if (p->threshold)
            csv_label_set(p);
        else
            cli_csv(stdout, class_name(p, p->predicted));
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->outputs && p->outputs[i].n_classes) {
            putchar(',');
            cli_csv(stdout, p->outputs[i + prediction_class(p, i, 0)].value);
        }
        if (p->class_names || prediction_of_class(p, i))
            printf(",%.6g", (double)p->value[i]);
        else
            printf(",%.*g", digits < 9 ? 9 : digits, prediction_number(p, i));
    }
    putchar('\n');
}

/* How many of the likeliest are shown: of several labels all that are predicted. */
static uint32_t n_shown(const vkt_prediction *p, uint32_t top)
{
    uint32_t n = 0;
    if (!p->threshold) return top < p->n ? top : p->n;
    for (uint32_t i = 0; i < p->n; i++) n += prediction_has(p, i);
    return n;
}

static void print_json(const vkt_prediction *p, uint32_t top)
{
    json_t *j = json_pack("{s:s, s:I}", "input", p->input, "index", (json_int_t)p->index);
    prediction_json(j, p, top);
    cli_json_print(j, JSON_COMPACT | JSON_REAL_PRECISION((size_t)prediction_digits(p)));
}

/* A line for each box. */
static void print_boxes(const vkt_prediction *p)
{
    putchar('\n');
    for (uint32_t i = 0; i < p->n_boxes; i++) {
        const vkt_found_box *b = &p->boxes[i];
        printf("  ");
        cli_put(stdout, class_name(p, b->label));
        printf(" %.1f%%  %.1f,%.1f to %.1f,%.1f\n", 100 * (double)b->score, b->box[0], b->box[1],
               b->box[2], b->box[3]);
    }
    if (!p->n_boxes) printf("  nothing\n");
}

/* A line for each point. */
static void print_points(const vkt_prediction *p)
{
    uint32_t n = 0;
    putchar('\n');
    for (uint32_t k = 0; k < p->n_points; k++) {
        const vkt_found_point *at = &p->points[k];
        if (!is_found(p, k)) continue;
        printf("  ");
        cli_put(stdout, class_name(p, k));
        printf(" %.1f%%  %.1f,%.1f\n", 100 * (double)at->score, at->x, at->y);
        n++;
    }
    if (!n) printf("  nothing\n");
}

/* The likeliest class of the label whose first output is k. */
static void print_label(const vkt_prediction *p, uint32_t k)
{
    uint32_t top = k + prediction_class(p, k, 0);
    printf("  ");
    cli_put(stdout, p->outputs[k].label);
    printf(" %s", cli_color(stdout, CLI_BOLD));
    cli_put(stdout, p->outputs[top].value);
    printf("%s %.1f%%", cli_color(stdout, CLI_PLAIN), 100 * (double)p->value[top]);
}

static void print_text(const vkt_prediction *p, uint32_t top)
{
    cli_put(stdout, p->input);
    if (!p->alone) printf("[%llu]", (unsigned long long)p->index);
    if (p->points) {
        print_points(p);
        return;
    }
    if (p->boxes) {
        print_boxes(p);
        return;
    }
    for (uint32_t i = 0; !p->class_names && i < p->n; i++) {
        if (prediction_of_class(p, i)) {
            if (p->outputs[i].n_classes) print_label(p, i);
            continue;
        }
        printf("  ");
        if (p->n > 1) {
            cli_put(stdout, p->target_names[i]);
            putchar(' ');
        }
        printf("%.*g", prediction_digits(p), prediction_number(p, i));
    }
    uint32_t n = p->class_names ? n_shown(p, top) : 0;
    if (p->threshold && !n) printf("  none of the %u labels", p->n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = prediction_ranked(p, i);
        printf("  %s", i ? "" : cli_color(stdout, CLI_BOLD));
        cli_put(stdout, class_name(p, k));
        printf("%s %.1f%%", i ? "" : cli_color(stdout, CLI_PLAIN), 100 * (double)p->value[k]);
    }
    putchar('\n');
}

static void on_prediction(void *user, const vkt_prediction *p)
{
    printer *s = user;
    if (s->o->csv)
        print_csv(p, s->n == 0);
    else if (s->o->json)
        print_json(p, s->o->top);
    else
        print_text(p, s->o->top);
    s->n++;
    if (!strcmp(p->input, "-")) fflush(stdout); /* rows may come one by one */
}

static int run(void *options)
{
    predict_options *o = options;
    printer s = { o, 0 };
    if (o->json && o->csv) {
        cli_error("predict: --json and --csv can't be used together");
        return CLI_USAGE;
    }
    if (o->score < 0 || o->score > 1) {
        cli_error("predict: --score is %g, must be above 0, at most 1", o->score);
        return CLI_USAGE;
    }
    if (!o->top) o->top = 1;
    vkt_predict_desc desc = { .gpu = o->common.gpu,
                              .checkpoint = o->common.args[0],
                              .inputs = o->common.args + 1,
                              .n_inputs = o->common.n_args - 1,
                              .uncalibrated = o->uncalibrated,
                              .out = o->out,
                              .least_score = o->score,
                              .tiles = o->tiles,
                              .fn = on_prediction,
                              .user = &s };
    if (!cli_tta("predict", o->tta, &desc.tta)) return CLI_USAGE;
    return cli_exit_code(vkt_predict(&desc));
}

const cli_command cmd_predict = {
    .name = "predict",
    .args = "RUN|CHECKPOINT INPUT...",
    .summary =
        "predict classes or labels with probabilities, numbers, boxes, points, masks or pictures",
    .details =
        "INPUT is a CSV file with the columns of the training data (the label may be missing, the "
        "delimiter may differ), a file of JSON lines ({\"COLUMN\": VALUE, ...}), an IDX file of "
        "images, a PNG, JPEG, BMP, GIF or WebP picture, or a folder of pictures. CSV and JSON "
        "lines may be "
        "gzipped, and - reads them from standard input, in constant memory. Pictures are "
        "converted to grey or RGB as the model needs, transparent parts become white, and they are "
        "resized to the model's size. A model of masks prints each class's share of the pixels, "
        "and --out writes the masks, at the pictures' own sizes. A detector prints its boxes, in "
        "pixels of the pictures, and so does a model of points its points, of a file of COCO's "
        "keypoints those of each annotation's box. A run folder stands for its best "
        "checkpoint.",
    .min_args = 2,
    .max_args = SIZE_MAX,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(predict_options),
    .run = run,
};
