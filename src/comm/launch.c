/* Who started this process: what launchers leave in the environment. */
#include "base/memory.h"
#include "vktrain/comm.h"

static bool number_of(const char *name, uint32_t *out)
{
    const char *text = getenv(name);
    uint64_t v = 0;
    if (!text || !*text) return false;
    for (; *text >= '0' && *text <= '9' && v < UINT32_MAX; text++)
        v = v * 10 + (uint64_t)(*text - '0');
    if (*text || v > UINT32_MAX) return false;
    *out = (uint32_t)v;
    return true;
}

/* Open MPI's mpirun; MPICH's, Intel's and Slurm's PMI; PMIx servers, which tell the size to the
 * library alone. */
vkt_launch vkt_launch_get(void)
{
    static const struct {
        const char *rank, *size;
    } by[] = { { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
               { "PMI_RANK", "PMI_SIZE" },
               { "PMIX_RANK", NULL } };
    vkt_launch l = { .by = "" };
    for (size_t i = 0; i < VKT_COUNT(by); i++) {
        if (!number_of(by[i].rank, &l.rank)) continue;
        l.launched = true;
        l.by = by[i].size ? by[i].size : by[i].rank;
        if (by[i].size) number_of(by[i].size, &l.size);
        return l;
    }
    return l;
}
