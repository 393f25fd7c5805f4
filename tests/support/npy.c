/* npy.c - the .npy format: magic, version, a header that is a Python dict literal, raw data
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The header is read by a small parser for just that dict: the three keys in any order, each once,
 * with free blanks. Source of the format: NumPy Enhancement Proposal 1 and numpy.lib.format.
 */
#include "npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static int
fail(char *text, size_t text_bytes, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (text_bytes > 0) vsnprintf(text, text_bytes, format, args);
  va_end(args);
  return -1;
}

static const struct {
  char name[4];
  uint8_t size;
} types[] = {
    [NPY_F64] = {"<f8", 8}, [NPY_F32] = {"<f4", 4},  [NPY_F16] = {"<f2", 2},
    [NPY_I64] = {"<i8", 8}, [NPY_BOOL] = {"|b1", 1}, [NPY_U8] = {"|u1", 1},
};

size_t npy_type_size(enum npy_type type) {
  return types[type].size;
}

const char *npy_type_name(enum npy_type type) {
  return types[type].name;
}

/* What is left of the header, and where to complain. */
struct cursor {
  const char *at, *end;
  char *text;
  size_t text_bytes;
};

static void skip_blanks(struct cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

static int take(struct cursor *c, char wanted) {
  skip_blanks(c);
  if (c->at == c->end || *c->at != wanted) return 0;
  c->at++;
  return 1;
}

static int take_word(struct cursor *c, const char *word) {
  size_t length = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return 0;
  c->at += length;
  return 1;
}

/* A quoted string without escapes, which the format never needs. */
static int read_string(struct cursor *c, char *value, size_t value_bytes) {
  skip_blanks(c);
  const int quote = c->at < c->end ? *c->at : '\0';
  if (quote != '\'' && quote != '"')
    return fail(c->text, c->text_bytes, "the header has no string where one must stand");
  const char *start = ++c->at;
  while (c->at < c->end && *c->at != quote) c->at++;
  size_t length = (size_t)(c->at - start);
  if (c->at == c->end || length >= value_bytes)
    return fail(c->text, c->text_bytes, "a string of the header does not end or is too long");
  c->at++;
  memcpy(value, start, length);
  value[length] = '\0';
  return 0;
}

static int read_type(struct cursor *c, struct npy_array *array) {
  char name[24];
  if (read_string(c, name, sizeof name) != 0) return -1;
  for (int type = NPY_F64; type <= NPY_U8; type++)
    if (strcmp(name, types[type].name) == 0) {
      array->type = (enum npy_type)type;
      return 0;
    }
  return fail(c->text, c->text_bytes,
              "descr is '%s'; it must be one of '<f8', '<f4', '<f2', '<i8', '|b1', '|u1'", name);
}

static int read_order(struct cursor *c) {
  if (take_word(c, "False")) return 0;
  return fail(c->text, c->text_bytes, "fortran_order is not False: only C order can be read");
}

static int read_dimension(struct cursor *c, int64_t *dimension) {
  skip_blanks(c);
  int64_t value = 0;
  const char *start = c->at;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    int digit = *c->at - '0';
    if (value > (INT64_MAX - digit) / 10)
      return fail(c->text, c->text_bytes, "a dimension of the shape is above 2^63 - 1");
    value = value * 10 + digit;
  }
  if (c->at == start)
    return fail(c->text, c->text_bytes, "the shape has no number where a dimension must stand");
  *dimension = value;
  return 0;
}

/* A tuple: (), (3,), (3, 4) or (3, 4,); (3) is a number in Python, not a shape. */
static int read_shape(struct cursor *c, struct npy_array *array) {
  int comma = 1;
  if (!take(c, '('))
    return fail(c->text, c->text_bytes, "the shape does not begin with a parenthesis");
  array->rank = 0;
  while (!take(c, ')')) {
    if (!comma)
      return fail(c->text, c->text_bytes, "the dimensions of the shape are not parted by commas");
    if (array->rank == NPY_MAX_RANK)
      return fail(c->text, c->text_bytes, "the array has more than %d dimensions", NPY_MAX_RANK);
    if (read_dimension(c, &array->shape[array->rank]) != 0) return -1;
    array->rank++;
    comma = take(c, ',');
  }
  if (array->rank == 1 && !comma)
    return fail(c->text, c->text_bytes, "the shape is a number in parentheses, not a tuple");
  return 0;
}

static int read_entry(struct cursor *c, struct npy_array *array, unsigned *seen) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  char key[24];
  unsigned which = 0;
  if (read_string(c, key, sizeof key) != 0) return -1;
  while (which < 3 && strcmp(key, keys[which]) != 0) which++;
  if (which == 3) return fail(c->text, c->text_bytes, "the header has an unknown key '%s'", key);
  if (*seen & 1u << which)
    return fail(c->text, c->text_bytes, "the header has the key '%s' twice", key);
  *seen |= 1u << which;
  if (!take(c, ':'))
    return fail(c->text, c->text_bytes, "the header has no colon after the key '%s'", key);
  if (which == 0) return read_type(c, array);
  return which == 1 ? read_order(c) : read_shape(c, array);
}

static int read_header(struct cursor *c, struct npy_array *array) {
  unsigned seen = 0;
  int comma = 1;
  if (!take(c, '{')) return fail(c->text, c->text_bytes, "the header does not begin with a brace");
  while (!take(c, '}')) {
    if (!comma)
      return fail(c->text, c->text_bytes, "the entries of the header are not parted by commas");
    if (read_entry(c, array, &seen) != 0) return -1;
    comma = take(c, ',');
  }
  if (seen != 7u)
    return fail(c->text, c->text_bytes, "the header lacks descr, fortran_order or shape");
  skip_blanks(c);
  if (c->at != c->end) return fail(c->text, c->text_bytes, "the header goes on after its dict");
  return 0;
}

/* Sets count. A 0 anywhere makes the product 0, whatever the other dimensions are. */
static int count_elements(struct npy_array *array, char *text, size_t text_bytes) {
  array->count = 1;
  for (int i = 0; i < array->rank; i++)
    if (array->shape[i] == 0) array->count = 0;
  for (int i = 0; i < array->rank && array->count > 0; i++) {
    if (array->count > INT64_MAX / 8 / array->shape[i])
      return fail(text, text_bytes, "the shape has more than 2^60 elements");
    array->count *= array->shape[i];
  }
  return 0;
}

/* Little-endian elements to the machine's own order, by arithmetic: right on any machine. */
static void decode(const unsigned char *bytes, struct npy_array *array) {
  size_t size = npy_type_size(array->type);
  for (int64_t i = 0; i < array->count; i++, bytes += size) {
    uint64_t word = 0;
    for (size_t k = size; k-- > 0;) word = word << 8 | bytes[k];
    switch (size) {
    case 8:
      ((uint64_t *)array->data)[i] = word;
      break;
    case 4:
      ((uint32_t *)array->data)[i] = (uint32_t)word;
      break;
    case 2:
      ((uint16_t *)array->data)[i] = (uint16_t)word;
      break;
    default:
      ((uint8_t *)array->data)[i] = (uint8_t)word;
      break;
    }
  }
}

static int read_data(const unsigned char *bytes, size_t size, struct npy_array *array, char *text,
                     size_t text_bytes) {
  if (count_elements(array, text, text_bytes) != 0) return -1;
  uint64_t wanted = (uint64_t)array->count * npy_type_size(array->type);
  if (wanted != size)
    return fail(text, text_bytes, "the shape needs %" PRIu64 " bytes of data, the file has %zu",
                wanted, size);
  for (size_t i = 0; array->type == NPY_BOOL && i < size; i++)
    if (bytes[i] > 1)
      return fail(text, text_bytes, "element %zu of a boolean array is %d", i, bytes[i]);
  array->data = malloc(size > 0 ? size : 1);
  if (array->data == NULL) return fail(text, text_bytes, "no memory for %zu bytes of data", size);
  decode(bytes, array);
  return 0;
}

static int parse_file(const unsigned char *bytes, size_t size, struct npy_array *array, char *text,
                      size_t text_bytes) {
  static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (size < 10 || memcmp(bytes, magic, sizeof magic) != 0)
    return fail(text, text_bytes, "this is not a .npy file: the first bytes are not its magic");
  if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
    return fail(text, text_bytes, "format version %d.%d is not 1.0, 2.0 or 3.0", bytes[6],
                bytes[7]);
  size_t start = bytes[6] == 1 ? 10 : 12;
  if (size < start) return fail(text, text_bytes, "the file ends within the header's length");
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (start == 12) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (length > size - start)
    return fail(text, text_bytes, "the header says %zu bytes, the file has %zu", length,
                size - start);
  const char *header = (const char *)bytes + start;
  struct cursor c = {header, header + length, text, text_bytes};
  if (read_header(&c, array) != 0) return -1;
  return read_data(bytes + start + length, size - start - length, array, text, text_bytes);
}

int npy_parse(const void *bytes, size_t size, struct npy_array *array, char *text,
              size_t text_bytes) {
  memset(array, 0, sizeof *array);
  if (text_bytes > 0) text[0] = '\0';
  int result = parse_file(bytes, size, array, text, text_bytes);
  if (result != 0) memset(array, 0, sizeof *array);
  return result;
}

/* The whole stream in one block, of a length that need not be known before (pipes have none). */
static unsigned char *read_stream(FILE *file, size_t *size) {
  size_t capacity = 1u << 16;
  unsigned char *bytes = malloc(capacity);
  *size = 0;
  while (bytes != NULL) {
    *size += fread(bytes + *size, 1, capacity - *size, file);
    if (*size < capacity) return bytes;
    unsigned char *larger = capacity <= SIZE_MAX / 2 ? realloc(bytes, capacity * 2) : NULL;
    if (larger == NULL) free(bytes);
    capacity *= 2;
    bytes = larger;
  }
  return NULL;
}

int npy_read(const char *path, struct npy_array *array, char *text, size_t text_bytes) {
  char reason[256];
  memset(array, 0, sizeof *array);
  if (text_bytes > 0) text[0] = '\0';
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return fail(text, text_bytes, "%s: cannot be opened: %s", path, strerror(errno));
  size_t size;
  unsigned char *bytes = read_stream(file, &size);
  int read_error = ferror(file);
  int read_errno = errno;
  fclose(file);
  int result;
  if (bytes == NULL)
    result = fail(text, text_bytes, "%s: no memory to read it", path);
  else if (read_error)
    result = fail(text, text_bytes, "%s: cannot be read: %s", path, strerror(read_errno));
  else if ((result = npy_parse(bytes, size, array, reason, sizeof reason)) != 0)
    fail(text, text_bytes, "%s: %s", path, reason);
  free(bytes);
  return result;
}

void npy_free(struct npy_array *array) {
  free(array->data);
  memset(array, 0, sizeof *array);
}
