/* What the tests of texts share: files made here, data sets opened from them, refusals that must be
 * one clear line. A test defines DIR, its own folder, before the include. */
#ifndef VKT_TESTS_TEXT_FILES_H
#define VKT_TESTS_TEXT_FILES_H

#include "own_folder.h"

#include "data/parts/parts.h"

static inline void put(const char *path, const char *text)
{
    REQUIRE_OK(vkt__file_replace(path, text, strlen(text)));
}

static inline vkt_dataset *open_text(const char *path, const char *tokenizer, uint32_t context,
                                     double valid, double test)
{
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "text",
                                                   .path = path,
                                                   .tokenizer = tokenizer,
                                                   .context = context,
                                                   .valid_fraction = valid,
                                                   .test_fraction = test,
                                                   .seed = 3 },
                                &ds));
    return ds;
}

static inline void refused(const char *path, const char *tokenizer, uint32_t context,
                           vkt_status status, const char *line)
{
    vkt_dataset *ds;
    vkt_data_desc d = { .source = "text",
                        .path = path,
                        .tokenizer = tokenizer,
                        .context = context,
                        .valid_fraction = 0.1 };
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open(&d, &ds), status);
    REQUIRE_LOGGED(line);
    assert_null(ds);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* A shard of llm.c: 120 tokens, an end token begins each of 12 documents. */
static inline void put_llmc(const char *path, int32_t n_promised)
{
    int32_t header[256] = { 20240520, 1, n_promised };
    uint8_t file[1024 + 240];
    for (int i = 0; i < 120; i++) {
        uint16_t v = i % 10 == 0 ? 256 : (uint16_t)(i / 10);
        memcpy(file + 1024 + 2 * i, &v, 2);
    }
    memcpy(file, header, sizeof header);
    REQUIRE_OK(vkt__file_replace(path, file, sizeof file));
}

static inline void pack(const char *input, const char *tokenizer, const char *out,
                        vkt_pack_result *r)
{
    vkt__remove_tree(out);
    REQUIRE_OK(vkt_pack(&(vkt_pack_desc) { .inputs = &input,
                                           .n_inputs = 1,
                                           .tokenizer = tokenizer,
                                           .out = out,
                                           .shard_tokens = 500 },
                        r));
}

/* A folder of 40 texts of 20 to 176 characters. */
static inline void put_many(const char *dir)
{
    REQUIRE_OK(vkt__mkdirs(dir));
    for (int i = 0; i < 40; i++) {
        char path[64], text[200];
        for (int k = 0; k < 199; k++) text[k] = (char)('a' + (i * k) % 26);
        text[20 + 4 * i] = 0;
        snprintf(path, sizeof path, "%s/%02d.txt", dir, i);
        put(path, text);
    }
}

#endif
