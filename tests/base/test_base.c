/* base: random numbers, strings, arena, nearest name, files. */
#define _POSIX_C_SOURCE 200809L
#include "testing.h"

#include "base/number.h"
#include "base/os.h"
#include "base/progress.h"
#include "base/words.h"
#include "comma_locale.h"
#ifdef _WIN32
#include "base/os_win32.h"
#else
#include <sys/stat.h>
#include <unistd.h>
#endif

static void rng_is_a_function_of_its_arguments(void **state)
{
    (void)state;
    assert_int_equal(vkt_rand_u32(1, VKT_RNG_INIT, 7), vkt_rand_u32(1, VKT_RNG_INIT, 7));
    assert_int_not_equal(vkt_rand_u32(1, VKT_RNG_INIT, 7), vkt_rand_u32(2, VKT_RNG_INIT, 7));
    assert_int_not_equal(vkt_rand_u32(1, VKT_RNG_INIT, 7), vkt_rand_u32(1, VKT_RNG_SHUFFLE, 7));
    assert_int_not_equal(vkt_rand_u32(1, VKT_RNG_INIT, 7),
                         vkt_rand_u32(1ull << 32 | 1, VKT_RNG_INIT, 7));
}

static void uniform_and_normal_have_their_moments(void **state)
{
    (void)state;
    const int n = 200000;
    double mean = 0, sq = 0, nm = 0, nv = 0, serial = 0, prev = 0.5;
    for (int i = 0; i < n; i++) {
        double u = vkt_rand_uniform(3, VKT_RNG_TEST, (uint64_t)i),
               z = vkt_rand_normal(3, VKT_RNG_TEST, (uint64_t)i);
        assert_true(u >= 0 && u < 1);
        mean += u, sq += u * u, nm += z, nv += z * z;
        serial += (u - 0.5) * (prev - 0.5);
        prev = u;
    }
    /* Limits are five standard errors. */
    REQUIRE_NEAR(mean / n, 0.5, 5 * sqrt(1.0 / 12 / n));
    REQUIRE_NEAR(sq / n, 1.0 / 3, 5 * sqrt(4.0 / 45 / n));
    REQUIRE_NEAR(serial / n, 0, 5.0 / 12 / sqrt(n));
    REQUIRE_NEAR(nm / n, 0, 5 / sqrt(n));
    REQUIRE_NEAR(nv / n, 1, 5 * sqrt(2.0 / n));
}

static void below_is_in_range_and_even(void **state)
{
    (void)state;
    int count[7] = { 0 };
    for (uint64_t i = 0; i < 70000; i++) {
        uint32_t r = vkt_rand_below(9, VKT_RNG_TEST, i, 7);
        assert_true(r < 7);
        count[r]++;
    }
    for (int i = 0; i < 7; i++) REQUIRE_NEAR(count[i], 10000, 5 * sqrt(10000.0));
}

static void nearest_name(void **state)
{
    (void)state;
    static const char *const names[] = { "optim.lr", "optim.rule", "train.steps", "train.batch" };
    assert_string_equal(vkt_did_you_mean("train.step", names, 4).text,
                        "; did you mean 'train.steps'?");
    assert_string_equal(vkt_did_you_mean("optim.rl", names, 4).text, "; did you mean 'optim.lr'?");
    assert_string_equal(vkt_did_you_mean("batch", names, 4).text, "; did you mean 'train.batch'?");
    assert_string_equal(vkt_did_you_mean("zebra-crossing", names, 4).text, "");
}

static void strings_grow(void **state)
{
    (void)state;
    vkt__str s = { 0 };
    for (int i = 0; i < 1000; i++) vkt__str_printf(&s, "%d,", i);
    assert_int_equal(s.len, 3890);
    assert_int_equal(strlen(s.data), s.len);
    vkt__str_finish(&s);
}

static void words_for_a_shell(void **state)
{
    static const struct {
        const char *word, *quoted;
    } cases[] = {
        { "digits", "digits" },
        { "optim.lr=0.1,x@y%z:+", "optim.lr=0.1,x@y%z:+" },
        { "", "''" },
        { "a b", "'a b'" },
        { "it's.yaml", "'it'\\''s.yaml'" },
        { "'", "''\\'''" },
        { "$HOME;*", "'$HOME;*'" },
        { "caf\xc3\xa9", "'caf\xc3\xa9'" },
        { "two\nlines", "'two\nlines'" },
    };
    (void)state;
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt__str s = { 0 };
        vkt__shell_word(&s, cases[i].word);
        assert_string_equal(s.data, cases[i].quoted);
        vkt__str_finish(&s);
    }
}

/* What a spreadsheet would run is text to it; numbers stay numbers, whatever the decimal point. */
static void cells_for_a_spreadsheet(void **state)
{
    static const struct {
        const char *text, *cell;
    } cases[] = {
        { "digits", "digits" },
        { "", "" },
        { "a,b", "\"a,b\"" },
        { "say \"a\"", "\"say \"\"a\"\"\"" },
        { "-2.5", "-2.5" },
        { "+1e-3", "+1e-3" },
        { "-", "-" },
        { "-2,5", "\"'-2,5\"" },
        { "=1+1", "\"'=1+1\"" },
        { "@SUM(A1)", "\"'@SUM(A1)\"" },
        { "+cmd|' /C", "\"'+cmd|' /C\"" },
        { "-2.5+A1", "\"'-2.5+A1\"" },
    };
    (void)state;
    for (int comma = 0; comma < 2; comma++) {
        if (comma && !comma_locale()) return;
        for (size_t i = 0; i < VKT_COUNT(cases); i++) {
            vkt__str s = { 0 };
            vkt__str_csv(&s, cases[i].text);
            assert_string_equal(s.data ? s.data : "", cases[i].cell);
            vkt__str_finish(&s);
        }
    }
    setlocale(LC_NUMERIC, "C");
}

/* ThreadSanitizer notes what was read in memory of its own: it tells nothing of ours. */
static const bool takes_notes =
#ifdef __has_feature
    __has_feature(thread_sanitizer);
#else
    false;
#endif

/* Bytes of memory that this process holds; 0 where the system does not say. */
static size_t resident_bytes(void)
{
    unsigned long all = 0, held = 0;
    FILE *f = vkt__fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%lu %lu", &all, &held) != 2) held = 0;
    fclose(f);
    return held * 4096;
}

/* A large file is read through a map without its memory being held. */
static void check_released(void)
{
    enum { BYTES = 32 << 20 };
    vkt__map map;
    size_t sum = 0;
    char *data = calloc(1, BYTES);
    assert_non_null(data);
    memset(data, 1, BYTES);
    REQUIRE_OK(vkt__file_replace("test_base_tmp/a/large", data, BYTES));
    free(data);
    REQUIRE_OK(vkt__file_map("test_base_tmp/a/large", &map));
    size_t before = resident_bytes(), most = before;
    for (size_t at = 0; at < BYTES; at += 1 << 20) {
        for (size_t i = 0; i < 1 << 20; i++) sum += ((const uint8_t *)map.data)[at + i];
        vkt__map_release(&map, at, at + (1 << 20));
        most = VKT_MAX(most, resident_bytes());
    }
    assert_int_equal(sum, BYTES);
    assert_true(takes_notes || most - before < BYTES / 4);
    vkt__map_release(&map, 5, BYTES + 1); /* more than there is: nothing */
    assert_int_equal(((const uint8_t *)map.data)[BYTES / 2], 1);
    vkt__file_unmap(&map);
    vkt__file_remove("test_base_tmp/a/large");
}

static void files_are_replaced_whole(void **state)
{
    (void)state;
    char *data;
    size_t n;
    REQUIRE_OK(vkt__mkdirs("test_base_tmp/a/b"));
    REQUIRE_OK(vkt__file_replace("test_base_tmp/a/f", "hello", 5));
    FILE *reader; /* stays with the file that it opened */
    char old[6] = "";
    REQUIRE_OK(vkt__file_open("test_base_tmp/a/f", &reader));
    REQUIRE_OK(vkt__file_replace("test_base_tmp/a/f", "bye", 3));
    assert_int_equal(fread(old, 1, 5, reader), 5);
    assert_string_equal(old, "hello");
    fclose(reader);
    REQUIRE_OK(vkt__file_read("test_base_tmp/a/f", 100, &data, &n));
    assert_string_equal(data, "bye");
    free(data);
    check_released();
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__file_read("test_base_tmp/a/f", 2, &data, &n), VKT_E_IO);
    REQUIRE_LOGGED("more than the 2");
    REQUIRE_STATUS(vkt__file_read("test_base_tmp/none", 2, &data, &n), VKT_E_IO);
    REQUIRE_LOGGED("can't open 'test_base_tmp/none'");
#ifndef _WIN32
    vkt__map map; /* a pipe or a device is not an empty file */
    REQUIRE_STATUS(vkt__file_read("/dev/null", 2, &data, &n), VKT_E_IO);
    REQUIRE_STATUS(vkt__file_map("/dev/null", &map), VKT_E_IO);
    REQUIRE_LOGGED("is a pipe or a device");
    REQUIRE_STATUS(vkt__file_map("test_base_tmp", &map), VKT_E_IO);
    REQUIRE_LOGGED("can't read 'test_base_tmp': it is not a file");
    char longer[400]; /* than a name may be: that says nothing of whether it is there */
    bool there = false;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    REQUIRE_STATUS(vkt__file_look(longer, &there), VKT_E_IO);
    REQUIRE_LOGGED("can't look at 'xxx");
    REQUIRE_OK(vkt__file_look("test_base_tmp/none", &there));
    assert_false(there);
    REQUIRE_STATUS(vkt__file_truncate("test_base_tmp/none", 1), VKT_E_IO);
    REQUIRE_LOGGED("can't truncate 'test_base_tmp/none': ");
#endif
    /* A folder with something in it is in the way of a file, and of a folder. */
    REQUIRE_STATUS(vkt__file_replace("test_base_tmp/a", "bye", 3), VKT_E_IO);
    REQUIRE_OK(vkt__mkdirs("test_base_tmp/new"));
    REQUIRE_STATUS(vkt__rename("test_base_tmp/new", "test_base_tmp/a"), VKT_E_IO);
    REQUIRE_OK(vkt__rename("test_base_tmp/new", "test_base_tmp/a/b"));
    assert_true(vkt__is_dir("test_base_tmp/a/b") && vkt__file_exists("test_base_tmp/a/f"));
    REQUIRE_OK(vkt__link_replace("a", "test_base_tmp/link"));
#ifdef _WIN32 /* a text file with the name */
    assert_int_equal(vkt__file_size("test_base_tmp/link"), 1);
#else
    assert_true(vkt__is_dir("test_base_tmp/link"));
#endif
    REQUIRE_OK(vkt__remove_tree("test_base_tmp/link"));
    assert_true(vkt__file_exists("test_base_tmp/a/f"));
    REQUIRE_OK(vkt__remove_tree("test_base_tmp"));
    assert_false(vkt__file_exists("test_base_tmp"));
}

/* Longer than the 260 characters that Windows has for paths that are not marked. */
static void paths_may_be_long(void **state)
{
    (void)state;
    char name[101], path[400], **names;
    size_t n;
    memset(name, 'n', 100);
    name[100] = 0;
    snprintf(path, sizeof path, "test_base_tmp/%s/%s/%s", name, name, name);
    REQUIRE_OK(vkt__mkdirs(path));
    REQUIRE_OK(vkt__list_dir(path, &names, &n));
    assert_int_equal(n, 0);
    vkt__names_free(names, n);
    strcat(path, "/f");
    REQUIRE_OK(vkt__file_replace(path, "hello", 5));
    REQUIRE_OK(vkt__file_replace(path, "bye", 3));
    assert_int_equal(vkt__file_size(path), 3);
    REQUIRE_OK(vkt__remove_tree("test_base_tmp"));
}

#ifdef _WIN32
static void require_path(const char *path, const char *want)
{
    wchar_t *w = vkt__win_path(path);
    char *got = vkt__win_narrow(w);
    assert_string_equal(got, want);
    free(got);
    free(w);
}

/* What calls get of short and long ones, with a drive and a server; which part is no folder's. */
static void paths_may_have_servers_and_marks(void **state)
{
    (void)state;
    char name[251], local[300], server[300], want[300];
    memset(name, 'n', 250);
    name[250] = 0;
    require_path("\\\\nas\\share\\f", "\\\\nas\\share\\f");
    snprintf(local, sizeof local, "C:/a/%s", name);
    snprintf(want, sizeof want, "\\\\?\\C:\\a\\%s", name);
    require_path(local, want);
    require_path(want, want);
    snprintf(server, sizeof server, "\\\\nas\\share\\%s", name);
    snprintf(want, sizeof want, "\\\\?\\UNC\\nas\\share\\%s", name);
    require_path(server, want);
    static const struct {
        const char *path;
        size_t root;
    } roots[] = {
        { "", 0 },
        { "a/b", 0 },
        { "/a", 0 },
        { "C:", 2 },
        { "C:/a", 2 },
        { "\\\\nas\\share\\a", 11 },
        { "//nas/share", 11 },
        { "\\\\nas", 5 },
        { "\\\\?\\C:\\a", 6 },
        { "\\\\?\\UNC\\nas\\share\\a", 17 },
    };
    for (size_t i = 0; i < VKT_COUNT(roots); i++)
        assert_int_equal(vkt__win_root(roots[i].path), roots[i].root);
    wchar_t here[300];
    assert_in_range(GetFullPathNameW(L"test_base_tmp", 280, here, NULL), 1, 250);
    char *whole = vkt__win_narrow(here);
    vkt__str folder = { 0 };
    vkt__str_printf(&folder, "\\\\?\\%s\\a\\b", whole);
    REQUIRE_OK(vkt__mkdirs(folder.data));
    assert_true(vkt__is_dir("test_base_tmp/a/b"));
    REQUIRE_OK(vkt__remove_tree("test_base_tmp"));
    vkt__str_finish(&folder);
    free(whole);
}
#endif

static void other_programs_are_run(void **state)
{
    (void)state;
#ifdef _WIN32
    const char *const says[] = { "cmd", "/c", "echo", "a b", NULL };
    const char *const fails[] = { "cmd", "/c", "exit", "3", NULL }, *said = "\"a b\"\r\n";
#else
    const char *const says[] = { "printf", "%s\n", "a b", NULL };
    const char *const fails[] = { "false", NULL }, *said = "a b\n";
#endif
    const char *const absent[] = { "vktrain-no-such-program", NULL };
    char out[16], little[4];
    assert_true(vkt__run_program(says, out, sizeof out));
    assert_string_equal(out, said);
    assert_true(vkt__run_program(says, little, sizeof little));
    assert_memory_equal(little, said, 3);
    assert_int_equal(little[3], 0);
    assert_false(vkt__run_program(fails, out, sizeof out));
    assert_false(vkt__run_program(absent, out, sizeof out));
}

/* The names that vkt_file_replace and its like write to first: of no two calls the same. */
static void names_aside_differ(void **state)
{
    (void)state;
    char *a = vkt__file_aside("folder/f"), *b = vkt__file_aside("folder/f");
    assert_string_not_equal(a, b);
    assert_true(!strncmp(a, "folder/f.tmp", 12) && !strncmp(b, "folder/f.tmp", 12));
    char *meant = vkt__aside_meant(a, vkt__pid());
    assert_string_equal(meant, "folder/f");
    free(meant);
    free(a);
    free(b);
}

/* Errors name what the caller asked for, below a folder that is written aside, too; names of other
 * processes are files like any. */
static void errors_name_the_file_that_was_meant(void **state)
{
    (void)state;
    vkt__str path = { 0 };
    char *aside = vkt__file_aside("no/folder");
    vkt__str_printf(&path, "%s/f.tmp1-0", aside);
    char *meant = vkt__aside_meant(path.data, vkt__pid());
    assert_string_equal(meant, "no/folder/f.tmp1-0");
    assert_int_equal(vkt__file_replace("no/folder/f.yaml", "", 0), VKT_E_IO);
    assert_non_null(strstr(vkt__last_failure(), "can't create 'no/folder/f.yaml': "));
    free(meant);
    free(aside);
    vkt__str_finish(&path);
}

static void numbers_ignore_the_locale(void **state)
{
    (void)state;
    char text[32];
    double v;
    vkt__str s = { 0 };
    if (!comma_locale()) return;
    assert_true(vkt__number("0.25", &v) && v == 0.25);
    assert_true(vkt__number("0.0000000000000000000012345", &v) && v == 1.2345e-21);
    assert_true(vkt__number("3.14159265358979323846", &v) && v == 314159265358979323846e-20);
    assert_false(vkt__number("0,25", &v));
    assert_true(vkt__number_or_nan("1e-3") == 1e-3 && isnan(vkt__number_or_nan("1e-3x")));
    assert_true(vkt__rounded("%.2g", 0.12345) == 0.12);
    assert_string_equal(vkt__double_text(0.1, false, text), "0.1");
    vkt__str_printf(&s, "%.2f %g", 0.25, 1.5);
    assert_string_equal(s.data, "0.25 1.5");
    vkt__str_finish(&s);
    TEST_LOG_CAPTURE();
    vkt_log(VKT_LOG_WARN, "test", "loss %.2f", 0.5);
    REQUIRE_LOGGED("loss 0.50");
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5"); /* the program's own locale is as it was */
    setlocale(LC_NUMERIC, "C");
}

static void the_library_says_its_version(void **state)
{
    (void)state;
    char text[32];
    int n = vkt_version_number();
    snprintf(text, sizeof text, "%d.%d.%d", n / 10000, n / 100 % 100, n % 100);
    assert_string_equal(text, VKT_VERSION);
    assert_string_equal(vkt_version(), VKT_VERSION);
    assert_int_equal(n, VKT_VERSION_NUMBER);
}

static void fails_elsewhere(void *out)
{
    snprintf(out, 64, "%s", vkt_last_error());
    vkt__fail(VKT_E_ARG, "test", "of another thread");
}

static void fails_after(void *out)
{
    (void)out;
    vkt__fail(VKT_E_ARG, "test", "of a third thread");
}

static void the_last_error_is_kept(void **state)
{
    (void)state;
    char theirs[64] = "?";
    vkt__thread *t;
    TEST_LOG_CAPTURE();
    vkt__fail(VKT_E_ARG, "test", "number %d is wrong", 7);
    assert_string_equal(vkt_last_error(), "number 7 is wrong");
    vkt_log(VKT_LOG_WARN, "test", "a warning is no error");
    REQUIRE_OK(vkt__thread_start(fails_elsewhere, theirs, &t));
    vkt__thread_join(&t);
    assert_string_equal(theirs, "");
    assert_string_equal(vkt_last_error(), "number 7 is wrong");
    vkt__log_quiet(true);
    assert_string_equal(vkt__last_failure(), "");
    vkt__fail(VKT_E_IO, "test", "quiet");
    vkt__log_hold(true);
    vkt__log_through(VKT_LOG_ERROR, "test", "%s", "of a validation layer");
    vkt__log_hold(false);
    REQUIRE_LOGGED("of a validation layer");
    vkt__fail(VKT_E_IO, "test", "quiet");
    vkt__log_quiet(false);
    assert_null(strstr(test_log, "quiet"));
    assert_string_equal(vkt_last_error(), "quiet");
    /* What is cleared up afterwards, in a section of its own, does not take it away. */
    vkt__log_hold(true);
    vkt__fail(VKT_E_IO, "test", "held");
    vkt__log_quiet(true);
    vkt__log_hold(true);
    assert_string_equal(vkt__last_failure(), "");
    vkt__log_hold(false);
    vkt__log_quiet(false);
    vkt__log_hold(false);
    assert_string_equal(vkt__last_failure(), "held");
    vkt__log_hold(true);
    vkt__log_hold(false);
    assert_string_equal(vkt__last_failure(), "");
    vkt__log_quiet(true);
    vkt__fail(VKT_E_IO, "test", "quiet");
    vkt__log_quiet(false);
    assert_string_equal(vkt__last_failure(), "quiet");
    /* A thread keeps back what its starter does, which then has its failure. */
    vkt__log_quiet(true);
    REQUIRE_OK(vkt__thread_start(fails_elsewhere, theirs, &t));
    vkt__thread_join(&t);
    assert_string_equal(vkt__last_failure(), "of another thread");
    REQUIRE_OK(vkt__thread_start(fails_after, theirs, &t));
    vkt__thread_join(&t);
    assert_string_equal(vkt__last_failure(), "of another thread"); /* the first cause */
    vkt__log_quiet(false);
    /* Clearing up after it neither tells nor keeps anything. */
    vkt__log_ignore(true);
    vkt__fail(VKT_E_IO, "test", "of clearing up");
    vkt__log_ignore(false);
    assert_null(strstr(test_log, "clearing"));
    assert_string_equal(vkt_last_error(), "of another thread");
    /* What it quotes can't make it two lines, whatever its length. */
    vkt__fail(VKT_E_ARG, "test", "'%s' is %600d", "a\rb\x1b[0m", 1);
    assert_memory_equal(vkt_last_error(), "'a b\x1b[0m' is ", 13);
    assert_null(strchr(strstr(test_log, "'a b"), '\r'));
    REQUIRE_LOGGED("1");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* The first line after a second, later ones after a tenth of the time, ten seconds at most; nothing
 * of work that has not begun or is done. */
static void long_work_says_how_far_it_is(void **state)
{
    (void)state;
    vkt__progress p = vkt__progress_begin("counting things");
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
    test_log[0] = 0;
    vkt__progress_at(&p, 3, 10);
    assert_string_equal(test_log, "");
    p.began -= 6, p.said -= 6;
    vkt__progress_at(&p, 0, 10);
    vkt__progress_at(&p, 10, 10);
    assert_string_equal(test_log, "");
    vkt__progress_at(&p, 3, 10);
    REQUIRE_LOGGED("counting things: 3 of 10, about 14 s left");
    test_log[0] = 0;
    p.began -= 44, p.said -= 4; /* of 50 s */
    vkt__progress_at(&p, 5, 10);
    assert_string_equal(test_log, "");
    p.said -= 2;
    vkt__progress_at(&p, 5, 10);
    REQUIRE_LOGGED("counting things: 5 of 10, about 50 s left");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

#ifndef _WIN32
/* Without a home: a folder in /tmp, where others may have been first. */
static void a_cache_elsewhere_is_this_users_alone(void **state)
{
    (void)state;
    char path[64], got[64];
    snprintf(path, sizeof path, "/tmp/vktrain-%lu", (unsigned long)geteuid());
    if (vkt__is_dir(path)) skip(); /* in use */
    assert_true(vkt__cache_dir_instead(got, sizeof got));
    assert_string_equal(got, path);
    assert_int_equal(chmod(path, 0755), 0);
    assert_false(vkt__cache_dir_instead(got, sizeof got));
    assert_int_equal(chmod(path, 0700), 0);
    assert_true(vkt__cache_dir_instead(got, sizeof got));
    char real[80]; /* what a link leads to may be right today */
    snprintf(real, sizeof real, "%s-real", path);
    assert_int_equal(rename(path, real), 0);
    assert_int_equal(symlink(real, path), 0);
    assert_false(vkt__cache_dir_instead(got, sizeof got));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(real), 0);
    assert_false(vkt__cache_dir_instead(got, 5));
}
#endif

#ifndef _WIN32
static void only_some_folders_are_opened(void **state)
{
    (void)state;
    static const char *const in[] = { "tb_in", "tb_in/x", "tb_in/new/new/x", "./tb_in/../tb_in/x" },
                             *const out[] = { "tb_inside",
                                              "tb_in/../x",
                                              "tb_in/new/../../x",
                                              "tb_in/link/x",
                                              "tb_in/link",
                                              "tb_in/nowhere",
                                              "/",
                                              "",
                                              "x" };
    char *here = vkt__folder_here();
    vkt__str both = { 0 };
    char **names;
    size_t n;
    FILE *f;
    REQUIRE_OK(vkt__mkdirs("tb_in"));
    REQUIRE_OK(vkt__mkdirs("tb_out"));
    REQUIRE_OK(vkt__mkdirs("tb_inside"));
    REQUIRE_OK(vkt__file_replace("tb_in/x", "x", 1));
    REQUIRE_OK(vkt__file_replace("tb_out/x", "x", 1));
    assert_int_equal(symlink("../tb_out", "tb_in/link"), 0);
    assert_int_equal(symlink("../tb_out/nowhere", "tb_in/nowhere"), 0);
    for (size_t i = 0; i < VKT_COUNT(out); i++) assert_true(vkt__may_open(out[i]));
    vkt__str_printf(&both, "/nowhere\n%s/tb_in", here);
    vkt__setenv("VKT_WITHIN", both.data);
    for (size_t i = 0; i < VKT_COUNT(in); i++)
        if (!vkt__may_open(in[i])) fail_msg("%s", in[i]);
    for (size_t i = 0; i < VKT_COUNT(out); i++)
        if (vkt__may_open(out[i])) fail_msg("%s", out[i]);
    assert_null(vkt__fopen("tb_out/x", "rb"));
    assert_null(vkt__fopen("tb_in/nowhere", "wb"));
    assert_non_null(f = vkt__fopen("tb_in/x", "rb"));
    fclose(f);
    REQUIRE_STATUS(vkt__list_dir("tb_in/link", &names, &n), VKT_E_IO);
    REQUIRE_LOGGED("outside the folders that may be opened");
    REQUIRE_STATUS(vkt__mkdirs("tb_in/link/more"), VKT_E_IO);
    REQUIRE_STATUS(vkt__file_replace("tb_out/x", "y", 1), VKT_E_IO);
    REQUIRE_OK(vkt__file_replace("tb_in/nowhere", "y", 1)); /* takes the link's place */
    vkt__setenv("VKT_WITHIN", NULL);
    assert_false(vkt__is_link("tb_in/nowhere") || vkt__file_exists("tb_out/nowhere"));
    REQUIRE_OK(vkt__remove_tree("tb_in"));
    REQUIRE_OK(vkt__remove_tree("tb_out"));
    REQUIRE_OK(vkt__remove_tree("tb_inside"));
    vkt__str_finish(&both);
    free(here);
}
#endif

#ifdef _WIN32
/* By the same rules, whichever way a path is written. */
static void only_some_folders_are_opened_here_too(void **state)
{
    (void)state;
    static const char *const in[] = { "tb_in", "tb_in/x", "tb_in\\x", "tb_in/new/new/x",
                                      "tb_in/../tb_in/x" },
                             *const out[] = { "tb_inside",
                                              "tb_in/../x",
                                              "tb_in\\..\\x",
                                              "tb_in/new/../../x",
                                              "C:\\windows\\win.ini",
                                              "C:x",
                                              "\\windows\\win.ini",
                                              "//127.0.0.1/share/x",
                                              "\\\\127.0.0.1\\share\\x",
                                              "\\\\.\\C:\\windows",
                                              "NUL",
                                              "/",
                                              "",
                                              "x" };
    char *here = vkt__folder_here();
    vkt__str within = { 0 };
    char **names;
    size_t n;
    FILE *f;
    REQUIRE_OK(vkt__mkdirs("tb_in"));
    REQUIRE_OK(vkt__mkdirs("tb_out"));
    REQUIRE_OK(vkt__file_replace("tb_in/x", "x", 1));
    REQUIRE_OK(vkt__file_replace("tb_out/x", "x", 1));
    for (size_t i = 0; i < VKT_COUNT(out); i++) assert_true(vkt__may_open(out[i]));
    for (char *c = here; *c; c++)
        if (*c == '\\') *c = '/';
    vkt__str_printf(&within, "X:/nowhere\n%s/tb_in", here);
    vkt__setenv("VKT_WITHIN", within.data);
    for (size_t i = 0; i < VKT_COUNT(in); i++)
        if (!vkt__may_open(in[i])) fail_msg("%s", in[i]);
    for (size_t i = 0; i < VKT_COUNT(out); i++)
        if (vkt__may_open(out[i])) fail_msg("%s", out[i]);
    assert_false(vkt__file_exists("//127.0.0.1/share/x")); /* nor asked for */
    assert_int_equal(GetLastError(), ERROR_ACCESS_DISABLED_BY_POLICY);
    assert_null(vkt__fopen("tb_out/x", "rb"));
    assert_non_null(f = vkt__fopen("tb_in/x", "rb"));
    fclose(f);
    REQUIRE_STATUS(vkt__list_dir("tb_out", &names, &n), VKT_E_IO);
    REQUIRE_LOGGED("outside the folders that may be opened");
    REQUIRE_STATUS(vkt__mkdirs("tb_out/more"), VKT_E_IO);
    REQUIRE_STATUS(vkt__file_replace("tb_out/x", "y", 1), VKT_E_IO);
    vkt__setenv("VKT_WITHIN", NULL);
    REQUIRE_OK(vkt__remove_tree("tb_in"));
    REQUIRE_OK(vkt__remove_tree("tb_out"));
    vkt__str_finish(&within);
    free(here);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rng_is_a_function_of_its_arguments),
        cmocka_unit_test(uniform_and_normal_have_their_moments),
        cmocka_unit_test(below_is_in_range_and_even),
        cmocka_unit_test(nearest_name),
        cmocka_unit_test(strings_grow),
        cmocka_unit_test(words_for_a_shell),
        cmocka_unit_test(cells_for_a_spreadsheet),
        cmocka_unit_test(the_library_says_its_version),
        cmocka_unit_test(the_last_error_is_kept),
        cmocka_unit_test(files_are_replaced_whole),
        cmocka_unit_test(paths_may_be_long),
#ifdef _WIN32
        cmocka_unit_test(paths_may_have_servers_and_marks),
        cmocka_unit_test(only_some_folders_are_opened_here_too),
#endif
#ifndef _WIN32
        cmocka_unit_test(a_cache_elsewhere_is_this_users_alone),
        cmocka_unit_test(only_some_folders_are_opened),
#endif
        cmocka_unit_test(other_programs_are_run),
        cmocka_unit_test(long_work_says_how_far_it_is),
        cmocka_unit_test(names_aside_differ),
        cmocka_unit_test(errors_name_the_file_that_was_meant),
        cmocka_unit_test(numbers_ignore_the_locale),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
