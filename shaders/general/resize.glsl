/* Which of n elements a result's element o, of `of`, is made from: `first` and the next, which weighs `next`. Bilinear places
 * are fractions of whole numbers, so that they are exact; nearest ones are rounded as PyTorch rounds them. Twin: resize_tap. */
layout(constant_id = VKT_SPEC_OP) const uint KIND = 0;
layout(constant_id = VKT_SPEC_ALIGNED) const uint ALIGNED = 0;
layout(push_constant, scalar) uniform Push { resize_params p; };

struct tap { uint first; float next; };

/* The elements whose mean o is: all that it touches, so that those of neighbours may overlap. */
struct area { uint first, end; };

area area_of(uint o, uint of, uint n)
{
    return area(o * n / of, ((o + 1) * n + of - 1) / of);
}

tap tap_of(uint o, uint of, uint n, float scale)
{
    if (KIND == VKT_RESIZE_N_NEAREST) {
        precise float at = float(o) * scale;
        return tap(min(uint(at), n - 1), 0.0);
    }
    uint above = ALIGNED != 0 ? o * (n - 1) : (2 * o + 1) * n, below = ALIGNED != 0 ? max(of - 1, 1) : 2 * of;
    if (ALIGNED == 0) above = above > of ? above - of : 0;
    uint first = above / below;
    return first >= n - 1 ? tap(n - 1, 0.0) : tap(first, float(above - first * below) / float(below));
}
