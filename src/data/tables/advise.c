/* What a recipe for a table would best say: which column is the label, which are left out, what is
 * to be done with blank cells. Only `vktrain init` and `inspect` ask; nothing of it is done where a
 * recipe does not say so. */
#include <math.h>

#include "base/in_threads.h"
#include "data/tables/csv.h"
#include "data/tables/json_table.h"
#include "data/tables/look.h"
#include "data/tables/column_stats.h"
#include "data/tables/table.h"
#include "data/tables/tells.h"

typedef struct advice {
    vkt_table_advice out; /* first */
    vkt__arena arena;
    bool *is_label; /* [n_columns] */
    size_t n_labels;
} advice;

/* How surely a column's name says that it is the label: 2, or 1 where it may be a property as well;
 * 0: not at all. */
static int named_label(const char *name)
{
    static const struct {
        const char *word;
        int how;
    } words[] = { { "label", 2 },   { "labels", 2 },   { "target", 2 },    { "outcome", 2 },
                  { "y", 2 },       { "tags", 2 },     { "survived", 2 },  { "churn", 2 },
                  { "churned", 2 }, { "default", 2 },  { "diagnosis", 2 }, { "class", 1 },
                  { "classes", 1 }, { "category", 1 }, { "species", 1 } };
    for (size_t i = 0; i < VKT_COUNT(words); i++)
        if (vkt__same_word(name, words[i].word)) return words[i].how;
    return 0;
}

/* The one column whose name says so most surely, else the last. */
static size_t find_label(const vkt__csv *csv, bool header, const char **why)
{
    for (int how = 2; how > 0 && header; how--) {
        size_t found = csv->n_columns, n = 0;
        for (size_t c = 0; c < csv->n_columns; c++)
            if (named_label(vkt__csv_cell(csv, 0, c)) == how) found = c, n++;
        *why = "by its name";
        if (n == 1) return found;
        if (n > 1) break;
    }
    *why = "the last column";
    return csv->n_columns - 1;
}

static bool is_given(const vkt__csv *csv, bool header, const char *label, size_t c)
{
    char position[32];
    snprintf(position, sizeof position, "%zu", c);
    return (header && strcmp(vkt__csv_cell(csv, 0, c), label) == 0) || strcmp(position, label) == 0;
}

/* As data.label and data.ignore take it: the name, or the position where there is none that could
 * be given in a list. */
static const char *handle(const vkt__csv *csv, bool header, size_t c, vkt__arena *a)
{
    const char *name = header ? vkt__csv_cell(csv, 0, c) : "";
    bool plain = *name && !vkt__csv_missing(name) && !strchr(name, ',') && *name != ' ';
    return plain ? vkt__arena_strdup(a, name) : vkt__arena_printf(a, "%zu", c);
}

/* By name, else by position; n_columns: it is none. */
static size_t find_given(const vkt__csv *csv, bool header, const char *label)
{
    size_t c = 0, at = 0;
    while (header && c < csv->n_columns && strcmp(vkt__csv_cell(csv, 0, c), label) != 0) c++;
    if (header && c < csv->n_columns) return c;
    while (at < csv->n_columns && !is_given(csv, header, label, at)) at++;
    return at;
}

/* Columns that `given` names: one, or a list as "a, b, 3". Returns the first of it; without any the
 * one that is found is the label. */
static size_t take_labels(advice *a, const vkt__csv *csv, bool header, const char *given)
{
    size_t found = find_label(csv, header, &a->out.why),
           first = given ? find_given(csv, header, given) : csv->n_columns;
    a->is_label = vkt__arena_alloc(&a->arena, csv->n_columns * sizeof *a->is_label);
    for (const char *p = first < csv->n_columns ? NULL : given; p && *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ","), end = n;
        while (end && p[end - 1] == ' ') end--;
        size_t c = find_given(csv, header, vkt__arena_printf(&a->arena, "%.*s", (int)end, p));
        p += n;
        if (c == csv->n_columns) continue;
        if (first == csv->n_columns) first = c;
        a->is_label[c] = true;
    }
    if (first < csv->n_columns) found = first, a->out.why = "as given";
    a->is_label[found] = true;
    for (size_t c = 0; c < csv->n_columns; c++) a->n_labels += a->is_label[c];
    return found;
}

/* The labels of texts, where there are several labels. */
static void advise_classes(advice *a, const vkt__csv *csv, bool header, const vkt__look *looks)
{
    vkt__str classes = { 0 };
    for (size_t c = 0; c < csv->n_columns; c++)
        if (a->is_label[c] && looks[c].n && looks[c].form == VKT__FORM_TEXT)
            vkt__str_printf(&classes, "%s%s", classes.len ? ", " : "",
                            handle(csv, header, c, &a->arena));
    a->out.several_columns = a->n_labels > 1;
    if (a->n_labels > 1 && classes.len) a->out.classes = vkt__arena_strdup(&a->arena, classes.data);
    vkt__str_finish(&classes);
}

static bool to_predict(const vkt__look *k, uint32_t n)
{
    bool number = k->form < VKT__FORM_YEAR_FIRST;
    return number && k->n_distinct > 20 && (k->n_distinct > n / 20 || !k->whole);
}

/* Few whole numbers, one beside the other, are classes or counts: only who asks can know. */
static bool may_be_counts(const vkt__look *k, bool numbers)
{
    enum { FEWEST = 5 };
    return !numbers && k->form == VKT__FORM_PLAIN && k->whole && k->n_distinct >= FEWEST &&
           k->high - k->low < 2.0 * k->n_distinct && !k->code && !k->wide;
}

/* One cell in ten holds several labels. */
static bool has_sets(const vkt__csv *csv, bool header, size_t label)
{
    size_t n = csv->n_rows - header, n_sets = 0;
    for (size_t r = header; r < csv->n_rows; r++)
        n_sets += strchr(vkt__csv_cell(csv, r, label), '|') != NULL;
    return n_sets > 1 && 10 * n_sets >= n;
}

/* Words of the column's cells: their mean, and *most of 19 in 20 of them. */
static double count_words(const vkt__csv *csv, bool header, size_t c, uint32_t *most)
{
    enum { MOST = 2048 };
    uint32_t count[MOST] = { 0 };
    uint64_t n = 0, total = 0, above = 0;
    for (size_t r = header; r < csv->n_rows; r++) {
        const char *p = vkt__csv_cell(csv, r, c);
        uint32_t words = 0;
        if (vkt__csv_missing(p)) continue;
        for (p += strspn(p, " \t\n"); *p; p += strspn(p, " \t\n"), words++)
            p += strcspn(p, " \t\n");
        count[VKT_MIN(words, MOST - 1)]++;
        total += words;
        n++;
    }
    for (*most = MOST - 1; *most > 1 && 20 * (above + count[*most]) <= n; (*most)--)
        above += count[*most];
    return (double)total / (double)VKT_MAX(n, 1);
}

/* Texts with this many words on average are sentences rather than names. A column of them is the
 * input where few other columns could be. */
enum { SENTENCE_WORDS = 5, MOST_OTHERS = 2 };

static void find_sentences(advice *a, const vkt__csv *csv, bool header, const vkt__look *looks,
                           const char *given)
{
    size_t n_others = 0, found = csv->n_columns;
    double most = SENTENCE_WORDS;
    for (size_t c = 0; c < csv->n_columns; c++) {
        uint32_t longest;
        if (a->is_label[c]) continue;
        const char *name = header ? vkt__csv_cell(csv, 0, c) : "";
        bool different = looks[c].form == VKT__FORM_TEXT && looks[c].n_distinct > 20 &&
                         looks[c].n_distinct > looks[c].n / 3;
        double words = different ? count_words(csv, header, c, &longest) : 0;
        if (words < most) {
            n_others += !different && !vkt__look_useless(&looks[c], name, &a->arena);
            continue;
        }
        found = c;
        most = words;
        a->out.most_words = longest;
    }
    for (size_t c = 0; given && c < csv->n_columns; c++)
        if (is_given(csv, header, given, c))
            count_words(csv, header, found = c, &a->out.most_words);
    if (found == csv->n_columns) return;
    const char *it = handle(csv, header, found, &a->arena);
    if (given || n_others <= MOST_OTHERS)
        a->out.text = it;
    else
        a->out.sentences = it;
}

/* What is left out is said once: data.text takes its column alone. */
static void advise_text(advice *a, const vkt__csv *csv, bool header, const vkt__look *looks)
{
    vkt__str others = { 0 };
    for (size_t c = 0; c < csv->n_columns; c++) {
        const char *it = handle(csv, header, c, &a->arena);
        if (a->is_label[c]) continue;
        if (strcmp(it, a->out.text) != 0)
            vkt__str_printf(&others, "%s'%s'", others.len ? ", " : "", vkt__show(it).s);
        else
            a->out.blanks |= looks[c].n_blank > 0;
    }
    if (others.len) {
        const char **notes = vkt__arena_alloc(&a->arena, sizeof *notes);
        notes[a->out.n_notes++] =
            vkt__arena_printf(&a->arena, "left out, since the sentences of '%s' are the input: %s",
                              vkt__show(a->out.text).s, others.data);
        a->out.notes = notes;
    }
    vkt__str_finish(&others);
}

/* A text column with this many different values, or more, is embedded. */
enum { EMBED_FROM = 33 };

static void advise(advice *a, const vkt__csv *csv, bool header, size_t label,
                   const vkt__look *looks, const char *given)
{
    vkt__str ignore = { 0 }, embed = { 0 };
    uint32_t n_rows = looks[label].n + looks[label].n_blank;
    find_sentences(a, csv, header, looks, given);
    advise_classes(a, csv, header, looks);
    const char **notes = vkt__arena_alloc(&a->arena, (csv->n_columns + 1) * sizeof *notes);
    a->out.label = handle(csv, header, label, &a->arena);
    a->out.numbers = to_predict(&looks[label], n_rows);
    a->out.several = looks[label].form == VKT__FORM_TEXT && has_sets(csv, header, label);
    for (size_t c = 0; c < csv->n_columns; c++) /* a blank cell of several labels has none */
        a->out.blanks |= a->is_label[c] && looks[c].n_blank > 0 && !a->out.several;
    if (a->out.text) {
        advise_text(a, csv, header, looks);
        return;
    }
    for (size_t c = 0; c < csv->n_columns; c++) {
        if (a->is_label[c]) continue;
        bool named = header && *vkt__csv_cell(csv, 0, c);
        const char *it = handle(csv, header, c, &a->arena),
                   *name = named ? vkt__csv_cell(csv, 0, c)
                                 : vkt__arena_printf(&a->arena, "column %zu", c),
                   *why = vkt__look_useless(&looks[c], name, &a->arena);
        a->out.blanks |= !why && looks[c].n_blank > 0;
        if (!why && looks[c].form == VKT__FORM_TEXT && looks[c].n_distinct >= EMBED_FROM) {
            vkt__str_printf(&embed, "%s%s", embed.len ? ", " : "", it);
            a->out.most_values = VKT_MAX(a->out.most_values, looks[c].n_distinct);
        }
        if (!why) continue;
        vkt__str_printf(&ignore, "%s%s", ignore.len ? ", " : "", it);
        const char *who = named    ? vkt__arena_printf(&a->arena, "column '%s'", vkt__show(name).s)
                          : header ? vkt__arena_printf(&a->arena, "%s, which has no name,", name)
                                   : name;
        notes[a->out.n_notes++] =
            vkt__arena_printf(&a->arena, "%s is left out: %s%s", who, why,
                              a->out.sentences && strcmp(it, a->out.sentences) == 0
                                  ? "; --set data.text takes it, alone, as sentences"
                                  : "");
    }
    /* Where none would be left, all are inputs; opening says what is odd about them. */
    if (a->out.n_notes == csv->n_columns - a->n_labels) {
        ignore.len = 0;
        a->out.n_notes = 0;
    }
    if (a->n_labels == 1 && may_be_counts(&looks[label], a->out.numbers))
        notes[a->out.n_notes++] = vkt__arena_printf(
            &a->arena,
            "label '%s': its %u whole numbers, %.6g to %.6g, are classes; if they are counts or "
            "amounts, --task regress predicts the number",
            vkt__show(a->out.label).s, looks[label].n_distinct, looks[label].low,
            looks[label].high);
    a->out.notes = notes;
    if (ignore.len) a->out.ignore = vkt__arena_strdup(&a->arena, ignore.data);
    if (embed.len) a->out.embed = vkt__arena_strdup(&a->arena, embed.data);
    vkt__str_finish(&ignore);
    vkt__str_finish(&embed);
}

/* ---- what columns give away ---- */

enum { MOST_COMPARED = 20000000 }; /* cells: of larger tables an even spread of the rows */
static const double tells_classes = VKT__TELLS_LEAST, tells_numbers = 0.9999;

/* The share of rows that must go by the column for a note; numbers may be an identifier as well. */
static const char *odd_column(const advice *a, const vkt__look *k, const char *name, double share,
                              vkt__arena *arena)
{
    if (share >= (a->out.numbers ? tells_numbers : tells_classes))
        return a->out.numbers
                   ? vkt__arena_printf(
                         arena,
                         "column '%s' tells the label alone (correlation %.6g): if it "
                         "is not known before the label is, add it to data.ignore",
                         vkt__show(name).s, share)
                   : vkt__arena_printf(arena,
                                       "column '%s' tells the label alone (%.4g%% of the rows): if "
                                       "it is not known before the label is, add it to data.ignore",
                                       vkt__show(name).s, 100 * share);
    if (k->numbered)
        return vkt__arena_printf(arena,
                                 "column '%s' may number the rows: %u different whole numbers, "
                                 "%.6g to %.6g; if they are names, add it to data.ignore",
                                 vkt__show(name).s, k->n, k->low, k->high);
    return NULL;
}

/* What columns tell is counted by threads. */
typedef struct counting {
    const vkt__tells_label *of;
    const vkt__look *looks;
    double *share;   /* [n_columns] */
    vkt_status *st;  /* [n_columns] */
    const bool *out; /* [n_columns] it is not asked for */
} counting;
enum { CELLS_FOR_THREADS = 1 << 16 };

static void count_column(void *user, uint32_t thread, uint32_t c)
{
    const counting *k = user;
    (void)thread;
    if (!k->out[c]) k->st[c] = vkt__tells(k->of, c, k->looks[c].form, &k->share[c]);
}

/* Notes on columns that are inputs and should perhaps not be. rows [n], after the header. */
static vkt_status look_for_leaks(advice *a, const vkt__csv *csv, bool header, size_t label,
                                 const vkt__look *looks, uint32_t *rows, uint32_t n)
{
    vkt_status st = VKT_OK;
    uint64_t each = 1 + (uint64_t)n * csv->n_columns / MOST_COMPARED;
    uint32_t n_rows = 0;
    const char **notes = NULL;
    vkt__tells_label *of = NULL;
    if (a->out.text || a->out.several) return VKT_OK;
    for (uint64_t i = 0; i < n; i += each) rows[n_rows++] = rows[i];
    VKT_TRY(vkt__tells_label_read(csv, rows, n_rows, label,
                                  a->out.numbers ? looks[label].form : VKT__FORM_TEXT, &of));
    notes = vkt__arena_alloc(&a->arena, (csv->n_columns + a->out.n_notes + 1) * sizeof *notes);
    for (uint32_t i = 0; i < a->out.n_notes; i++) notes[i] = a->out.notes[i];
    a->out.notes = notes;
    const char **names = vkt__arena_alloc(&a->arena, csv->n_columns * sizeof *names);
    bool *left_out = vkt__arena_alloc(&a->arena, csv->n_columns);
    counting k = { of, looks, vkt__arena_alloc(&a->arena, csv->n_columns * sizeof *k.share),
                   vkt__arena_alloc(&a->arena, csv->n_columns * sizeof *k.st), left_out };
    for (size_t c = 0; c < csv->n_columns; c++) {
        names[c] = header && *vkt__csv_cell(csv, 0, c)
                       ? vkt__csv_cell(csv, 0, c)
                       : vkt__arena_printf(&a->arena, "column %zu", c);
        left_out[c] = a->is_label[c] || vkt__look_useless(&looks[c], names[c], &a->arena);
    }
    bool few = (uint64_t)n_rows * csv->n_columns < CELLS_FOR_THREADS;
    vkt__in_threads((uint32_t)csv->n_columns, few ? 1 : vkt__threads_for(csv->n_columns, 4),
                    count_column, &k);
    for (size_t c = 0; c < csv->n_columns; c++) {
        if (left_out[c]) continue;
        if (k.st[c] != VKT_OK) VKT_TRY(vkt__tells(of, c, looks[c].form, &k.share[c]));
        const char *said = odd_column(a, &looks[c], names[c], k.share[c], &a->arena);
        if (said) notes[a->out.n_notes++] = said;
    }
fail:
    vkt__tells_label_free(&of);
    return st;
}

/* Labels far away from all others, if it is a number. */
static vkt_status count_far_labels(advice *a, const vkt__csv *csv, bool header, size_t label,
                                   vkt__form form)
{
    vkt_status st = VKT_OK;
    double *v = NULL, median, quartiles, n_far;
    uint64_t n = 0;
    if (!a->out.numbers) return VKT_OK;
    VKT_TRY(vkt__alloc_large(csv->n_rows, sizeof *v, "labels", &v));
    for (size_t r = header; r < csv->n_rows; r++)
        n += vkt__form_value(form, VKT__DATE_WHOLE, vkt__csv_cell(csv, r, label), &v[n]);
    n_far = vkt__stats_far(v, n, &median, &quartiles);
    a->out.n_far_labels = isnan(n_far) ? 0 : (uint32_t)n_far;
    a->out.skewed = n > 0 && !isnan(n_far) && vkt__stats_skewed(v, n);
fail:
    free(v);
    return st;
}

static void describe(advice *a, const vkt__csv *csv, bool header, const vkt__look *looks)
{
    vkt_table_column *col = vkt__arena_alloc(&a->arena, csv->n_columns * sizeof *col);
    for (size_t c = 0; c < csv->n_columns; c++) {
        const vkt__look *k = &looks[c];
        bool text = k->form == VKT__FORM_TEXT, date = !text && vkt__form_is_date(k->form);
        col[c] = (vkt_table_column) {
            .name = header ? vkt__arena_strdup(&a->arena, vkt__csv_cell(csv, 0, c)) : NULL,
            .kind = !k->n  ? "empty"
                    : text ? "text"
                    : date ? "date"
                           : "number",
            .form = !k->n || text || k->form == VKT__FORM_PLAIN ? NULL : vkt__form_name(k->form),
            .low = k->low,
            .high = k->high,
            .n_blank = k->n_blank,
        };
    }
    a->out.columns = col;
    a->out.n_columns = (uint32_t)csv->n_columns;
    a->out.n_rows = csv->n_rows - header;
    a->out.header = header;
    a->out.delimiter = csv->named ? 0 : csv->delimiter;
}

vkt_status vkt_table_advise(const vkt_data_desc *desc, vkt_table_advice **out)
{
    vkt_status st;
    advice *a = vkt__alloc(sizeof *a);
    char *bytes = NULL;
    size_t n;
    vkt__csv csv = { 0 };
    vkt__look *looks = NULL;
    uint32_t *rows = NULL;
    *out = NULL;
    VKT_TRY(vkt__file_read(desc->path, VKT__CSV_LIMIT, &bytes, &n));
    VKT_TRY(vkt__table_parse(bytes, n, desc->path, desc->delimiter, true, &csv));
    free(bytes);
    bytes = NULL;
    const char *given = desc->label && strcmp(desc->label, "last") != 0 ? desc->label : NULL;
    bool header = csv.named || (desc->header && strcmp(desc->header, "auto") != 0
                                    ? strcmp(desc->header, "yes") == 0
                                    : vkt__table_has_header(&csv, given));
    if (csv.n_rows == header) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has a header but no rows", csv.name);
        goto fail;
    }
    if (header) VKT_TRY(vkt__csv_number_names(&csv, true)); /* opening says so */
    size_t label = take_labels(a, &csv, header, given);
    VKT_TRY(vkt__alloc_large(csv.n_rows, sizeof *rows, "rows", &rows));
    VKT_TRY(vkt__alloc_large(csv.n_columns, sizeof *looks, "columns", &looks));
    for (size_t r = header; r < csv.n_rows; r++) rows[r - header] = (uint32_t)r;
    VKT_TRY(vkt__look_at(&csv, rows, (uint32_t)(csv.n_rows - header), label, looks, &csv));
    advise(a, &csv, header, label, looks, desc->text);
    VKT_TRY(count_far_labels(a, &csv, header, label, looks[label].form));
    VKT_TRY(look_for_leaks(a, &csv, header, label, looks, rows, (uint32_t)(csv.n_rows - header)));
    describe(a, &csv, header, looks);
    *out = &a->out;
    a = NULL;
fail:
    if (a) vkt__arena_finish(&a->arena);
    free(a);
    free(bytes);
    free(rows);
    free(looks);
    vkt__csv_finish(&csv);
    return st;
}

void vkt_table_advice_destroy(vkt_table_advice **p)
{
    advice *a = (advice *)*p;
    if (!a) return;
    vkt__arena_finish(&a->arena);
    free(a);
    *p = NULL;
}
