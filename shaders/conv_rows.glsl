/* What conv_rows and conv_dw_rows share; included where SHUFFLE is declared. */
float hand_out(float x, uint lane)
{
    return SHUFFLE != 0 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}
