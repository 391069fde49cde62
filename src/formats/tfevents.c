/* tfevents.h. A file is TFRecords, each an Event in protobuf's wire format:
 *   record = length u64 | masked crc32c(length) u32 | data | masked crc32c(data) u32, little-endian
 *   Event { 1 wall_time double; 2 step varint; 3 file_version string; 5 summary; 7 session_log }
 *   Summary { repeated 1 value { 1 tag string; 2 simple_value float } };  SessionLog { 1 status, 1
 * = START } A session log of START at step S makes TensorBoard drop what older files hold from S
 * on. Source: tensorflow/core/util/event.proto, lib/io/record_writer. */
#include <errno.h>
#include <math.h>

#include "base/os.h"
#include "formats/tfevents.h"

struct vkt__tfevents {
    FILE *f;
    char *path;
};

uint32_t vkt__crc32c(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t c = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (0x82F63B78u & (0u - (c & 1)));
    }
    return ~c;
}

static uint32_t masked(const void *data, size_t n)
{
    uint32_t c = vkt__crc32c(data, n);
    return (c >> 15 | c << 17) + 0xA282EAD8u;
}

static void put_le(vkt__str *s, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        char c = (char)(v >> (8 * i) & 0xFF);
        vkt__str_add(s, &c, 1);
    }
}

static void put_varint(vkt__str *s, uint64_t v)
{
    for (; v >= 128; v >>= 7) put_le(s, (v & 127) | 128, 1);
    put_le(s, v, 1);
}

static void put_bytes(vkt__str *s, int field, const char *data, size_t n)
{
    put_varint(s, (uint64_t)field << 3 | 2);
    put_varint(s, n);
    vkt__str_add(s, data, n);
}

static void put_varint_field(vkt__str *s, int field, uint64_t v)
{
    put_varint(s, (uint64_t)field << 3);
    put_varint(s, v);
}

static void put_wall_time(vkt__str *s)
{
    double now = vkt__time_unix();
    uint64_t bits;
    memcpy(&bits, &now, 8);
    put_varint(s, 1 << 3 | 1);
    put_le(s, bits, 8);
}

static vkt_status write_record(vkt__tfevents *t, const vkt__str *event)
{
    vkt__str r = { 0 };
    put_le(&r, event->len, 8);
    put_le(&r, masked(r.data, 8), 4);
    vkt__str_add(&r, event->data, event->len);
    put_le(&r, masked(event->data, event->len), 4);
    errno = 0;
    bool ok = fwrite(r.data, 1, r.len, t->f) == r.len && fflush(t->f) == 0;
    vkt_status st = ok ? VKT_OK : vkt__write_failed("train", t->path);
    vkt__str_finish(&r);
    return st;
}

vkt_status vkt__tfevents_open(const char *run_dir, uint64_t resume_step, vkt__tfevents **out)
{
    vkt_status st = VKT_OK;
    vkt__tfevents *t = vkt__alloc(sizeof *t);
    vkt__str path = { 0 }, event = { 0 }, log = { 0 };
    char host[256];
    *out = NULL;
    vkt__hostname(host, sizeof host);
    for (int i = 0; !path.len || vkt__file_exists(path.data); i++) {
        path.len = 0;
        vkt__str_printf(&path, "%s/events.out.tfevents.%010llu.%s.%d.%d", run_dir,
                        (unsigned long long)vkt__time_unix(), host, vkt__pid(), i);
    }
    t->path = path.data;
    VKT_TRY(vkt__file_create(t->path, &t->f));
    put_wall_time(&event);
    put_bytes(&event, 3, "brain.Event:2", 13);
    VKT_TRY(write_record(t, &event));
    if (resume_step != UINT64_MAX) {
        event.len = 0;
        put_wall_time(&event);
        put_varint_field(&event, 2, resume_step + 1); /* steps from there on are forgotten */
        put_varint_field(&log, 1, 1);
        put_bytes(&event, 7, log.data, log.len);
        VKT_TRY(write_record(t, &event));
    }
    *out = t;
    t = NULL;
fail:
    vkt__str_finish(&event);
    vkt__str_finish(&log);
    vkt__tfevents_close(&t);
    return st;
}

vkt_status vkt__tfevents_add(vkt__tfevents *t, uint64_t step, const vkt__tfscalar *s, size_t n)
{
    vkt__str summary = { 0 }, event = { 0 }, value = { 0 };
    for (size_t i = 0; i < n; i++) {
        float f = (float)s[i].value;
        uint32_t bits;
        if (isnan(f)) continue;
        memcpy(&bits, &f, 4);
        value.len = 0;
        put_bytes(&value, 1, s[i].tag, strlen(s[i].tag));
        put_varint(&value, 2 << 3 | 5);
        put_le(&value, bits, 4);
        put_bytes(&summary, 1, value.data, value.len);
    }
    vkt_status st = VKT_OK;
    if (summary.len) {
        put_wall_time(&event);
        put_varint_field(&event, 2, step);
        put_bytes(&event, 5, summary.data, summary.len);
        st = write_record(t, &event);
    }
    vkt__str_finish(&summary);
    vkt__str_finish(&event);
    vkt__str_finish(&value);
    return st;
}

void vkt__tfevents_close(vkt__tfevents **t)
{
    if (!*t) return;
    if ((*t)->f) fclose((*t)->f);
    free((*t)->path);
    free(*t);
    *t = NULL;
}
