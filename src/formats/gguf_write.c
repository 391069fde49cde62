/* gguf_write.h */
#include "formats/gguf_write.h"

#include <errno.h>
#include <stdio.h>

static void put_u(vkt__str *s, uint64_t v, uint32_t bytes)
{
    char out[8];
    for (uint32_t i = 0; i < bytes; i++) out[i] = (char)(v >> (8 * i) & 255);
    vkt__str_add(s, out, bytes);
}

static void put_text(vkt__str *s, const char *text, size_t n)
{
    put_u(s, n, 8);
    vkt__str_add(s, text, n);
}

static void put_key(vkt__gguf_out *o, const char *key, vkt__gguf_type type)
{
    put_text(&o->values, key, strlen(key));
    put_u(&o->values, type, 4);
    o->n_values++;
}

void vkt__gguf_put_number(vkt__gguf_out *o, uint64_t v, uint32_t bytes)
{
    put_u(&o->values, v, bytes);
}

void vkt__gguf_put_text(vkt__gguf_out *o, const char *text, size_t n)
{
    put_text(&o->values, text, n);
}

void vkt__gguf_put_u32(vkt__gguf_out *o, const char *key, uint32_t v)
{
    put_key(o, key, VKT__GGUF_U32);
    put_u(&o->values, v, 4);
}

void vkt__gguf_put_f32(vkt__gguf_out *o, const char *key, double v)
{
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    put_key(o, key, VKT__GGUF_F32);
    put_u(&o->values, u, 4);
}

void vkt__gguf_put_bool(vkt__gguf_out *o, const char *key, bool v)
{
    put_key(o, key, VKT__GGUF_BOOL);
    put_u(&o->values, v, 1);
}

void vkt__gguf_put_string(vkt__gguf_out *o, const char *key, const char *text)
{
    put_key(o, key, VKT__GGUF_STRING);
    put_text(&o->values, text, strlen(text));
}

void vkt__gguf_put_array(vkt__gguf_out *o, const char *key, vkt__gguf_type type, uint64_t n)
{
    put_key(o, key, VKT__GGUF_ARRAY);
    put_u(&o->values, type, 4);
    put_u(&o->values, n, 8);
}

void vkt__gguf_put_tensor(vkt__gguf_out *o, const vkt__gguf_row_source *t)
{
    o->tensor = vkt__grow(o->tensor, o->n_tensors, &o->cap, sizeof *o->tensor);
    o->tensor[o->n_tensors++] = *t;
}

void vkt__gguf_out_finish(vkt__gguf_out *o)
{
    vkt__str_finish(&o->values);
    vkt__arena_finish(&o->arena);
    free(o->tensor);
    *o = (vkt__gguf_out) { 0 };
}

static uint64_t rows_of(const vkt__gguf_row_source *t)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d + 1 < t->rank; d++) n *= t->shape[d];
    return n;
}

static uint64_t bytes_of(const vkt__gguf_row_source *t)
{
    return rows_of(t) * vkt__ggml_bytes(t->type, t->shape[t->rank - 1]);
}

static void put_places(const vkt__gguf_out *o, vkt__str *out)
{
    uint64_t at = 0;
    for (size_t i = 0; i < o->n_tensors; i++) {
        const vkt__gguf_row_source *t = &o->tensor[i];
        put_text(out, t->name, strlen(t->name));
        put_u(out, t->rank, 4);
        for (uint32_t d = 0; d < t->rank; d++) put_u(out, t->shape[t->rank - 1 - d], 8);
        put_u(out, t->type, 4);
        put_u(out, at, 8);
        at += vkt__align(bytes_of(t), VKT__GGUF_ALIGN);
    }
}

static bool write_tensor(FILE *f, const vkt__gguf_row_source *t)
{
    static const char zeros[VKT__GGUF_ALIGN];
    uint64_t columns = t->shape[t->rank - 1], bytes = vkt__ggml_bytes(t->type, columns);
    float *row = vkt__alloc(columns * sizeof *row);
    unsigned char *packed = vkt__alloc(bytes);
    bool ok = true;
    for (uint64_t r = 0; r < rows_of(t) && ok; r++) {
        t->row(t->user, r, row);
        vkt__ggml_write(t->type, row, columns, packed);
        ok = fwrite(packed, 1, bytes, f) == bytes;
    }
    size_t pad = (size_t)(vkt__align(bytes_of(t), VKT__GGUF_ALIGN) - bytes_of(t));
    ok = ok && fwrite(zeros, 1, pad, f) == pad;
    free(row);
    free(packed);
    return ok;
}

vkt_status vkt__gguf_write(const vkt__gguf_out *o, const char *path)
{
    vkt_status st;
    FILE *f = NULL;
    vkt__str head = { 0 };
    put_u(&head, VKT__GGUF_MAGIC, 4);
    put_u(&head, VKT__GGUF_VERSION, 4);
    put_u(&head, o->n_tensors, 8);
    put_u(&head, o->n_values, 8);
    vkt__str_add(&head, o->values.data, o->values.len);
    put_places(o, &head);
    while (head.len % VKT__GGUF_ALIGN) vkt__str_add(&head, "\0", 1);
    VKT_TRY(vkt__file_create(path, &f));
    errno = 0;
    bool ok = fwrite(head.data, 1, head.len, f) == head.len;
    for (size_t i = 0; i < o->n_tensors && ok; i++) ok = write_tensor(f, &o->tensor[i]);
    if (!ok) {
        st = vkt__write_failed("export", path);
        goto fail;
    }
    VKT_TRY(vkt__file_finish(path, &f));
fail:
    if (f) fclose(f);
    vkt__str_finish(&head);
    return st;
}
