/* Letters of pictures: widths, turns, what the font has and what it lacks. */
#include <math.h>
#include <string.h>

#include "formats/letters.h"
#include "testing.h"

enum { SIDE = 64 };
typedef struct sheet {
    double cover[SIDE][SIDE];
    int left, right, top, bottom;
} sheet;

static void put(void *to, int x, int y, double share)
{
    sheet *s = to;
    assert_true(share > 0 && share <= 1);
    s->left = x < s->left ? x : s->left;
    s->right = x > s->right ? x : s->right;
    s->top = y < s->top ? y : s->top;
    s->bottom = y > s->bottom ? y : s->bottom;
    if (x >= 0 && y >= 0 && x < SIDE && y < SIDE) s->cover[y][x] += share;
}

static sheet draw(const char *text, vkt__turn turn)
{
    sheet s = { .left = 1000, .right = -1000, .top = 1000, .bottom = -1000 };
    vkt__letters_draw(text, 32, 32, 16, false, turn, put, &s);
    return s;
}

static void widths(void **state)
{
    (void)state;
    double one = vkt__letters_width("W", 16, false);
    assert_true(vkt__letters_width("", 16, false) == 0);
    assert_true(one > 2.5 * vkt__letters_width("i", 16, false));
    REQUIRE_NEAR(vkt__letters_width("WW", 16, false), 2 * one, 1e-9);
    REQUIRE_NEAR(vkt__letters_width("W", 32, false), 2 * one, 1e-4);
    assert_true(vkt__letters_width("mean", 16, true) >
                1.05 * vkt__letters_width("mean", 16, false));
    assert_true(vkt__letters_width("\xff\xfe", 16, false) > 0); /* no UTF-8 ends, too */
}

/* The letter L: its stem left, its foot on the base line. */
static void stands_on_its_line(void **state)
{
    (void)state;
    sheet s = draw("L", VKT__LEVEL);
    assert_true(s.left >= 32 && s.right < 32 + 16 && s.bottom == 31 && s.top >= 18 && s.top <= 21);
    assert_true(s.cover[25][34] > 0.9 && s.cover[31][38] > 0.5 && s.cover[25][38] <= 0);
}

static void turns(void **state)
{
    (void)state;
    sheet level = draw("Lq", VKT__LEVEL), up = draw("Lq", VKT__UPWARD),
          down = draw("Lq", VKT__DOWNWARD);
    assert_true(up.bottom <= 31 && up.right - up.left == level.bottom - level.top);
    for (int y = level.top; y <= level.bottom; y++)
        for (int x = level.left; x <= level.right; x++) {
            REQUIRE_NEAR(up.cover[31 - (x - 32)][y], level.cover[y][x], 1e-9);
            REQUIRE_NEAR(down.cover[x][31 - (y - 32)], level.cover[y][x], 1e-9);
        }
}

static void has_these(void **state)
{
    (void)state;
    static const char *const there[] = { "é", "Ł", "ß", "λ", "Ж", "×", "€", "✓", "−" };
    sheet box = draw("\xe4\xb8\x80", VKT__LEVEL); /* U+4E00 */
    assert_true(box.right > box.left);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        sheet s = draw(there[i], VKT__LEVEL);
        assert_true(s.right > s.left);
        assert_true(memcmp(s.cover, box.cover, sizeof s.cover) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths),
        cmocka_unit_test(stands_on_its_line),
        cmocka_unit_test(turns),
        cmocka_unit_test(has_these),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
