/* inspect: IDX files, shards of tokens, tokenizers, and data as its source gives it. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

/* ---- IDX ---- */

int inspect_idx(const char *path, gzFile f, const unsigned char head[4])
{
    static const struct {
        int code, bytes;
        const char *name;
    } types[] = { { 8, 1, "uint8" },  { 9, 1, "int8" },     { 11, 2, "int16" },
                  { 12, 4, "int32" }, { 13, 4, "float32" }, { 14, 8, "float64" } };
    size_t t = 0;
    uint64_t count = 1, got = 0;
    while (t < CLI_COUNT(types) && types[t].code != head[2]) t++;
    if (t == CLI_COUNT(types))
        return inspect_damaged(path, cli_text("IDX of unknown type 0x%02x", head[2]));
    printf("%s%s%s: IDX, %s [", cli_color(stdout, CLI_BOLD), path, cli_color(stdout, CLI_PLAIN),
           types[t].name);
    for (int i = 0; i < head[3]; i++) {
        unsigned char d[4];
        if (gzread(f, d, 4) != 4)
            return putchar('\n'), inspect_damaged(path, "ends within its header");
        uint64_t n = (uint64_t)d[0] << 24 | (uint64_t)d[1] << 16 | (uint64_t)d[2] << 8 | d[3];
        printf("%s%llu", i ? ", " : "", (unsigned long long)n);
        count = n && count > UINT64_MAX / 16 / n ? UINT64_MAX / 16 : count * n;
    }
    count *= (uint64_t)types[t].bytes;
    unsigned char buf[65536];
    unsigned lowest = 255, highest = 0;
    double sum = 0;
    int n;
    while ((n = gzread(f, buf, sizeof buf)) > 0) {
        got += (uint64_t)n;
        for (int i = 0; i < n; i++) {
            if (buf[i] < lowest) lowest = buf[i];
            if (buf[i] > highest) highest = buf[i];
            sum += buf[i];
        }
    }
    printf("], %s\n", cli_bytes(count));
    if (n < 0) return inspect_damaged(path, "its gzip data is damaged");
    if (got != count)
        return inspect_damaged(path, cli_text("its header promises %s bytes of data, it holds %s",
                                              cli_count(count), cli_count(got)));
    if (head[2] == 8 && got)
        printf("  values %u to %u, mean %.4g\n", lowest, highest, sum / (double)got);
    return CLI_OK;
}

/* ---- data as a source gives it ---- */

static void print_classes(const vkt_dataset *ds, const vkt_dataset_info *info)
{
    bool points = info->task == VKT_TASK_POINTS;
    const cli_column col[] = { { points ? "point" : "class", false, 30 },
                               { "train", true, 0 },
                               { "valid", true, 0 },
                               { "test", true, 0 } };
    uint64_t *count[VKT_N_SPLITS] = { 0 };
    inspect_cells c = { 0 };
    for (int s = 0; s < VKT_N_SPLITS; s++) {
        count[s] = cli_zeros(info->n_outputs, sizeof *count[s]);
        vkt_dataset_class_counts(ds, (vkt_split)s, count[s]);
    }
    printf("  %-16s %s\n\n", points ? "points" : "classes", cli_count(info->n_outputs));
    for (uint32_t k = 0; k < info->n_outputs; k++) {
        inspect_cell(&c, info->class_names[k]);
        for (int s = 0; s < VKT_N_SPLITS; s++) inspect_cell(&c, cli_count(count[s][k]));
    }
    inspect_cells_print(&c, col, CLI_COUNT(col));
    inspect_cells_free(&c);
    for (int s = 0; s < VKT_N_SPLITS; s++) free(count[s]);
}

static vkt_status open_source(const char *path, const vkt_source_info *source, vkt_task task,
                              vkt_dataset **out)
{
    vkt_config *config = NULL;
    vkt_status st = vkt_config_create(&config); /* its defaults are a recipe's */
    if (st != VKT_OK) return st;
    config->data.source = source->name;
    config->data.path = path;
    config->data.task = task;
    config->data.missing = VKT_MISSING_DROP;
    if (source->takes & VKT_TAKES_SIZE) config->data.size = "median";
    config->data.valid_fraction = config->data.test_fraction = 0;
    if (source->kinds == VKT_DATA_KIND_TEXT) { /* whatever its length */
        config->data.context = 1;
        config->data.packing = VKT_PACKING_STREAM;
        config->data.too_long = VKT_TOO_LONG_LEFT;
    }
    st = vkt_dataset_open(&config->data, out);
    vkt_config_destroy(&config);
    return st;
}

static void quiet(void *user, vkt_log_level level, const char *area, const char *text)
{
    (void)user, (void)level, (void)area, (void)text;
}

int inspect_source(const char *path, const vkt_source_info *source)
{
    vkt_dataset *ds = NULL;
    vkt_status st = VKT_E_ARG;
    if (source->takes & VKT_TAKES_REGRESS) { /* labels that are no classes may be numbers or sets */
        bool sets = source->takes & VKT_TAKES_MULTILABEL;
        vkt_log_set(quiet, NULL, VKT_LOG_ERROR);
        st = open_source(path, source, VKT_TASK_CLASSIFY, &ds);
        if (st != VKT_OK) st = open_source(path, source, VKT_TASK_REGRESS, &ds);
        if (st != VKT_OK && sets) st = open_source(path, source, VKT_TASK_MULTILABEL, &ds);
        cli_log_open(false, false);
    }
    vkt_task task = source->takes & VKT_TAKES_SEGMENT     ? VKT_TASK_SEGMENT
                    : source->takes & VKT_TAKES_PICTURE   ? VKT_TASK_PICTURE
                    : source->takes & VKT_TAKES_DETECT    ? VKT_TASK_DETECT
                    : source->takes & VKT_TAKES_INSTANCES ? VKT_TASK_INSTANCES
                    : source->takes & VKT_TAKES_POINTS    ? VKT_TASK_POINTS
                                                          : VKT_TASK_CLASSIFY;
    if (!ds) st = open_source(path, source, task, &ds);
    if (!ds) return cli_exit_code(st);
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    printf("%s%s%s: %s, ", cli_color(stdout, CLI_BOLD), path, cli_color(stdout, CLI_PLAIN),
           source->help);
    if (info->kind == VKT_DATA_KIND_TEXT) {
        printf("%s bytes, with the ends of documents\n",
               cli_count(info->n_tokens[VKT_SPLIT_TRAIN]));
        vkt_dataset_destroy(&ds);
        return CLI_OK;
    }
    for (uint32_t i = 0; i < info->input_rank; i++)
        printf("%s%u", i ? "x" : "", info->input_shape[i]);
    putchar('\n');
    for (int s = 0; s < VKT_N_SPLITS; s++)
        printf("  %-16s %s\n", vkt_split_name((vkt_split)s), cli_count(info->n[s]));
    if (info->task == VKT_TASK_SEGMENT) printf("  pixels of the masks by class\n");
    if (info->task == VKT_TASK_DETECT) printf("  boxes by class\n");
    if (info->task == VKT_TASK_INSTANCES) printf("  instances\n");
    if (info->task == VKT_TASK_POINTS) printf("  points by name\n");
    bool dense = info->task == VKT_TASK_SEGMENT || info->task == VKT_TASK_PICTURE ||
                 info->task == VKT_TASK_DETECT || info->task == VKT_TASK_POINTS ||
                 info->task == VKT_TASK_INSTANCES;
    for (uint32_t i = 0; i < info->n_notes && dense; i++) printf("  %s\n", info->notes[i]);
    if (info->class_names)
        print_classes(ds, info);
    else if (info->task == VKT_TASK_PICTURE)
        printf("  %-16s pictures of %ux%ux%u\n", "targets", info->output_shape[0],
               info->output_shape[1], info->output_shape[2]);
    else
        printf("  %-16s numbers to predict\n", "labels");
    vkt_dataset_destroy(&ds);
    return CLI_OK;
}

/* ---- text: shards of tokens, tokenizers ---- */

int inspect_shard(const char *path)
{
    vkt_shard_info s;
    vkt_status st = vkt_shard_info_read(path, &s);
    if (st != VKT_OK) return cli_exit_code(st);
    printf("%s%s%s: a shard of %s tokens, %u bytes each", cli_color(stdout, CLI_BOLD), path,
           cli_color(stdout, CLI_PLAIN), cli_count(s.n_tokens), s.width);
    if (s.llmc) {
        printf(", of llm.c: whose tokens it does not say\n");
        return CLI_OK;
    }
    printf("\n  %-16s %s\n  %-16s %s, %s in the vocabulary, hash %016llx\n", "documents",
           cli_count(s.n_documents), "tokenizer", s.tokenizer_kind, cli_count(s.n_vocab),
           (unsigned long long)s.tokenizer_hash);
    if (!s.counts_all) printf("  %-16s %s tokens\n", "not in the loss", cli_count(s.n_uncounted));
    return CLI_OK;
}

int inspect_tokenizer(const char *path)
{
    vkt_tokenizer *t;
    size_t longest = 0, n;
    vkt_status st = vkt_tokenizer_open(path, &t);
    if (st != VKT_OK) return cli_exit_code(st);
    const vkt_tokenizer_info *info = vkt_tokenizer_get_info(t);
    for (uint32_t i = 0; i < info->n_vocab; i++)
        if (vkt_tokenizer_bytes(t, i, &n) && n > longest) longest = n;
    printf("%s%s%s: a tokenizer, %s\n", cli_color(stdout, CLI_BOLD), path,
           cli_color(stdout, CLI_PLAIN), info->kind);
    printf("  %-16s %s\n", "vocabulary", cli_count(info->n_vocab));
    printf("  %-16s %s\n", "merges", cli_count(info->n_merges));
    printf("  %-16s %s\n", "added tokens", cli_count(info->n_added));
    printf("  %-16s %s bytes\n", "longest token", cli_count(longest));
    if (info->end != VKT_NO_TOKEN) {
        const char *bytes = vkt_tokenizer_bytes(t, info->end, &n);
        char *end = cli_harmless(bytes, n);
        printf("  %-16s %u '%s'\n", "document end", info->end, end ? end : "");
        free(end);
    }
    printf("  %-16s %016llx\n", "hash", (unsigned long long)info->hash);
    vkt_tokenizer_destroy(&t);
    return CLI_OK;
}

/* 20240520 and 20240801, little endian. */
bool inspect_is_llmc(const unsigned char head[4])
{
    return !memcmp(head, "\x88\xd8\x34\x01", 4) || !memcmp(head, "\xa1\xd9\x34\x01", 4);
}

bool inspect_is_tokenizer(const char *path)
{
    static const char *const ends[] = { ".tiktoken", "encoder.json", "vocab.bpe" };
    for (size_t i = 0; i < CLI_COUNT(ends); i++) {
        size_t n = strlen(path), k = strlen(ends[i]);
        if (n >= k && !strcmp(path + n - k, ends[i])) return true;
    }
    json_t *j = json_load_file(path, 0, NULL);
    bool yes = json_object_get(json_object_get(j, "model"), "type") != NULL;
    json_decref(j);
    return yes;
}
