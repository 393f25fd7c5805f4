! sdpa.f90 - Fortran declarations of the part of sdpa/sdpa.h that a forward call needs
!
! SPDX-License-Identifier: BSD-3-Clause
!
! The derived types are the C structs of version 0.1, field by field. Fortran has no unsigned
! integers; the values used here are small, so signed ones of the same size do. Fields of a struct
! are only ever appended, and `size` tells the library which ones this program knows, so the module
! also works with later versions of the library.
module sdpa
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer(c_int32_t), parameter, public :: SDPA_OK = 0
  integer(c_int32_t), parameter, public :: SDPA_F64 = 1, SDPA_F32 = 2, SDPA_BF16 = 3, &
    SDPA_F16 = 4
  integer(c_int32_t), parameter, public :: SDPA_LAYOUT_BHSD = 1, SDPA_LAYOUT_BSHD = 2
  integer(c_int32_t), parameter, public :: SDPA_ALIGN_NONE = 0, SDPA_ALIGN_TOP_LEFT = 1
  integer(c_int32_t), parameter, public :: SDPA_ALIGN_BOTTOM_RIGHT = 2, SDPA_ALIGN_OFFSET = 3
  ! Features, to be added up.
  integer(c_int32_t), parameter, public :: SDPA_CAUSAL = 1, SDPA_WINDOW = 2, SDPA_SCALE = 4
  integer(c_int32_t), parameter, public :: SDPA_MASK = 8, SDPA_BIAS = 16, SDPA_ALIBI = 32
  integer(c_int32_t), parameter, public :: SDPA_SINKS = 64, SDPA_KEY_LENS = 128
  integer(c_int32_t), parameter, public :: SDPA_QUERY_LENS = 256, SDPA_OFFSETS = 512
  integer(c_int32_t), parameter, public :: SDPA_WEIGHTS = 65536, SDPA_LSE = 131072
  integer(c_int32_t), parameter, public :: SDPA_SCORES = 262144, SDPA_NO_OUTPUT = 524288

  type, bind(c), public :: sdpa_strides ! in elements
    integer(c_int64_t) :: batch = 0, head = 0, row = 0, col = 0
  end type

  type, bind(c), public :: sdpa_problem
    integer(c_int32_t) :: size, features
    integer(c_int32_t) :: query_type, key_type, value_type, output_type, bias_type
    integer(c_int32_t) :: alignment, score_stage, reserved0
    integer(c_int64_t) :: batch, query_heads, kv_heads
    integer(c_int64_t) :: query_len, key_len, key_dim, value_dim
    real(c_double) :: scale, softcap
    integer(c_int64_t) :: window_left, window_right, offset
    type(sdpa_strides) :: query, key, value, output
    type(sdpa_strides) :: mask, bias, weights, scores, lse
  end type

  type, bind(c), public :: sdpa_args
    integer(c_int32_t) :: size, reserved0
    type(c_ptr) :: query, key, value, output
    type(c_ptr) :: mask, bias, alibi_slopes, sinks
    type(c_ptr) :: key_lens, query_lens, offsets
    type(c_ptr) :: weights, scores, lse
  end type

  interface
    function sdpa_problem_init(problem, size) bind(c) result(status)
      import :: sdpa_problem, c_size_t, c_int32_t
      type(sdpa_problem), intent(out) :: problem
      integer(c_size_t), value :: size
      integer(c_int32_t) :: status
    end function

    function sdpa_problem_layout(problem, layout) bind(c) result(status)
      import :: sdpa_problem, c_int32_t
      type(sdpa_problem), intent(inout) :: problem
      integer(c_int32_t), value :: layout
      integer(c_int32_t) :: status
    end function

    function sdpa_args_init(args, size) bind(c) result(status)
      import :: sdpa_args, c_size_t, c_int32_t
      type(sdpa_args), intent(out) :: args
      integer(c_size_t), value :: size
      integer(c_int32_t) :: status
    end function

    ! options: c_null_ptr for all defaults
    function sdpa_attention(problem, options, args) bind(c) result(status)
      import :: sdpa_problem, sdpa_args, c_ptr, c_int32_t
      type(sdpa_problem), intent(in) :: problem
      type(c_ptr), value :: options
      type(sdpa_args), intent(in) :: args
      integer(c_int32_t) :: status
    end function

    ! The sentence for a person. text_bytes: the length of text.
    function sdpa_problem_check(problem, options, text, text_bytes) bind(c) result(status)
      import :: sdpa_problem, c_ptr, c_char, c_size_t, c_int32_t
      type(sdpa_problem), intent(in) :: problem
      type(c_ptr), value :: options
      character(kind=c_char), intent(out) :: text(*)
      integer(c_size_t), value :: text_bytes
      integer(c_int32_t) :: status
    end function

    function sdpa_version() bind(c) result(version)
      import :: c_int32_t
      integer(c_int32_t) :: version
    end function
  end interface

  public :: sdpa_problem_init, sdpa_problem_layout, sdpa_args_init
  public :: sdpa_attention, sdpa_problem_check, sdpa_version
end module
