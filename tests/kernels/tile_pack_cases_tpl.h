/* tile_pack_cases_tpl.h - cases of tile_pack and tile_unpack: tails, strides, lanes left alone
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_values_tpl.h comes first. Both kernels move numbers and multiply once, so every
 * result is exact.
 */
typedef void (*NAME(tile_pack_kernel))(int64_t, int64_t, const REAL *, int64_t, int64_t, REAL,
                                       int64_t, REAL *);
typedef void (*NAME(tile_unpack_kernel))(int64_t, int64_t, const REAL *, int64_t, const REAL *,
                                         REAL *, int64_t, int64_t);

/* A matrix by rows with strides; x[row * i + col * t] for i < rows, t < cols. */
struct NAME(strided) {
  int rows, cols, row, col;
};

/* Elements from the first one to the last one in memory. */
static int NAME(strided_count)(const struct NAME(strided) * m) {
  if (m->rows == 0 || m->cols == 0) return 0;
  return abs(m->row) * (m->rows - 1) + abs(m->col) * (m->cols - 1) + 1;
}

/* Index of the element [0][0], which is not the first one where a stride is negative. */
static int NAME(strided_origin)(const struct NAME(strided) * m) {
  if (m->rows == 0 || m->cols == 0) return 0;
  return (m->row < 0 ? -m->row * (m->rows - 1) : 0) + (m->col < 0 ? -m->col * (m->cols - 1) : 0);
}

static void NAME(fill_special)(int count, REAL *x, uint64_t *state) {
  NAME(fill)(count, x, -9, 9, state);
  for (int t = 0; t < count; t++)
    if (next_bits(state) % 8 == 0) x[t] = NAME(special)[next_bits(state) % NAME(specials)];
}

static void NAME(check_pack)(NAME(tile_pack_kernel) kernel, struct NAME(strided) m, int width,
                             enum placement where, uint64_t *state) {
  static const REAL factors[] = {1, (REAL)-0.3, 0, LARGEST};
  REAL x[TILE_MOST], before[TILE_MOST];
  const int count = NAME(strided_count)(&m), origin = NAME(strided_origin)(&m);
  const int nt = m.cols * width;
  const REAL factor = factors[next_bits(state) % 4];
  NAME(fill_special)(count, x, state);
  NAME(fill_special)(nt, before, state);
  const REAL *vx = guarded_place(&guarded_tile[0], where, (size_t)count, sizeof *x, x);
  REAL *tile = guarded_place(&guarded_tile[1], where, (size_t)nt, sizeof *x, before);
  kernel(m.rows, m.cols, vx + origin, m.row, m.col, factor, width, tile);
  guarded_check(&guarded_tile[0]);
  guarded_check(&guarded_tile[1]);
  assert_memory_equal(vx, x, (size_t)count * sizeof *x);
  for (int t = 0; t < m.cols; t++)
    for (int i = 0; i < width; i++) {
      if (i < m.rows)
        NAME(assert_same)(tile[t * width + i], factor * x[origin + i * m.row + t * m.col]);
      else
        assert_memory_equal(&tile[t * width + i], &before[t * width + i], sizeof *x);
    }
}

/* A factor of 0, of either sign, makes zeros of whatever the tile holds. */
static void NAME(check_unpack)(NAME(tile_unpack_kernel) kernel, struct NAME(strided) m, int width,
                               enum placement where, uint64_t *state) {
  REAL tile[TILE_MOST], factor[48], x[TILE_MOST], expected[TILE_MOST];
  const int count = NAME(strided_count)(&m), origin = NAME(strided_origin)(&m);
  const int nt = m.cols * width;
  NAME(fill_special)(nt, tile, state);
  NAME(fill_special)(m.rows, factor, state);
  NAME(fill_special)(count, x, state);
  memcpy(expected, x, (size_t)count * sizeof *x);
  for (int i = 0; i < m.rows; i++)
    for (int t = 0; t < m.cols; t++)
      expected[origin + i * m.row + t * m.col] =
          factor[i] == 0 ? 0 : tile[t * width + i] * factor[i] + 0; /* a zero is +0 */
  /* of the tile and the factors nothing is touched in lanes from rows on: there may be none */
  const int read = m.rows > 0 && m.cols > 0 ? (m.cols - 1) * width + m.rows : 0;
  const REAL *vt = guarded_place(&guarded_tile[0], where, (size_t)read, sizeof *x, tile);
  const REAL *vf = guarded_place(&guarded_tile[1], where, (size_t)m.rows, sizeof *x, factor);
  REAL *vx = guarded_place(&guarded_tile[2], where, (size_t)count, sizeof *x, x);
  kernel(m.rows, m.cols, vt, width, vf, vx + origin, m.row, m.col);
  for (int g = 0; g < 3; g++) guarded_check(&guarded_tile[g]);
  assert_memory_equal(vt, tile, (size_t)read * sizeof *x);
  assert_memory_equal(vf, factor, (size_t)m.rows * sizeof *x);
  for (int t = 0; t < count; t++) NAME(assert_same)(vx[t], expected[t]);
}

/* Strides of a matrix of rows x cols: rows with a gap, columns with a gap, transposed, backwards.
 */
static struct NAME(strided) NAME(strides)(int rows, int cols, int mode) {
  struct NAME(strided) m = {rows, cols, cols + rows % 3, 1};
  switch (mode) {
  case 1:
    m.row = 2 * cols + 1;
    m.col = 2;
    break;
  case 2:
    m.row = 1;
    m.col = rows + cols % 2;
    break;
  case 3:
    m.row = -(cols + 1);
    break;
  case 4:
    m.row = 1;
    m.col = -rows;
    break;
  default:
    break;
  }
  return m;
}

/* One of the two kernels over every size; strides other than a row's own at the end of a page. */
static void NAME(check_matrices)(NAME(tile_pack_kernel) pack, NAME(tile_unpack_kernel) unpack,
                                 uint32_t isa) {
  uint64_t state = 22;
  const int lanes = lanes_of(isa, sizeof(REAL));
  for (int width = lanes; width <= SDPAI_TILE_VECTORS * lanes; width += lanes)
    for (int rows = 0; rows <= width; rows++)
      for (int d = 0; d < TILE_DIMS; d++)
        for (int mode = 0; mode < 5; mode++)
          for (enum placement where = AT_END; where < (mode ? AT_START : PLACEMENTS); where++) {
            const struct NAME(strided) m = NAME(strides)(rows, tile_dim(d), mode);
            if (pack)
              NAME(check_pack)(pack, m, width, where, &state);
            else
              NAME(check_unpack)(unpack, m, width, where, &state);
          }
}
