/* What a run says under a key, and which runs are shown in what order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runs_table.h"

#define TEXT(name, field)                                                                          \
    {                                                                                              \
        name, offsetof(vkt_run_info, field), 't'                                                   \
    }
#define COUNT(name, field)                                                                         \
    {                                                                                              \
        name, offsetof(vkt_run_info, field), 'c'                                                   \
    }
#define NUMBER(name, field)                                                                        \
    {                                                                                              \
        name, offsetof(vkt_run_info, field), 'n'                                                   \
    }
static const runs_field fields[] = {
    TEXT("run", dir),
    TEXT("name", name),
    TEXT("status", status),
    COUNT("step", step),
    COUNT("total", total),
    TEXT("metric", metric),
    NUMBER("best", best_metric),
    NUMBER("test_accuracy", test_accuracy),
    NUMBER("items_per_s", items_per_s),
    TEXT("started", started),
    TEXT("device", device),
    TEXT("note", note),
    TEXT("command", command),
    TEXT("error", error),
    NUMBER("test_mae", test_mae),
    COUNT("best_step", best_step),
    NUMBER("test_loss", test_loss),
    NUMBER("seconds", seconds),
    TEXT("recipe", recipe),
    TEXT("commit", commit),
    TEXT("changes", changes),
    COUNT("parameters", n_params),
    COUNT("ranks", ranks),
    NUMBER("exchange_share", exchange_share),
    NUMBER("exchange_overlap", exchange_overlap),
    TEXT("baseline", baseline),
    TEXT("baseline_verdict", baseline_verdict),
    NUMBER("baseline_metric", baseline_metric),
    NUMBER("baseline_error", baseline_error),
};

const runs_field *runs_fields(size_t *n)
{
    *n = CLI_COUNT(fields);
    return fields;
}

int runs_find_key(const char *key)
{
    vkt_option_info o;
    for (size_t i = 0; i < CLI_COUNT(fields); i++)
        if (!strcmp(fields[i].name, key)) return (int)i;
    for (size_t i = 0; vkt_option(i, &o); i++)
        if (!strcmp(o.name, key)) return (int)(CLI_COUNT(fields) + i);
    return -1;
}

int runs_known_key(const char *key, int *out)
{
    const char *names[CLI_COUNT(fields) + 200];
    size_t n = 0;
    vkt_option_info o;
    *out = runs_find_key(key);
    if (*out >= 0) return 0;
    for (; n < CLI_COUNT(fields); n++) names[n] = fields[n].name;
    for (size_t i = 0; i < 200 && vkt_option(i, &o); i++) names[n++] = o.name;
    cli_error("runs: '%s' is neither a field of a run nor an option of a recipe%s", key,
              vkt_did_you_mean(key, names, n).text);
    return CLI_USAGE;
}

const vkt_config *runs_config(row *x)
{
    if (x->tried || !x->r->config) return x->config;
    x->tried = true;
    if (vkt_config_create(&x->config) == VKT_OK &&
        vkt_config_parse(x->config, x->r->config, strlen(x->r->config), x->r->dir) != VKT_OK)
        vkt_config_destroy(&x->config);
    return x->config;
}

/* Whether a value is written as it would be printed: not 0.10 or 0.00001, yes or on. */
static bool is_printed_so(const char *v)
{
    static const char *const others[] = { "yes", "no", "on", "off" };
    char *end, again[64];
    double number = strtod(v, &end);
    for (size_t i = 0; i < CLI_COUNT(others); i++)
        if (!strcmp(v, others[i])) return false;
    if (end == v || *end) return v[0] == '"' || (v[0] >= 'a' && v[0] <= 'z');
    snprintf(again, sizeof again, "%.0f", fabs(number) < 1e15 ? number : 0);
    bool same = !strcmp(again, v);
    for (int digits = 1; digits <= 9 && !same; digits++) {
        snprintf(again, sizeof again, "%.*g", digits, number);
        same = !strcmp(again, v);
    }
    return same;
}

/* The value of the option as a configuration of its own prints it, NAME: VALUE on a line below its
 * sections. False: it is not there so, and the whole text must be read. */
static bool value_in_text(const char *at, const char *name, char *out, size_t n)
{
    for (size_t indent = 0;; indent += 2) {
        size_t word = strcspn(name, ".");
        for (;; at += strcspn(at, "\n"), at += *at == '\n') {
            size_t blanks = strspn(at, " ");
            if (!*at || blanks < indent) return false;
            if (blanks == indent && !strncmp(at + indent, name, word) && at[indent + word] == ':')
                break;
        }
        at += indent + word + 1;
        size_t len = strcspn(at, "\n");
        const char *next = at + len + (at[len] == '\n');
        if (!name[word]) {
            bool more = strspn(next, " ") > indent;
            if (len < 2 || len > n || *at != ' ' || strchr("|>&*!#", at[1]) || more) return false;
            snprintf(out, n, "%.*s", (int)len - 1, at + 1);
            return !strstr(out, " #") && is_printed_so(out);
        }
        if (len) return false;
        name += word + 1;
        at = next;
    }
}

/* Without its quotes. */
static void bare(const char *v, char *out, size_t n)
{
    size_t quoted = v[0] == '"' && v[strlen(v) - 1] == '"' && strlen(v) > 1;
    snprintf(out, n, "%.*s", (int)(strlen(v) - 2 * quoted), v + quoted);
}

/* The value of a recipe's option. No configuration is kept: there may be tens of thousands of runs.
 */
static void option_value(row *x, size_t i, char *out, size_t n)
{
    char text[600];
    vkt_option_info o;
    if (x->r->config && vkt_option(i, &o) &&
        value_in_text(x->r->config, o.name, text, sizeof text)) {
        bare(text, out, n);
        return;
    }
    bool kept = x->config != NULL;
    const vkt_config *c = runs_config(x);
    char *v = c ? vkt_option_value(c, i) : NULL;
    if (v) bare(v, out, n);
    vkt_free(v);
    if (c && !kept) {
        vkt_config_destroy(&x->config);
        x->tried = false;
    }
}

void runs_value(row *x, int key, char *out, size_t n)
{
    const char *at = (const char *)x->r;
    out[0] = 0;
    if (key >= (int)CLI_COUNT(fields)) {
        option_value(x, (size_t)key - CLI_COUNT(fields), out, n);
        return;
    }
    at += fields[key].at;
    const char *text;
    uint64_t count;
    double number;
    switch (fields[key].type) {
    case 't':
        memcpy(&text, at, sizeof text);
        snprintf(out, n, "%s", text ? text : "");
        break;
    case 'c':
        memcpy(&count, at, sizeof count);
        snprintf(out, n, "%llu", (unsigned long long)count);
        break;
    default:
        memcpy(&number, at, sizeof number);
        if (isfinite(number)) snprintf(out, n, "%.9g", number);
    }
}

static bool number_of(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end;
}

/* Numbers by size, all else by letters; what is missing comes last. */
static int order(const char *a, const char *b)
{
    double x, y;
    if (!*a || !*b) return !*a - !*b;
    if (number_of(a, &x) && number_of(b, &y)) return (x > y) - (x < y);
    return strcmp(a, b);
}

/* ---- filters ---- */

typedef struct filter {
    int key;
    char op; /* = ! < > l(<=) g(>=) ~ */
    const char *value;
} filter;

static int parse_filter(const char *text, filter *out)
{
    size_t n = strcspn(text, "=!<>~");
    char c = text[n], key[64];
    size_t skip = 1;
    if (!c || !n || n >= sizeof key || (c == '!' && text[n + 1] != '=')) {
        cli_error("runs: --filter %s: KEY=VALUE is expected, or != < > <= >= ~", text);
        return CLI_USAGE;
    }
    out->op = c;
    if ((c == '<' || c == '>') && text[n + 1] == '=') out->op = c == '<' ? 'l' : 'g', skip = 2;
    if (c == '!') skip = 2;
    snprintf(key, sizeof key, "%.*s", (int)n, text);
    out->value = text + n + skip;
    return runs_known_key(key, &out->key);
}

static bool passes(row *x, const filter *f)
{
    char text[600];
    runs_value(x, f->key, text, sizeof text);
    if (f->op == '~') return strstr(text, f->value) != NULL;
    if (!*text && *f->value) return f->op == '!';
    int c = order(text, f->value);
    switch (f->op) {
    case '=':
        return c == 0;
    case '!':
        return c != 0;
    case '<':
        return c < 0;
    case '>':
        return c > 0;
    case 'l':
        return c <= 0;
    default:
        return c >= 0;
    }
}

int runs_filter(const runs_options *o, table *t)
{
    for (size_t i = 0; i < o->filter.n; i++) {
        filter f;
        size_t k = 0;
        int rc = parse_filter(o->filter.item[i], &f);
        if (rc) return rc;
        for (size_t r = 0; r < t->n; r++) {
            if (passes(&t->rows[r], &f))
                t->rows[k++] = t->rows[r];
            else
                vkt_config_destroy(&t->rows[r].config);
        }
        t->n = k;
    }
    return 0;
}

/* ---- sorting: keys are read once ---- */

typedef struct keyed {
    char *key;
    size_t at;
    bool falling;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int c = order(x->key, y->key);
    if (x->falling && *x->key && *y->key) c = -c;
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

int runs_sort(const runs_options *o, table *t)
{
    int key;
    bool falling = o->sort && o->sort[0] == '-';
    if (!o->sort || !t->n) return 0;
    int rc = runs_known_key(o->sort + falling, &key);
    if (rc) return rc;
    keyed *k = cli_zeros(t->n, sizeof *k);
    row *rows = cli_zeros(t->n, sizeof *rows);
    char text[600];
    for (size_t i = 0; i < t->n; i++) {
        runs_value(&t->rows[i], key, text, sizeof text);
        k[i] = (keyed) { strcpy(cli_grow(NULL, strlen(text) + 1), text), i, falling };
    }
    qsort(k, t->n, sizeof *k, by_key);
    for (size_t i = 0; i < t->n; i++) rows[i] = t->rows[k[i].at];
    memcpy(t->rows, rows, t->n * sizeof *rows);
    for (size_t i = 0; i < t->n; i++) free(k[i].key);
    free(k);
    free(rows);
    return 0;
}
