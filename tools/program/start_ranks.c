/* start_ranks.h */
#include <stdlib.h>
#include <string.h>

#include "start_ranks.h"

/* All GPUs, or where there is none, one processor's driver. */
static size_t count_all(void)
{
    vkt_gpu_info *list = NULL;
    size_t n = 0, n_gpus = 0;
    if (vkt_gpu_list_names(&list, &n) != VKT_OK) return 0;
    for (size_t i = 0; i < n; i++)
        n_gpus += list[i].usable && !list[i].duplicate && list[i].caps.type != VKT_GPU_CPU;
    vkt_free(list);
    return n_gpus ? n_gpus : 1;
}

size_t start_ranks_count(const char *list)
{
    size_t n = 1;
    if (!strcmp(list, "all")) return count_all();
    for (const char *p = list; *p; p++) n += *p == ',';
    const char *end = list + strlen(list);
    if (list == end || *list == ',' || end[-1] == ',' || strstr(list, ",,")) {
        cli_error("train: --devices %s: a device between two commas is missing", list);
        return 0;
    }
    return n;
}

int start_ranks(size_t n, char **argv)
{
    const char *library = vkt_comm_library();
    if (!library) {
        cli_error(
            "train: --devices names %zu devices, and this vktrain is built without MPI: install "
            "libopenmpi-dev and openmpi-bin, and build again",
            n);
        return CLI_NO_DEVICE;
    }
    bool open_mpi = strstr(library, "Open MPI") != NULL;
    char count[24];
    snprintf(count, sizeof count, "%zu", n);
    /* Whoever runs this program as root has chosen to. */
    const char *const open_words[] = { "--oversubscribe",     "--bind-to", "none", "-q",
                                       "--allow-run-as-root", "-n",        count },
                      *const other_words[] = { "-n", count };
    const char *const *words = open_mpi ? open_words : other_words;
    size_t n_words = open_mpi ? CLI_COUNT(open_words) : CLI_COUNT(other_words), n_args = 0, k = 1;
    while (argv[n_args]) n_args++;
    const char **all = calloc(1 + n_words + n_args + 1, sizeof *all);
    if (!all) return CLI_MEMORY;
    all[0] = open_mpi ? "mpirun" : "mpiexec";
    for (size_t i = 0; i < n_words; i++) all[k++] = words[i];
    for (size_t i = 0; i < n_args; i++) all[k++] = argv[i];
    int rc = cli_run_program(all);
    free(all);
    if (rc == 127) {
        cli_error("train: there is no %s to start %zu ranks with: install %s",
                  open_mpi ? "mpirun" : "mpiexec", n, open_mpi ? "openmpi-bin" : "mpich");
        return CLI_NO_DEVICE;
    }
    if (rc > 128 && rc != CLI_INTERRUPTED) {
        cli_error("train: a rank was killed by signal %d, and all have ended; --resume goes on "
                  "from the last "
                  "checkpoint",
                  rc - 128);
        return CLI_FAILED;
    }
    return rc;
}

int start_ranks_refuse(const char *command)
{
    if (vkt_launch_get().rank == 0)
        cli_error("%s: only `vktrain train`, `profile` and `bench --scaling ranks` run as several "
                  "processes: start %s without mpirun",
                  command, command);
    return CLI_USAGE;
}
