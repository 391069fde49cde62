/* What id_order and id_segments share, included where `p` is declared. */

/* The row of the table that id i names; `rows`: none. */
uint row_of(uint i)
{
    float id = p.ids.v[i];
    return id >= 0.0 && id < float(p.rows) ? uint(id) : p.rows;
}
