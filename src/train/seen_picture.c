/* seen_picture.h */
#include "train/seen_picture.h"

#include "data/pictures/picture_ops.h"

enum { NAMED = 3 };

vkt_status vkt__seen_read(vkt__seen_picture *p, const vkt_dataset *data, uint64_t index)
{
    p->channels = data->schema.input_shape[2];
    return vkt__dataset_picture(data, VKT_SPLIT_TEST, index, &p->scratch, &p->w, &p->h, &p->pixels);
}

const char *vkt__seen_name(const vkt_dataset *data, uint64_t index)
{
    const char *file = vkt_dataset_file(data, VKT_SPLIT_TEST, index);
    return file ? file : "a picture";
}

vkt_status vkt__seen_rgb(const vkt__seen_picture *p, uint8_t **to)
{
    size_t n = (size_t)p->w * p->h;
    vkt_status st = vkt__alloc_large(n, 3, "the picture", to);
    if (st == VKT_OK) vkt__pixels_rgb(p->pixels, p->channels, n, *to);
    return st;
}

bool vkt__seen_is_named(vkt__seen_picture *p)
{
    return p->n_full++ < NAMED;
}

void vkt__seen_finish(vkt__seen_picture *p, const char *have)
{
    if (p->n_full > NAMED)
        vkt_log(VKT_LOG_WARN, "predict", "%llu pictures in all %s", (unsigned long long)p->n_full,
                have);
    vkt__scratch_finish(&p->scratch);
    *p = (vkt__seen_picture) { 0 };
}
