/* Private to the library: what GPT-2's files and tokenizer.json share. */
#ifndef VKT_DATA_BYTE_LETTERS_H
#define VKT_DATA_BYTE_LETTERS_H

#include "base/memory.h"

/* The pattern that GPT-2 splits text by. */
extern const char vkt__pattern_gpt2[];

/* GPT-2's printable stand-ins for bytes. Bytes of UTF-8 text of stand-ins, into out (at least n
 * long); -1: it holds a character that is none. */
int64_t vkt__stand_ins_read(const char *text, size_t n, char *out);
void vkt__stand_ins_write(const char *bytes, size_t n, vkt__str *out);

#endif
