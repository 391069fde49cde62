/* Private to src/data: Unicode's normal form C. */
#ifndef VKT_DATA_TOKENIZER_NFC_H
#define VKT_DATA_TOKENIZER_NFC_H

#include "base/memory.h"

/* Appends the text in NFC; bytes that are no UTF-8 stay as they are. *changed false: it is the text
 * itself, and nothing was appended. OOM_HOST. */
vkt_status vkt__nfc(const char *text, size_t n, vkt__str *out, bool *changed);

#endif
