/* tile_sums_cases_tpl.h - cases of tile_sums: tails, specials, bits of an element
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: tile_products_cases_tpl.h comes first. What lies between rows reads as NaN.
 */
typedef void (*NAME(tile_sums_kernel))(int64_t, int64_t, int64_t, const REAL *, int64_t,
                                       const REAL *, int64_t, REAL *, int64_t);

/* One tile's operands; sum is what it held before. */
struct NAME(sums_case) {
  int keys, rows, dim, ldp, ldx, lds;
  const REAL *p, *x, *sum;
};

static int NAME(matrix_size)(int rows, int cols, int ld) {
  return rows > 0 && cols > 0 ? (rows - 1) * ld + cols : 0;
}

static void NAME(assert_sums)(const struct NAME(sums_case) * c, const REAL *got) {
  for (int j = 0; j < c->keys; j++)
    for (int d = 0; d < c->dim; d++) {
      WIDE sum = (WIDE)c->sum[j * c->lds + d], size = NAME(magnitude)(sum);
      for (int i = 0; i < c->rows; i++) {
        const WIDE term = (WIDE)c->p[j * c->ldp + i] * (WIDE)c->x[i * c->ldx + d];
        sum += term;
        size += NAME(magnitude)(term);
      }
      NAME(assert_near)
      (got[j * c->lds + d], sum, (WIDE)(c->rows + 1) * ((WIDE)EPSILON * size + (WIDE)TINY));
    }
}

/* Every element has the bits that it has alone, and nothing between the rows is touched. */
static void NAME(assert_sums_alone)(NAME(tile_sums_kernel) kernel, const struct NAME(sums_case) * c,
                                    const REAL *got) {
  if (c->dim == 0) return;
  for (int j = 0; j < c->keys; j++)
    for (int d = 0; d < c->lds; d++) {
      if (j + 1 == c->keys && d >= c->dim) break;
      REAL alone = c->sum[j * c->lds + d];
      if (d < c->dim) kernel(1, c->rows, 1, c->p + j * c->ldp, c->ldp, c->x + d, c->ldx, &alone, 1);
      assert_memory_equal(&alone, got + j * c->lds + d, sizeof alone);
    }
}

static void NAME(check_sums_tile)(NAME(tile_sums_kernel) kernel, struct NAME(sums_case) c,
                                  enum placement where, int one_in, uint64_t *state) {
  REAL p[TILE_MOST], x[TILE_MOST], sum[TILE_MOST];
  const int np = NAME(matrix_size)(c.keys, c.rows, c.ldp);
  const int nx = NAME(matrix_size)(c.rows, c.dim, c.ldx);
  const int ns = NAME(matrix_size)(c.keys, c.dim, c.lds);
  NAME(fill_tile)(np, p, 0, 1, one_in, state);
  NAME(fill_tile)(nx, x, -2, 2, one_in, state);
  NAME(fill_tile)(ns, sum, -9, 9, one_in, state);
  for (int t = 0; t < np; t++)
    if (t % c.ldp >= c.rows) p[t] = (REAL)NAN;
  for (int t = 0; t < nx; t++)
    if (t % c.ldx >= c.dim) x[t] = (REAL)NAN;
  c.p = guarded_place(&guarded_tile[0], where, (size_t)np, sizeof *p, p);
  c.x = guarded_place(&guarded_tile[1], where, (size_t)nx, sizeof *x, x);
  c.sum = sum;
  REAL *got = guarded_place(&guarded_tile[2], where, (size_t)ns, sizeof *sum, sum);
  kernel(c.keys, c.rows, c.dim, c.p, c.ldp, c.x, c.ldx, got, c.lds);
  for (int g = 0; g < 3; g++) guarded_check(&guarded_tile[g]);
  assert_memory_equal(c.p, p, (size_t)np * sizeof *p);
  assert_memory_equal(c.x, x, (size_t)nx * sizeof *x);
  NAME(assert_sums)(&c, got);
  if (!one_in) NAME(assert_sums_alone)(kernel, &c, got);
}

static void NAME(check_tile_sums)(NAME(tile_sums_kernel) kernel) {
  static const int rows[] = {0, 1, 2, 3, 16, 41};
  uint64_t state = 36;
  for (int keys = 0; keys < TILE_KEYS; keys++)
    for (int r = 0; r < 6; r++)
      for (int d = 0; d < TILE_DIMS; d++)
        for (enum placement where = AT_END; where < PLACEMENTS; where++)
          for (int one_in = 0; one_in <= 40; one_in += 40) {
            const int dim = tile_dim(d);
            const struct NAME(sums_case) c = {.keys = keys,
                                              .rows = rows[r],
                                              .dim = dim,
                                              .ldp = rows[r] + keys % 2,
                                              .ldx = dim + keys % 3,
                                              .lds = dim + keys % 2};
            NAME(check_sums_tile)(kernel, c, where, one_in, &state);
          }
}

/* The sum over the rows starts from zero, as that of tile_values. */
static void NAME(check_tile_sums_chain)(NAME(tile_sums_kernel) kernel) {
  const REAL big = 2 / EPSILON, p[2] = {1, 1};
  REAL x[2 * 48], sum[48];
  for (int t = 0; t < 96; t++) x[t] = 1;
  for (int t = 0; t < 48; t++) sum[t] = big;
  kernel(1, 2, 48, p, 2, x, 48, sum, 48);
  for (int t = 0; t < 48; t++) NAME(assert_same)(sum[t], big + 2);
}
