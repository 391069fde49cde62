/* The table of sources: its rows are whole, and files and folders are known by their content first,
 * then by their names. */
#define DIR "test_sources_tmp"
#include "data_files.h"

static void rows_are_whole(void **state)
{
    (void)state;
    vkt_source_info s, other;
    char names[128];
    size_t n = 0;
    for (; vkt_source(n, &s); n++) {
        assert_true(s.name[0] && s.help[0] && s.kinds);
        assert_true(vkt_source_find(s.name, &other));
        assert_string_equal(other.help, s.help); /* else two have one name */
        vkt_data_desc d = { .source = s.name, .context = 8 };
        if (s.path) refuse(&d, VKT_E_ARG, s.name, "data.path is missing");
        d.task = VKT_TASK_REGRESS;
        d.path = DIR;
        if (!(s.takes & VKT_TAKES_REGRESS)) refuse(&d, VKT_E_ARG, s.name, "task regress needs");
    }
    assert_true(n >= 8);
    assert_false(vkt_source_find("nothing", &s));
    assert_string_equal(vkt_source_names(VKT_TAKES_LABELS, names, sizeof names), "images");
}

static void looks(const char *path, vkt_likeness want, const char *name)
{
    vkt_source_info s = { 0 };
    vkt_likeness is = vkt_source_of(path, &s);
    if (is != want || (want && strcmp(s.name, name) != 0))
        fail_msg("%s: like %s (%d), not %s (%d)", path, is ? s.name : "none", is, name, want);
}

/* Writes a file that has one line `times` times. */
static void repeat(const char *path, const char *line, size_t times)
{
    vkt__str s = { 0 };
    for (size_t i = 0; i < times; i++) vkt__str_printf(&s, "%s", line);
    put(path, s.data, s.len);
    vkt__str_finish(&s);
}

static void data_is_known(void **state)
{
    (void)state;
    make_idx(DIR "/idx", 9, 3);
    put(DIR "/a.csv", "1,2\n", 4);
    put_gz(DIR "/b.csv.gz", "1,2\n", 4);
    put(DIR "/c", "1,2\n", 4);
    put(DIR "/d.txt", "words", 5);
    const char *const poem = "It was, I said, a word\n", *const row = "3;red;1,5\n",
                      *const pair = "a dog\tein Hund\n";
    repeat(DIR "/row.txt", row, 10);
    repeat(DIR "/rows.txt", row, 20000); /* more than is looked at */
    repeat(DIR "/few.txt", row, 9);
    repeat(DIR "/pairs.txt", pair, 40); /* one delimiter and no numbers: as likely a text */
    repeat(DIR "/poem.md", poem, 40);
    put_gz(DIR "/images.gz", bytes, idx_images(bytes, 2, 3, 4, 0));
    put(DIR "/labels", bytes, idx_labels(bytes, 2, 2));
    put(DIR "/e.png", "\x89PNG\r\n\x1a\n........", 16);
    put(DIR "/f.jpg", "no picture", 10);
    put(DIR "/pack", "VKTPIC01........", 16);
    REQUIRE_OK(vkt__mkdirs(DIR "/birds/train/owl"));
    put(DIR "/birds/train/owl/1.PNG", "", 0);
    REQUIRE_OK(vkt__mkdirs(DIR "/texts/one"));
    put(DIR "/texts/one/a", "words", 5);
    put(DIR "/texts/one/b", "words", 5);
    put(DIR "/texts/logo.png", "", 0); /* fewer than the texts */
    REQUIRE_OK(vkt__mkdirs(DIR "/cifar"));
    put(DIR "/cifar/train.bin", "", 0);
    looks(DIR "/cifar", VKT_LIKE_NAME, "text");
    put(DIR "/cifar/test.bin", "", 0);
    looks(DIR "/cifar", VKT_LIKE_CONTENT, "cifar");
    looks(DIR "/idx", VKT_LIKE_CONTENT, "idx");
    looks(DIR "/images.gz", VKT_LIKE_CONTENT, "idx");
    looks(DIR "/labels", VKT_LIKE_ANY, "csv");
    looks(DIR "/a.csv", VKT_LIKE_NAME, "csv");
    looks(DIR "/b.csv.gz", VKT_LIKE_NAME, "csv");
    looks(DIR "/c", VKT_LIKE_ANY, "csv");
    looks(DIR "/d.txt", VKT_LIKE_NAME, "text");
    looks(DIR "/row.txt", VKT_LIKE_CONTENT, "csv");
    looks(DIR "/rows.txt", VKT_LIKE_CONTENT, "csv");
    looks(DIR "/few.txt", VKT_LIKE_NAME, "text");
    looks(DIR "/pairs.txt", VKT_LIKE_NAME, "text");
    looks(DIR "/poem.md", VKT_LIKE_NAME, "text");
    looks(DIR "/e.png", VKT_LIKE_CONTENT, "images");
    looks(DIR "/f.jpg", VKT_LIKE_NAME, "images");
    looks(DIR "/pack", VKT_LIKE_CONTENT, "packed");
    looks(DIR "/birds", VKT_LIKE_CONTENT, "images");
    looks(DIR "/texts", VKT_LIKE_NAME, "text");
    looks(DIR "/none", VKT_LIKE_NONE, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_are_whole),
                                        cmocka_unit_test(data_is_known) };
    return cmocka_run_group_tests_name("sources", tests, setup, teardown);
}
