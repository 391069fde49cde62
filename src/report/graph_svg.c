/* graph_svg.h. Lines that skip rows have lanes to the left of the dots, the longer the further out
 * where they would cross; one that finds no free lane takes the last. */
#include "report/graph_svg.h"

#include "report/plot.h"

enum { MOST_LAYERS = 120, MOST_LANES = 12, ROW = 22, LANE = 12, TEXT = 520 };

/* The row of a name: the last layer before row `to` that has it, or a cut of the name, else the
 * input. */
static size_t row_of(const vkt_layer *layers, size_t to, const char *name)
{
    for (size_t i = to; i-- > 1;) {
        const vkt_layer *l = &layers[i - 1];
        if (l->name && !strcmp(l->name, name)) return i;
        for (size_t k = 0; k < l->n_cut; k++)
            if (!strcmp(l->cut[k], name)) return i;
    }
    return 0;
}

typedef struct {
    size_t from, to, lane; /* rows: layer i has row i + 1; lane 0: straight down */
} edge;

static size_t n_edges_of(const vkt_layer *layers, size_t n)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++) all += VKT_MAX(layers[i].n_from, 1);
    return all;
}

/* The first lane that no earlier edge has between the two rows. */
static size_t free_lane(const edge *e, size_t n, size_t from, size_t to)
{
    size_t lane = 1;
    for (size_t k = 0; k < n && lane < MOST_LANES; k++)
        if (e[k].lane == lane && e[k].from < to && from < e[k].to) {
            lane++;
            k = SIZE_MAX; /* from the first again */
        }
    return lane;
}

static size_t find_edges(const vkt_layer *layers, size_t n, edge *e)
{
    size_t n_edges = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < VKT_MAX(layers[i].n_from, 1); k++) {
            size_t to = i + 1, from = layers[i].n_from ? row_of(layers, to, layers[i].from[k]) : i,
                   lane = to - from > 1 ? free_lane(e, n_edges, from, to) : 0;
            e[n_edges++] = (edge) { from, to, lane };
        }
    return n_edges;
}

static double y_of(size_t row)
{
    return ROW * ((double)row + 0.75);
}

static void put_edge(const edge *e, double x, vkt__str *out)
{
    double from = y_of(e->from), to = y_of(e->to), side = x - LANE * (double)e->lane;
    if (!e->lane)
        vkt__str_printf(out, "<path class=\"axis\" d=\"M%.0f %.1fV%.1f\"/>\n", x, from, to);
    else
        vkt__str_printf(out,
                        "<path class=\"s%zu\" d=\"M%.0f %.1fC%.0f %.1f %.0f %.1f %.0f %.1fV%.1f"
                        "C%.0f %.1f %.0f %.1f %.0f %.1f\"/>\n",
                        e->lane % VKT__N_COLORS, x, from, side, from, side, from, side, from + 10,
                        to - 10, side, to, side, to, x, to);
}

static void put_row(const vkt_layer *l, size_t row, double x, vkt__str *out)
{
    vkt__str text = { 0 };
    vkt__str_printf(&text, "%s", l ? l->type : VKT_LAYER_INPUT);
    if (l && l->out) vkt__str_printf(&text, " %u", l->out);
    if (l && l->name) vkt__str_printf(&text, " (%s)", l->name);
    vkt__str_printf(out,
                    "<circle class=\"f0\" cx=\"%.0f\" cy=\"%.1f\" r=\"3.5\"/><text x=\"%.0f\" "
                    "y=\"%.1f\">",
                    x, y_of(row), x + 12, y_of(row) + 4);
    vkt__markup_escape(out, text.data);
    vkt__str_printf(out, "</text>\n");
    vkt__str_finish(&text);
}

bool vkt__graph_is_drawn(const vkt_layer *layers, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) any = any || layers[i].n_from;
    return any && n <= MOST_LAYERS;
}

void vkt__graph_svg(const vkt_layer *layers, size_t n, vkt__str *out)
{
    edge *e = vkt__alloc((n_edges_of(layers, n) + 1) * sizeof *e);
    size_t n_edges = find_edges(layers, n, e), lanes = 0;
    for (size_t k = 0; k < n_edges; k++) lanes = VKT_MAX(lanes, e[k].lane);
    double x = LANE * ((double)lanes + 1), width = x + TEXT, height = ROW * ((double)n + 1.5);
    vkt__str_printf(out,
                    "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 %.0f %.0f\" "
                    "style=\"max-width:%.0fpx\"><title>The net: a row a layer, a line to each "
                    "layer that takes its output</title>\n",
                    width, height, width);
    for (size_t k = 0; k < n_edges; k++) put_edge(&e[k], x, out);
    for (size_t i = 0; i <= n; i++) put_row(i ? &layers[i - 1] : NULL, i, x, out);
    vkt__str_printf(out, "</svg>\n");
    free(e);
}
