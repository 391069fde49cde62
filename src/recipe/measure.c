/* measure.h */
#include "base/words.h"
#include "recipe/measure.h"

static const vkt__measure measures[] = {
    { "loss", -1, VKT__OF_ALL },
    { "accuracy", 1, VKT__OF_HITS },
    { "balanced_accuracy", 1, VKT__OF_ONE },
    { "macro_f1", 1, VKT__OF_CLASSES },
    { "micro_f1", 1, VKT__OF_LABELS },
    { "roc_auc", 1, VKT__OF_RANKS },
    { "average_precision", 1, VKT__OF_RANKS },
    { "ece", -1, VKT__OF_ONE },
    { "mae", -1, VKT__OF_NUMBERS },
    { "rmse", -1, VKT__OF_NUMBERS },
    { "r2", 1, VKT__OF_NUMBERS },
    { "mean_iou", 1, VKT__OF_PIXELS },
    { "psnr", 1, VKT__OF_PICTURES },
    { "ssim", 1, VKT__OF_PICTURES },
    { "map", 1, VKT__OF_BOXES },
    { "map50", 1, VKT__OF_BOXES },
    { "oks_ap", 1, VKT__OF_POINTS },
    { "pck", 1, VKT__OF_POINTS },
    { "point_error", -1, VKT__OF_POINTS },
    { "instance_ap50", 1, VKT__OF_INSTANCES },
};

const vkt__measure *vkt__measure_named(const char *name)
{
    for (size_t i = 0; i < VKT_COUNT(measures); i++)
        if (!strcmp(measures[i].name, name)) return &measures[i];
    return NULL;
}
