/* prediction.h */
#include <jansson.h>

#include "prediction.h"
#include "print.h"

/* Small counts, so by repeated search. */
uint32_t prediction_ranked(const float *value, uint32_t n, uint32_t rank)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = 0;
        for (uint32_t k = 0; k < n; k++)
            before += value[k] > value[i] || (value[k] == value[i] && k < i);
        if (before == rank) return i;
    }
    return 0;
}

void prediction_json(json_t *to, const float *value, uint32_t n, const char *const *names,
                     uint32_t top)
{
    json_t *classes = json_array();
    if (!names) {
        json_object_set_new(to, "predicted", cli_json_number((double)value[0]));
        json_decref(classes);
        return;
    }
    json_object_set_new(to, "predicted", json_string(names[prediction_ranked(value, n, 0)]));
    for (uint32_t i = 0; i < top && i < n; i++) {
        uint32_t k = prediction_ranked(value, n, i);
        json_array_append_new(classes, json_pack("{s:s, s:o}", "class", names[k], "p",
                                                 cli_json_number((double)value[k])));
    }
    json_object_set_new(to, "classes", classes);
}
