/* weights_file.h: one of two readers. */
#include "models/weights_file.h"

#include "models/gguf/gguf_model.h"

struct vkt__weights_file {
    vkt__safetensors *tensors;
    vkt__gguf_weights *gguf;
};

vkt_status vkt__weights_file_open(const char *path, vkt__weights_file **out)
{
    vkt__weights_file *f = *out = vkt__alloc(sizeof *f);
    vkt_status st = vkt__is_gguf(path) ? vkt__gguf_weights_open(path, &f->gguf)
                                       : vkt__safetensors_open(path, &f->tensors);
    if (st != VKT_OK) vkt__weights_file_close(out);
    return st;
}

void vkt__weights_file_close(vkt__weights_file **f)
{
    if (!*f) return;
    vkt__safetensors_close(&(*f)->tensors);
    vkt__gguf_weights_close(&(*f)->gguf);
    free(*f);
    *f = NULL;
}

const vkt_tensor_info *vkt__weights_file_tensor(const vkt__weights_file *f, size_t i)
{
    return f->gguf ? vkt__gguf_weights_tensor(f->gguf, i) : vkt__safetensors_tensor(f->tensors, i);
}

bool vkt__weights_file_find(const vkt__weights_file *f, const char *name, size_t *at)
{
    const vkt_tensor_info *t;
    if (!f->gguf) return vkt__safetensors_find(f->tensors, name, at);
    for (*at = 0; (t = vkt__gguf_weights_tensor(f->gguf, *at)); ++*at)
        if (!strcmp(t->name, name)) return true;
    return false;
}

vkt_status vkt__weights_file_read(vkt__weights_file *f, size_t i, void *dst)
{
    VKT_ASSERT(f->tensors);
    return vkt__safetensors_read(f->tensors, i, dst);
}

vkt_status vkt__weights_file_read_f32(vkt__weights_file *f, size_t i, float *dst)
{
    return f->gguf ? vkt__gguf_weights_read(f->gguf, i, dst)
                   : vkt__safetensors_read_f32(f->tensors, i, dst);
}
