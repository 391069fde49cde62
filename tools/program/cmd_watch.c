/* vktrain watch: a run in progress as text plots, and two orders that it can be given. Reads the
 * run's files only; what it draws can be drawn by any process, over ssh too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct watch_options {
    cli_options common;
    bool once, stop, stop_now, checkpoint, html;
    uint32_t every;
} watch_options;

#define AT(field) offsetof(watch_options, field)
static const cli_flag flags[] = {
    { "--once", CLI_BOOL, AT(once), NULL, NULL, "draw once and exit" },
    { "--every", CLI_UINT, AT(every), "S", "1", "seconds between updates" },
    { "--html", CLI_BOOL, AT(html), NULL, NULL,
      "rewrite RUN/report.html until the run ends; a browser that shows it follows the run" },
    { "--stop-after-evaluation", CLI_BOOL, AT(stop), NULL, NULL,
      "ask the run to stop after its next evaluation, then exit" },
    { "--stop-now", CLI_BOOL, AT(stop_now), NULL, NULL,
      "ask the run to save a checkpoint and stop, as Ctrl-C does, then exit" },
    { "--checkpoint-now", CLI_BOOL, AT(checkpoint), NULL, NULL,
      "ask the run to save a checkpoint and continue, then exit" },
    { 0 },
};

enum { POINTS = 800, MAX_EVALS = 4000 };

typedef struct view {
    const watch_options *o;
    const char *dir;
    vkt_history *h;
    vkt_run_info info; /* texts belong to `list` */
    vkt_run_info *list;
    char said[120]; /* what became of the last order */
} view;

static vkt_status refresh(view *v)
{
    size_t n;
    vkt_runs_free(&v->list);
    vkt_status st = vkt_runs_list(v->dir, &v->list, &n);
    if (st != VKT_OK) return st;
    v->info = n == 1 ? v->list[0] : (vkt_run_info) { 0 };
    return vkt_history_update(v->h);
}

/* One line, cut to the width, the rest of it erased. */
static void line(int cols, const char *text)
{
    printf("%.*s%s\n", cols, text, cli_can_redraw(stdout) ? "\033[K" : "");
}

static const char *percent_or(double accuracy, double mae)
{
    return isfinite(accuracy) ? cli_percent(accuracy) : isfinite(mae) ? cli_number(mae) : "-";
}

/* Training loss, averaged to at most POINTS points, and validation loss. */
static void plot_loss(const view *v, int cols, int rows, double end)
{
    static double x[POINTS], y[POINTS], ex[MAX_EVALS], ey[MAX_EVALS];
    const vkt_history *h = v->h;
    size_t width = h->n_steps / POINTS + 1, n = 0, e = 0;
    for (size_t at = 0; at < h->n_steps; at += width, n++) {
        double sum = 0;
        size_t k = 0;
        for (size_t i = at; i < at + width && i < h->n_steps; i++)
            if (isfinite(h->steps[i].loss)) sum += h->steps[i].loss, k++;
        x[n] = (double)h->steps[at].step;
        y[n] = k ? sum / (double)k : NAN;
    }
    for (size_t i = 0; i < h->n_evals && e < MAX_EVALS; i++)
        if (!strcmp(h->evals[i].split, h->evals[0].split)) {
            ex[e] = (double)h->evals[i].step;
            ey[e++] = h->evals[i].loss;
        }
    const cli_curve curves[] = { { x, y, n }, { ex, ey, e } };
    cli_plot(stdout, curves, 2, end, cols, rows);
}

static void plot_metric(const view *v, int cols, int rows, double end)
{
    static double ex[MAX_EVALS], ey[MAX_EVALS];
    const vkt_history *h = v->h;
    size_t e = 0;
    for (size_t i = 0; i < h->n_evals && e < MAX_EVALS; i++)
        if (!strcmp(h->evals[i].split, h->evals[0].split)) {
            ex[e] = (double)h->evals[i].step;
            ey[e++] = isfinite(h->evals[i].accuracy) ? h->evals[i].accuracy : h->evals[i].mae;
        }
    cli_plot(stdout, &(cli_curve) { ex, ey, e }, 1, end, cols, rows);
}

static const char *eta(const view *v, bool alive)
{
    const vkt_history *h = v->h;
    if (!alive || h->n_steps < 2) return "-";
    const vkt_history_step *a = &h->steps[h->n_steps > 500 ? h->n_steps - 500 : 0],
                           *b = &h->steps[h->n_steps - 1];
    double per = (b->seconds - a->seconds) / (double)(b->step - a->step ? b->step - a->step : 1);
    return cli_time(per * (double)(v->info.total > b->step ? v->info.total - b->step : 0));
}

/* The beginning of the run's newest sample, in a line of at most n bytes, cut between characters;
 * "" if there is none. */
static const char *sample(const view *v, int n)
{
    uint64_t step;
    char *text = vkt_run_sample(v->dir, &step), *from = text;
    if (!text) return "";
    if (!strncmp(from, "=== ", 4)) from += strcspn(from, "\n"); /* the heading of several */
    while (*from && strchr("\n\r\t ", *from)) from++;
    for (char *p = from; *p; p++)
        if (strchr("\n\r\t", *p)) *p = ' ';
    const char *before = cli_text("sample of step %llu: ", (unsigned long long)step);
    size_t room = n > 250 ? 250 : (size_t)n;
    room -= strlen(before) < room ? strlen(before) : room;
    if (strlen(from) > room) {
        while (room && ((unsigned char)from[room] & 0xC0) == 0x80) room--;
        from[room] = 0;
    }
    const char *whole = cli_text("%s%s", before, from);
    vkt_free(text);
    return whole;
}

static void draw(const view *v, bool keys)
{
    const vkt_history *h = v->h;
    int cols = cli_columns(stdout);
    const char *wrote = sample(v, cols);
    int rows = cli_rows(stdout) - 6 - keys - (*wrote != 0);
    bool alive = vkt_run_alive(v->dir), metric = rows >= 12 && h->n_evals;
    double end = (double)v->info.total;
    if (h->n_steps) end = fmax(end, (double)h->steps[h->n_steps - 1].step);
    if (cli_can_redraw(stdout) && !v->o->once) fputs("\033[H", stdout);
    const char *status = v->info.status ? v->info.status : "starting";
    if (!strcmp(status, "killed")) status = "killed (its process has ended)";
    line(cols, cli_text("%s: %s", v->dir, status));
    if (h->n_steps) {
        const vkt_history_step *s = &h->steps[h->n_steps - 1];
        line(cols, cli_text("step %llu/%llu  loss %s  norm %s  lr %s  %s/s  ETA %s",
                            (unsigned long long)s->step, (unsigned long long)v->info.total,
                            cli_number(s->loss), cli_number(s->grad_norm), cli_number(s->lr),
                            cli_rate(s->items_per_s), eta(v, alive)));
    } else {
        line(cols, "no step yet");
    }
    if (h->n_evals) {
        const vkt_history_eval *e = &h->evals[h->n_evals - 1];
        line(cols,
             cli_text("%s at %llu: loss %s, %s; best %s %s at %llu", e->split,
                      (unsigned long long)e->step, cli_number(e->loss),
                      percent_or(e->accuracy, e->mae), v->info.metric ? v->info.metric : "",
                      cli_number(v->info.best_metric), (unsigned long long)v->info.best_step));
    } else {
        line(cols, "no evaluation yet");
    }
    if (*wrote) line(cols, wrote);
    line(cols, "loss: training; in yellow: validation");
    plot_loss(v, cols, metric ? rows * 3 / 5 : rows, end);
    if (metric) {
        line(cols, "validation metric");
        plot_metric(v, cols, rows - rows * 3 / 5 - 1, end);
    }
    if (keys) line(cols, *v->said ? v->said : "q quit  s stop after evaluation  c checkpoint now");
    if (cli_can_redraw(stdout) && !v->o->once) fputs("\033[J", stdout);
    fflush(stdout);
}

static void order(view *v, vkt_run_order what)
{
    if (!vkt_run_alive(v->dir))
        snprintf(v->said, sizeof v->said, "the run is not in progress (q quits)");
    else if (vkt_run_control(v->dir, what) == VKT_OK)
        snprintf(v->said, sizeof v->said,
                 what == VKT_RUN_ORDER_CHECKPOINT
                     ? "the run will save a checkpoint (q quits)"
                     : "the run will stop after its next evaluation (q quits)");
}

/* Whether the run has begun to write what it measures. */
static bool begun(const view *v)
{
    return v->h || cli_exists(cli_text("%s/metrics.jsonl", v->dir));
}

static vkt_status update(view *v)
{
    vkt_status st = v->h ? VKT_OK : vkt_history_load(v->dir, &v->h);
    return st == VKT_OK ? refresh(v) : st;
}

static vkt_status watch(view *v)
{
    vkt_status st = VKT_OK;
    bool keys = cli_can_redraw(stdout) && cli_keys_begin();
    if (!keys) {
        cli_error("watch: needs a terminal; --once and --html work without one");
        return VKT_E_ARG;
    }
    fputs("\033[2J", stdout);
    for (int key = 0; key != 'q' && key != 'Q' && key != 3 && key != 4 && st == VKT_OK;) {
        if (!begun(v)) {
            printf("\033[H");
            line(cli_columns(stdout),
                 cli_text("%s: waiting for the run to begin (q quits)", v->dir));
            fflush(stdout);
            key = cli_key(v->o->every);
            continue;
        }
        if (key == 's') order(v, VKT_RUN_ORDER_STOP_AFTER_EVALUATION);
        if (key == 'c') order(v, VKT_RUN_ORDER_CHECKPOINT);
        st = update(v);
        if (st == VKT_OK) draw(v, true);
        key = cli_key(v->o->every);
    }
    cli_keys_end();
    return st;
}

/* Until no process trains in the folder any more; the last page does not reload itself. */
static vkt_status keep_page(const view *v)
{
    vkt_report_result r;
    vkt_status st = VKT_OK;
    uint64_t pages = 0;
    if (!begun(v)) printf("%s: waiting for the run to begin\n", v->dir), fflush(stdout);
    for (bool alive = true; alive && st == VKT_OK;) {
        bool ready = begun(v) && cli_exists(cli_text("%s/run.json", v->dir));
        alive = !ready || vkt_run_alive(v->dir);
        if (ready) {
            st = vkt_report_write(&(vkt_report_desc) { .paths = &v->dir,
                                                       .n_paths = 1,
                                                       .no_png = true,
                                                       .reload_s = alive ? v->o->every : 0 },
                                  &r);
            if (st == VKT_OK && !pages++ && alive)
                printf("%s: rewritten every %u s until the run ends\n", r.out, v->o->every);
            fflush(stdout);
        }
        if (alive) cli_pause(v->o->every);
    }
    if (st == VKT_OK) printf("%s: the run has ended, %s\n", r.out, cli_bytes(r.bytes));
    return st;
}

static int run(void *options)
{
    const watch_options *o = options;
    view v = { .o = o, .dir = o->common.args[0] };
    vkt_status st = VKT_OK;
    if (!o->every) {
        cli_error("watch: --every must be at least 1");
        return CLI_USAGE;
    }
    if (o->stop && o->stop_now) {
        cli_error("watch: --stop-now and --stop-after-evaluation exclude each other");
        return CLI_USAGE;
    }
    if (o->html + o->once + (o->stop || o->stop_now || o->checkpoint) > 1) {
        cli_error("watch: --html, --once and orders to the run exclude each other");
        return CLI_USAGE;
    }
    if (o->stop_now) return cli_exit_code(vkt_run_control(v.dir, VKT_RUN_ORDER_STOP));
    if (o->stop || o->checkpoint) {
        if (o->checkpoint) st = vkt_run_control(v.dir, VKT_RUN_ORDER_CHECKPOINT);
        if (o->stop && st == VKT_OK)
            st = vkt_run_control(v.dir, VKT_RUN_ORDER_STOP_AFTER_EVALUATION);
        return cli_exit_code(st);
    }
    if (o->html) {
        st = keep_page(&v);
    } else if (o->once) {
        st = update(&v);
        if (st == VKT_OK) draw(&v, false);
    } else {
        st = watch(&v);
    }
    vkt_history_destroy(&v.h);
    vkt_runs_free(&v.list);
    return cli_exit_code(st);
}

const cli_command cmd_watch = {
    .name = "watch",
    .args = "RUN",
    .summary = "show a run in progress as curves in the terminal; stop it or save it",
    .details = "Keys: q quits the view (the run continues), s stops the run after its next "
               "evaluation, c saves a checkpoint now. It works over ssh, too.\n"
               "A run that has not begun is waited for.\n"
               "examples: vktrain watch runs/try\n"
               "          vktrain watch runs/try --html\n"
               "          vktrain watch runs/try --once\n"
               "          vktrain watch runs/try --stop-after-evaluation",
    .min_args = 1,
    .max_args = 1,
    .flags = flags,
    .options_bytes = sizeof(watch_options),
    .run = run,
};
