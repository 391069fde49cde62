/* Loads that come ahead of those that count, for Mesa's CPU driver where a kernel waits for memory. That driver turns
 * loads by address into gathers, during which a processor starts nothing else: one that misses its cache waits for memory
 * alone, and a tenth of what memory can give arrives. Single bytes, which no processor gathers, the compiler loads one by
 * one, and those overlap, so a kernel's lanes load a byte of each of the lines that are next. */
#extension GL_EXT_shader_8bit_storage : require
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer u8s { uint8_t v[]; };

const uint LINE = 64; /* bytes */

/* 0, for an index, which keeps the load. none: 0 or an even number, which the compiler must not know. */
uint touch(u8s x, uint at, uint none)
{
    return uint(x.v[at]) & (none & 1);
}
