/* energy.h */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/os.h"
#include "gpu/energy.h"
#include "gpu/nvml.h"

enum { MAX_CARDS = 16, MAX_SENSORS = 32, MAX_PACKAGES = 8, PATH = 512, SAMPLE_MS = 20 };
/* How often counters are renewed: an interval must be many times as long. */
#define LEAST_S 1.0
#define LEAST_RAPL_S 0.1

typedef enum source { NVML, HWMON_ENERGY, HWMON_POWER, RAPL } source;

struct vkt__energy {
    source from;
    char path[MAX_PACKAGES][PATH]; /* of counters */
    double range[MAX_PACKAGES];    /* RAPL: where they begin again at 0, J */
    size_t n;
    vkt__nvml *nv;
    double began, last[MAX_PACKAGES]; /* J */
    /* HWMON_POWER has no counter: a thread samples it. */
    vkt__thread *sampler;
    atomic_bool stop;
    double sum;    /* J; NAN: a sample failed */
    double newest; /* time of the last sample */
};

static double read_number(const char *path)
{
    double v;
    FILE *f = vkt__fopen(path, "r");
    bool ok = f && fscanf(f, "%lf", &v) == 1; /* digits only: no locale's business */
    if (f) fclose(f);
    return ok ? v : NAN;
}

static bool read_word(const char *path, char out[64])
{
    FILE *f = vkt__fopen(path, "r");
    bool ok = f && fscanf(f, "%63s", out) == 1;
    if (f) fclose(f);
    return ok;
}

/* ---- NVML ---- */

static bool open_nvml(vkt__energy *e, const vkt_caps *caps, const char *library)
{
    e->nv = vkt__nvml_open(caps, library);
    if (e->nv && isnan(vkt__nvml_joules(e->nv))) vkt__nvml_close(&e->nv);
    if (!e->nv) return false;
    e->from = NVML;
    e->n = 1;
    return true;
}

/* ---- sensors of a GPU's kernel driver ---- */

static bool open_sensor(vkt__energy *e, const char *card)
{
    static const struct {
        const char *name;
        source from;
    } files[] = { { "energy1_input", HWMON_ENERGY },
                  { "power1_average", HWMON_POWER },
                  { "power1_input", HWMON_POWER } };
    for (size_t f = 0; f < VKT_COUNT(files); f++)
        for (int k = 0; k < MAX_SENSORS; k++) {
            snprintf(e->path[0], PATH, "%s/hwmon/hwmon%d/%s", card, k, files[f].name);
            if (isnan(read_number(e->path[0]))) continue;
            e->from = files[f].from;
            e->n = 1;
            return true;
        }
    return false;
}

static bool open_hwmon(vkt__energy *e, const vkt_caps *caps, const char *root)
{
    char want[2][16], is[64], card[PATH / 2], found[PATH / 2], path[PATH];
    size_t n = 0;
    snprintf(want[0], sizeof want[0], "0x%04x", caps->vendor_id);
    snprintf(want[1], sizeof want[1], "0x%04x", caps->device_id);
    for (int i = 0; i < MAX_CARDS; i++) {
        snprintf(card, sizeof card, "%s/sys/class/drm/card%d/device", root, i);
        snprintf(path, sizeof path, "%s/vendor", card);
        if (!read_word(path, is) || strcmp(is, want[0])) continue;
        snprintf(path, sizeof path, "%s/device", card);
        if (!read_word(path, is) || strcmp(is, want[1])) continue;
        memcpy(found, card, sizeof found);
        n++;
    }
    return n == 1 && open_sensor(e, found); /* of two of a kind nobody says which */
}

/* ---- the CPU's packages ---- */

static bool open_rapl(vkt__energy *e, const char *root)
{
    char name[64], path[PATH];
    for (int i = 0; i < MAX_PACKAGES; i++) {
        snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:%d/name", root, i);
        if (!read_word(path, name) || strncmp(name, "package", 7)) continue;
        snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:%d/max_energy_range_uj", root,
                 i);
        double range = read_number(path);
        snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:%d/energy_uj", root, i);
        if (!(range > 0) || isnan(read_number(path))) return false; /* one unread: no sum */
        memcpy(e->path[e->n], path, sizeof path);
        e->range[e->n++] = 1e-6 * range;
    }
    e->from = RAPL;
    return e->n > 0;
}

/* ---- the whole ---- */

vkt__energy *vkt__energy_open(const vkt_caps *caps, const vkt__energy_desc *d)
{
    const char *root = d && d->root ? d->root : "";
    vkt__energy *e = vkt__alloc(sizeof *e);
    *e = (vkt__energy) { 0 };
    bool cpu = caps->klass == VKT_GPU_CLASS_CPU, ok = false;
    if (!cpu && caps->klass == VKT_GPU_CLASS_NVIDIA) ok = open_nvml(e, caps, d ? d->nvml : NULL);
    if (!cpu && !ok) ok = open_hwmon(e, caps, root);
    if (!ok && (cpu || caps->type == VKT_GPU_INTEGRATED)) ok = open_rapl(e, root);
    if (!ok) vkt__energy_close(&e);
    return e;
}

static void end_sampling(vkt__energy *e)
{
    atomic_store(&e->stop, true);
    vkt__thread_join(&e->sampler);
}

void vkt__energy_close(vkt__energy **e)
{
    if (!*e) return;
    if ((*e)->sampler) end_sampling(*e);
    vkt__nvml_close(&(*e)->nv);
    free(*e);
    *e = NULL;
}

const char *vkt__energy_source(const vkt__energy *e)
{
    static const char *const names[] = {
        [NVML] = "NVML, the whole card",
        [HWMON_ENERGY] = "hwmon's counter, the whole card",
        [HWMON_POWER] = "hwmon's power, sampled, the whole card",
        [RAPL] = "RAPL, the CPU's packages with all that runs on them",
    };
    return names[e->from];
}

/* Of counter i, J. */
static double counter(const vkt__energy *e, size_t i)
{
    if (e->from == NVML) return vkt__nvml_joules(e->nv);
    return 1e-6 * read_number(e->path[i]);
}

/* Watts times the time since the last sample. */
static void sample(vkt__energy *e)
{
    double watts = 1e-6 * read_number(e->path[0]), now = vkt__now();
    e->sum += watts * (now - e->newest);
    e->newest = now;
}

static void sample_on(void *arg)
{
    vkt__energy *e = arg;
    while (!atomic_load(&e->stop)) {
        vkt__sleep_ms(SAMPLE_MS);
        sample(e);
    }
}

double vkt__energy_least_s(const vkt__energy *e)
{
    return e->from == RAPL ? LEAST_RAPL_S : LEAST_S;
}

void vkt__energy_begin(vkt__energy *e)
{
    if (e->sampler) end_sampling(e); /* of an interval that nobody ended */
    e->began = e->newest = vkt__now();
    e->sum = 0;
    if (e->from == HWMON_POWER) {
        atomic_store(&e->stop, false);
        if (vkt__thread_start(sample_on, e, &e->sampler) != VKT_OK) e->sum = NAN;
        return;
    }
    for (size_t i = 0; i < e->n; i++) e->last[i] = counter(e, i);
}

double vkt__energy_end(vkt__energy *e, double *seconds)
{
    if (seconds) *seconds = NAN;
    if (!e) return NAN;
    double took = vkt__now() - e->began, joules = 0;
    if (e->from == HWMON_POWER) {
        end_sampling(e);
        joules = e->sum;
        took = e->newest - e->began; /* what the samples cover */
    }
    for (size_t i = 0; i < e->n && e->from != HWMON_POWER; i++) {
        double by = counter(e, i) - e->last[i];
        joules += by < 0 ? by + e->range[i] : by;
    }
    if (seconds) *seconds = took;
    return joules >= 0 && took >= vkt__energy_least_s(e) ? joules : NAN;
}
