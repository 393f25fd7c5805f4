/* test_npy.c - the .npy reader: what NumPy writes, and every way a file can be damaged
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Files are put together here, byte by byte as numpy.lib.format describes them, in blocks of
 * exactly their size, so that a sanitizer sees any read beyond the end.
 */
#define _POSIX_C_SOURCE 200809L

#include "npy.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct file {
  unsigned char *bytes;
  size_t size;
};

/* Version `major`.0 with the given header and data; the caller frees bytes. */
static struct file make(int major, const char *header, const void *data, size_t data_bytes) {
  size_t length = strlen(header), start = major == 1 ? 10 : 12;
  struct file f = {NULL, start + length + data_bytes};
  f.bytes = malloc(f.size);
  assert_non_null(f.bytes);
  memcpy(f.bytes, "\x93NUMPY", 6);
  f.bytes[6] = (unsigned char)major;
  f.bytes[7] = 0;
  for (size_t i = 8; i < start; i++) f.bytes[i] = (unsigned char)(length >> 8 * (i - 8));
  memcpy(f.bytes + start, header, length);
  if (data_bytes > 0) memcpy(f.bytes + start + length, data, data_bytes);
  return f;
}

static void assert_reads(int major, const char *header, const void *data, size_t data_bytes,
                         struct npy_array *array) {
  char text[200] = "untouched";
  struct file f = make(major, header, data, data_bytes);
  if (npy_parse(f.bytes, f.size, array, text, sizeof text) != 0) fail_msg("%s: %s", header, text);
  assert_string_equal(text, "");
  assert_non_null(array->data);
  free(f.bytes);
}

/* The parse fails, with `part` in its sentence, and leaves an array of zeros. */
static void assert_fails_bytes(const void *bytes, size_t size, const char *part) {
  static const struct npy_array zero;
  struct npy_array array;
  char text[200] = "";
  memset(&array, 0x5a, sizeof array);
  if (npy_parse(bytes, size, &array, text, sizeof text) != -1) fail_msg("accepted: %s", part);
  if (strstr(text, part) == NULL) fail_msg("\"%s\" does not say \"%s\"", text, part);
  assert_true(array.data == NULL && array.rank == zero.rank && array.count == zero.count);
  assert_memory_equal(array.shape, zero.shape, sizeof zero.shape);
}

static void assert_fails(const char *header, size_t data_bytes, const char *part) {
  static const unsigned char data[64];
  struct file f = make(1, header, data, data_bytes);
  assert_fails_bytes(f.bytes, f.size, part);
  free(f.bytes);
}

static void reads_every_type(void **state) {
  static const unsigned char f64[] = {0, 0, 0, 0, 0, 0, 0xf8, 0xbf, 1, 0, 0, 0, 0, 0, 0, 0};
  static const unsigned char f32[] = {0, 0, 0xc0, 0x3f, 0, 0, 0x80, 0xff};
  static const unsigned char f16[] = {0x00, 0x3e, 0x01, 0xfc};
  static const unsigned char i64[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                      8,    7,    6,    5,    4,    3,    2,    1};
  static const unsigned char small[] = {1, 0};
  struct npy_array a;
  (void)state;
  assert_reads(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }  \n", f64, 16, &a);
  assert_int_equal(a.type, NPY_F64);
  assert_true(((double *)a.data)[0] == -1.5 && ((double *)a.data)[1] == 0x1p-1074);
  npy_free(&a);
  assert_reads(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", f32, 8, &a);
  assert_int_equal(a.type, NPY_F32);
  assert_true(((float *)a.data)[0] == 1.5f && ((float *)a.data)[1] < -3e38f);
  npy_free(&a);
  assert_reads(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n", f16, 4, &a);
  assert_int_equal(a.type, NPY_F16);
  assert_true(((uint16_t *)a.data)[0] == 0x3e00 && ((uint16_t *)a.data)[1] == 0xfc01);
  npy_free(&a);
  assert_reads(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n", i64, 16, &a);
  assert_int_equal(a.type, NPY_I64);
  assert_true(((int64_t *)a.data)[0] == -2);
  assert_true(((int64_t *)a.data)[1] == INT64_C(0x0102030405060708));
  npy_free(&a);
  assert_reads(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n", small, 2, &a);
  assert_int_equal(a.type, NPY_BOOL);
  assert_memory_equal(a.data, small, 2);
  npy_free(&a);
  assert_reads(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", small, 2, &a);
  assert_int_equal(a.type, NPY_U8);
  assert_memory_equal(a.data, small, 2);
  npy_free(&a);
  assert_null(a.data);
}

static void reads_every_shape(void **state) {
  static const struct {
    const char *shape;
    int32_t rank;
    int64_t dims[NPY_MAX_RANK], count;
  } cases[] = {
      {"()", 0, {0}, 1},
      {"(0,)", 1, {0}, 0},
      {"(5,)", 1, {5}, 5},
      {"(2, 3)", 2, {2, 3}, 6},
      {"(2,3,)", 2, {2, 3}, 6},
      {"( 2 , 3 )", 2, {2, 3}, 6},
      {"(4294967296, 0, 4294967296)", 3, {INT64_C(1) << 32, 0, INT64_C(1) << 32}, 0},
      {"(1, 2, 1, 2, 1, 2, 1, 2)", 8, {1, 2, 1, 2, 1, 2, 1, 2}, 16},
  };
  static const unsigned char data[16];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char header[200];
    struct npy_array a;
    snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }\n",
             cases[i].shape);
    assert_reads(1, header, data, (size_t)cases[i].count, &a);
    assert_int_equal(a.rank, cases[i].rank);
    assert_true(a.count == cases[i].count);
    assert_memory_equal(a.shape, cases[i].dims, sizeof a.shape);
    npy_free(&a);
  }
}

static void reads_versions_orders_and_quotes(void **state) {
  struct npy_array a;
  (void)state;
  for (int major = 1; major <= 3; major++) {
    assert_reads(major, "{\"shape\":(1,),\"descr\":\"|u1\",\"fortran_order\":False}", "x", 1, &a);
    assert_true(a.rank == 1 && a.count == 1 && *(char *)a.data == 'x');
    npy_free(&a);
  }
}

static void rejects_damaged_headers(void **state) {
#define AROUND(shape) "{'descr': '|u1', 'fortran_order': False, 'shape': " shape "}"
  static const struct {
    const char *header, *part;
  } cases[] = {
      {"", "brace"},
      {"  ", "brace"},
      {"{", "string"},
      {"{'descr", "does not end"},
      {"{'descr'", "colon"},
      {"{'descr':", "string"},
      {"{'descr': '|u1'", "commas"},
      {"{'descr': '|u1',", "string"},
      {"{}", "lacks"},
      {"{'descr': '|u1', 'fortran_order': False}", "lacks"},
      {"{'descr': '|u1', 'shape': (1,)}", "lacks"},
      {"{'descr': '|u1' 'shape': (1,)}", "commas"},
      {"{'descr': '|u1', 'descr': '|u1'}", "twice"},
      {"{'descr': '|u1', 'extra': False}", "unknown key 'extra'"},
      {"{'a key that is far too long to be one of the three': 1}", "too long"},
      {"{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}", "descr is '>f8'"},
      {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", "descr is '<c16'"},
      {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", "string"},
      {"{'descr': '|u1', 'fortran_order': True, 'shape': (1,)}", "fortran_order"},
      {"{'descr': '|u1', 'fortran_order': F", "fortran_order"},
      {AROUND("1"), "parenthesis"},
      {AROUND("(1)"), "not a tuple"},
      {AROUND("(,)"), "no number"},
      {AROUND("(-1,)"), "no number"},
      {AROUND("(1 2)"), "commas"},
      {AROUND("(1,,2)"), "no number"},
      {AROUND("(9223372036854775808,)"), "above 2^63 - 1"},
      {AROUND("(99999999999999999999,)"), "above 2^63 - 1"},
      {AROUND("(4294967296, 4294967296)"), "2^60"},
      {AROUND("(9223372036854775807,)"), "2^60"},
      {AROUND("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "more than 8 dimensions"},
      {AROUND("(1,)") " x", "after its dict"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1", "commas"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,", "no number"},
  };
#undef AROUND
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_fails(cases[i].header, 1, cases[i].part);
}

static void rejects_data_of_another_size(void **state) {
  (void)state;
  assert_fails("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", 15, "needs 16 bytes");
  assert_fails("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", 17, "the file has 17");
  assert_fails("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", 0, "the file has 0");
  assert_fails("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 8, "needs 4 bytes");
  assert_fails("{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", 1, "needs 0 bytes");
}

static void rejects_a_boolean_of_two(void **state) {
  struct file f = make(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\1\2", 2);
  (void)state;
  assert_fails_bytes(f.bytes, f.size, "element 1 of a boolean array is 2");
  free(f.bytes);
}

/* Every proper prefix of a good file is an error, and none is read beyond its end. */
static void rejects_every_prefix(void **state) {
  static const unsigned char data[24];
  (void)state;
  for (int major = 1; major <= 2; major++) {
    struct file f = make(major, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", data,
                         sizeof data);
    for (size_t size = 0; size < f.size; size++) {
      unsigned char *prefix = malloc(size > 0 ? size : 1);
      assert_non_null(prefix);
      memcpy(prefix, f.bytes, size);
      assert_fails_bytes(prefix, size, "");
      free(prefix);
    }
    free(f.bytes);
  }
}

static void rejects_other_magic_and_versions(void **state) {
  struct file f = make(1, "{'descr': '|u1', 'fortran_order': False, 'shape': ()}", "x", 1);
  (void)state;
  f.bytes[6] = 4;
  assert_fails_bytes(f.bytes, f.size, "version 4.0");
  f.bytes[6] = 1;
  f.bytes[7] = 1;
  assert_fails_bytes(f.bytes, f.size, "version 1.1");
  f.bytes[7] = 0;
  f.bytes[0] = 0x92;
  assert_fails_bytes(f.bytes, f.size, "not a .npy file");
  free(f.bytes);
}

static void sentence_fits_its_buffer(void **state) {
  struct npy_array a;
  char text[8];
  (void)state;
  memset(text, 'x', sizeof text);
  assert_int_equal(npy_parse("", 0, &a, text, 5), -1);
  assert_int_equal(strlen(text), 4);
  assert_int_equal(text[5], 'x');
  assert_int_equal(npy_parse("", 0, &a, NULL, 0), -1);
}

static void reads_files(void **state) {
  char path[] = "test_npy_XXXXXX", text[300];
  const size_t n = 100000; /* more than the reader's first block */
  uint8_t *data = malloc(n);
  struct npy_array a;
  (void)state;
  assert_non_null(data);
  for (size_t i = 0; i < n; i++) data[i] = (uint8_t)(i * 7 + (i >> 8));
  struct file f = make(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (100000,)}", data, n);
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  assert_true(write(descriptor, f.bytes, f.size) == (ssize_t)f.size);
  close(descriptor);
  int result = npy_read(path, &a, text, sizeof text);
  assert_int_equal(truncate(path, (off_t)f.size - 1), 0);
  struct npy_array shorter;
  char sentence[300];
  int shorter_result = npy_read(path, &shorter, sentence, sizeof sentence);
  unlink(path);
  assert_int_equal(result, 0);
  assert_true((size_t)a.count == n);
  assert_memory_equal(a.data, data, n);
  npy_free(&a);
  assert_int_equal(shorter_result, -1);
  assert_non_null(strstr(sentence, path));
  assert_non_null(strstr(sentence, "the file has 99999"));
  assert_int_equal(npy_read("no-such-file.npy", &a, text, sizeof text), -1);
  assert_non_null(strstr(text, "no-such-file.npy: cannot be opened"));
  assert_int_equal(npy_read(".", &a, text, sizeof text), -1);
  free(f.bytes);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_type),
      cmocka_unit_test(reads_every_shape),
      cmocka_unit_test(reads_versions_orders_and_quotes),
      cmocka_unit_test(rejects_damaged_headers),
      cmocka_unit_test(rejects_data_of_another_size),
      cmocka_unit_test(rejects_a_boolean_of_two),
      cmocka_unit_test(rejects_every_prefix),
      cmocka_unit_test(rejects_other_magic_and_versions),
      cmocka_unit_test(sentence_fits_its_buffer),
      cmocka_unit_test(reads_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
