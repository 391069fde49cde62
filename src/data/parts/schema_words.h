/* Words of a schema's JSON that are written (schema.c) and read (schema_read.c). */
#ifndef VKT_DATA_SCHEMA_WORDS_H
#define VKT_DATA_SCHEMA_WORDS_H

#include "vktrain/data.h"

static const char *const task_names[] = { "classify", "regress", "multilabel", "segment",
                                          "picture",  "detect",  "points",     "instances" };
static const char *const missing_names[] = { "error", "mean", "drop" };
static const char *const curve_names[] = {
    [VKT_TARGET_PLAIN] = "plain", [VKT_TARGET_LOG] = "log", [VKT_TARGET_LOG1P] = "log1p"
};

#endif
