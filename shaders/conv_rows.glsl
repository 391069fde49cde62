/* What conv_rows and conv_dw_rows read at a time, and how lanes hand it out; included where p and SHUFFLE are. */
#ifdef PAIRS
#define elem vec2
#define LOAD_X(i) LOAD_PAIR(p.x4, i)
#define LOAD_W(i) LOAD_PAIR(p.w4, i)
#define AT(x, i) (x)[i]
const uint W = 2;
#else
#define elem float
#define LOAD_X(i) p.x.v[i]
#define LOAD_W(i) p.w.v[i]
#define AT(x, i) (x)
const uint W = 1;
#endif

float hand_out(float x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}
