/* GPT-2's letters for bytes, in which its vocabulary and tokenizer.json are written: a byte stands
 * for itself where it is printable, else for a letter from U+0100 on. */
#include "base/words.h"
#include "tokenizers/byte_letters.h"

/* OpenAI's GPT-2 (encoder.py, 2019). */
const char vkt__pattern_gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static bool stands_for_itself(unsigned b)
{
    return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
}

static int stand_in_byte(int32_t c)
{
    if (c < 0x100) return c >= 0 && stands_for_itself((unsigned)c) ? (int)c : -1;
    int32_t k = 0x100;
    for (unsigned b = 0; b < 256; b++)
        if (!stands_for_itself(b) && k++ == c) return (int)b;
    return -1;
}

int64_t vkt__stand_ins_read(const char *text, size_t n, char *out)
{
    int64_t k = 0;
    for (const char *at = text; at < text + n;) {
        int b = stand_in_byte(vkt__utf8_next(&at, text + n));
        if (b < 0) return -1;
        out[k++] = (char)b;
    }
    return k;
}

void vkt__stand_ins_write(const char *bytes, size_t n, vkt__str *out)
{
    int32_t point[256], k = 0x100;
    char utf8[4];
    for (int32_t b = 0; b < 256; b++) point[b] = stands_for_itself((unsigned)b) ? b : k++;
    for (size_t i = 0; i < n; i++)
        vkt__str_add(out, utf8, vkt__utf8_put(point[(unsigned char)bytes[i]], utf8));
    if (n == 0) vkt__str_add(out, "", 0);
}
