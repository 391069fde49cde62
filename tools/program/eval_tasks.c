/* vktrain eval --tasks: what a language model makes of questions, answers and texts, by category.
 */
#include "eval_tasks.h"

#include <jansson.h>
#include <math.h>

static double share(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : NAN;
}

typedef struct {
    double accuracy, per_byte, exact, loss, bits_per_byte;
} scores;

static scores scores_of(const vkt_tasks_group *g)
{
    return (scores) { share(g->n_likeliest, g->n_choices),
                      share(g->n_likeliest_per_byte, g->n_choices), share(g->n_exact, g->n_answers),
                      g->n_tokens ? g->loss / (double)g->n_tokens : NAN,
                      g->n_bytes ? g->loss / (double)g->n_bytes / log(2) : NAN };
}

static void print_json(const vkt_tasks_result *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->n; i++) {
        const vkt_tasks_group *g = &r->group[i];
        scores s = scores_of(g);
        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:o, s:o, s:I, s:o, s:I, s:I, s:o, s:o}", "category", g->name,
                      "questions", (json_int_t)g->n_choices, "acc", cli_json_number(s.accuracy),
                      "acc_norm", cli_json_number(s.per_byte), "answers", (json_int_t)g->n_answers,
                      "exact_match", cli_json_number(s.exact), "texts", (json_int_t)g->n_texts,
                      "tokens", (json_int_t)g->n_tokens, "loss", cli_json_number(s.loss),
                      "bits_per_byte", cli_json_number(s.bits_per_byte)));
    }
    cli_json_print(json_pack("{s:o}", "categories", list), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

static void print_table(const vkt_tasks_result *r)
{
    static const cli_column col[] = { { "category", false, 32 },   { "questions", true, 0 },
                                      { "acc", true, 0 },          { "acc_norm", true, 0 },
                                      { "answers", true, 0 },      { "exact match", true, 0 },
                                      { "tokens", true, 0 },       { "loss", true, 0 },
                                      { "bits per byte", true, 0 } };
    enum { COLUMNS = CLI_COUNT(col) };
    char(*text)[COLUMNS][24] = cli_zeros(r->n, sizeof *text);
    const char **cell = cli_zeros(COLUMNS * r->n, sizeof *cell);
    for (size_t i = 0; i < r->n; i++) {
        const vkt_tasks_group *g = &r->group[i];
        scores s = scores_of(g);
        const double value[COLUMNS] = {
            0,       (double)g->n_choices, s.accuracy, s.per_byte,     (double)g->n_answers,
            s.exact, (double)g->n_tokens,  s.loss,     s.bits_per_byte
        };
        for (uint32_t k = 1; k < COLUMNS; k++) {
            bool whole = k == 1 || k == 4 || k == 6, percent = k == 2 || k == 3 || k == 5;
            snprintf(text[i][k], 24, "%s",
                     !isfinite(value[k]) ? "-"
                     : whole             ? cli_count((uint64_t)value[k])
                     : percent           ? cli_percent(value[k])
                                         : cli_number(value[k]));
            cell[COLUMNS * i + k] = text[i][k];
        }
        cell[COLUMNS * i] = g->name;
    }
    cli_table(stdout, col, COLUMNS, cell, r->n);
    free(text);
    free(cell);
}

int eval_tasks(const vkt_text_desc *model, const char *path, bool json)
{
    vkt_tasks_result r = { 0 };
    vkt_status st = vkt_eval_tasks(model, path, &r);
    if (st == VKT_OK && json) print_json(&r);
    if (st == VKT_OK && !json) print_table(&r);
    vkt_tasks_result_finish(&r);
    return cli_exit_code(st);
}
