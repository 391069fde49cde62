/* prediction.h */
#include <jansson.h>
#include <math.h>

#include "prediction.h"
#include "print.h"

bool prediction_has(const vkt_prediction *p, uint32_t label)
{
    return p->value[label] >= p->threshold[label];
}

/* Ranks are of small counts, so by repeated search; the first is asked of each row. */
static uint32_t largest(const float *value, uint32_t n, uint32_t rank)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < n && !rank; i++)
        if (value[i] > value[first]) first = i;
    if (!rank) return first;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = 0;
        for (uint32_t k = 0; k < n; k++)
            before += value[k] > value[i] || (value[k] == value[i] && k < i);
        if (before == rank) return i;
    }
    return 0;
}

static uint32_t likeliest(const vkt_prediction *p, uint32_t rank)
{
    return largest(p->value, p->n, rank);
}

bool prediction_of_class(const vkt_prediction *p, uint32_t k)
{
    return p->outputs && p->outputs[k].value;
}

uint32_t prediction_class(const vkt_prediction *p, uint32_t k, uint32_t rank)
{
    return largest(p->value + k, p->outputs[k].n_classes, rank);
}

uint32_t prediction_ranked(const vkt_prediction *p, uint32_t rank)
{
    uint32_t before = 0;
    if (p->threshold || likeliest(p, 0) == p->predicted) return likeliest(p, rank);
    if (rank == 0) return p->predicted;
    while (likeliest(p, before) != p->predicted) before++;
    return likeliest(p, rank <= before ? rank - 1 : rank);
}

static json_t *labels_json(const vkt_prediction *p)
{
    json_t *labels = json_array();
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t k = prediction_ranked(p, i);
        if (prediction_has(p, k)) json_array_append_new(labels, json_string(p->class_names[k]));
    }
    return labels;
}

double prediction_number(const vkt_prediction *p, uint32_t i)
{
    return p->number ? p->number[i] : (double)p->value[i];
}

int prediction_digits(const vkt_prediction *p)
{
    enum { USUAL = 6, MOST = 15 };
    int digits = USUAL;
    for (uint32_t i = 0; i < p->n && !p->class_names; i++) {
        if (prediction_of_class(p, i)) continue;
        double v = fabs(prediction_number(p, i));
        if (v >= 1e6) digits = (int)fmax(digits, fmin(MOST, floor(log10(v)) + 4));
    }
    return digits;
}

static json_t *numbers_json(const vkt_prediction *p)
{
    if (p->n == 1) return cli_json_number(prediction_number(p, 0));
    json_t *all = json_object();
    for (uint32_t i = 0; i < p->n; i++)
        if (!prediction_of_class(p, i))
            json_object_set_new(all, p->target_names[i], cli_json_number(prediction_number(p, i)));
        else if (p->outputs[i].n_classes)
            json_object_set_new(all, p->outputs[i].label,
                                json_string(p->outputs[i + prediction_class(p, i, 0)].value));
    return all;
}

/* [{"label", "class", "p"}] of the labels that are classes, the `top` likeliest of each. */
static json_t *label_classes_json(const vkt_prediction *p, uint32_t top)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t rank = 0; rank < p->outputs[i].n_classes && rank < top; rank++) {
            uint32_t k = i + prediction_class(p, i, rank);
            json_array_append_new(all, json_pack("{s:s, s:s, s:o}", "label", p->outputs[k].label,
                                                 "class", p->outputs[k].value, "p",
                                                 cli_json_number((double)p->value[k])));
        }
    return all;
}

/* [{"class", "score", "box": [left, top, right, bottom]}] */
static json_t *boxes_json(const vkt_prediction *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->n_boxes; i++) {
        const vkt_found_box *b = &p->boxes[i];
        json_array_append_new(all, json_pack("{s:s, s:f, s:[f, f, f, f]}", "class",
                                             p->class_names[b->label], "score", (double)b->score,
                                             "box", b->box[0], b->box[1], b->box[2], b->box[3]));
    }
    return all;
}

/* [{"point", "score", "x", "y"}] of those that are found. */
static json_t *points_json(const vkt_prediction *p)
{
    json_t *all = json_array();
    for (uint32_t k = 0; k < p->n_points; k++) {
        const vkt_found_point *at = &p->points[k];
        if ((double)at->score >= p->least_score)
            json_array_append_new(all,
                                  json_pack("{s:s, s:f, s:f, s:f}", "point", p->class_names[k],
                                            "score", (double)at->score, "x", at->x, "y", at->y));
    }
    return all;
}

/* [[name, name]] of the limbs whose two points are found. */
static json_t *limbs_json(const vkt_prediction *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->n_limbs; i++) {
        uint32_t a = p->limbs[i][0], b = p->limbs[i][1];
        if ((double)p->points[a].score >= p->least_score &&
            (double)p->points[b].score >= p->least_score)
            json_array_append_new(all, json_pack("[s, s]", p->class_names[a], p->class_names[b]));
    }
    return all;
}

void prediction_json(json_t *to, const vkt_prediction *p, uint32_t top)
{
    if (p->points) {
        json_object_set_new(to, "points", points_json(p));
        if (p->n_limbs) json_object_set_new(to, "limbs", limbs_json(p));
        return;
    }
    if (p->boxes) {
        json_object_set_new(to, "boxes", boxes_json(p));
        return;
    }
    json_object_set_new(to, "predicted",
                        !p->class_names ? numbers_json(p)
                        : p->threshold  ? labels_json(p)
                                        : json_string(p->class_names[p->predicted]));
    if (p->outputs) json_object_set_new(to, "classes", label_classes_json(p, top));
    if (!p->class_names) return;
    json_t *classes = json_array();
    for (uint32_t i = 0; i < p->n && (i < top || p->threshold); i++) {
        uint32_t k = prediction_ranked(p, i);
        json_array_append_new(classes, json_pack("{s:s, s:o}", "class", p->class_names[k], "p",
                                                 cli_json_number((double)p->value[k])));
    }
    json_object_set_new(to, "classes", classes);
}
