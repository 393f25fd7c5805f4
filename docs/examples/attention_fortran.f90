! attention_fortran.f90 - attention on Fortran arrays, in both orders of their indices
!
! SPDX-License-Identifier: BSD-3-Clause
!
! Fortran keeps the first index together in memory, C the last. The library does not mind: strides
! say where the numbers are, and nothing is transposed.
!
!   q(dim, tokens)   one token's numbers lie together: row stride dim, column stride 1
!   q(tokens, dim)   one dimension's numbers do:       row stride 1, column stride tokens
program attention_fortran
  use, intrinsic :: iso_c_binding
  use sdpa
  implicit none

  integer, parameter :: queries = 5, keys = 7, dim = 4
  real(c_double), target :: q(dim, queries), k(dim, keys), v(dim, keys), out(dim, queries)
  real(c_double), target :: qt(queries, dim), kt(keys, dim), vt(keys, dim), outt(queries, dim)
  real(c_double) :: error, error_transposed

  call random_number(q)
  call random_number(k)
  call random_number(v)
  qt = transpose(q)
  kt = transpose(k)
  vt = transpose(v)

  call attend(c_loc(q), c_loc(k), c_loc(v), c_loc(out), .false.)
  call attend(c_loc(qt), c_loc(kt), c_loc(vt), c_loc(outt), .true.)
  error = largest_error(out)
  error_transposed = largest_error(transpose(outt))

  print '(a,i0,a,i0,a,i0)', 'Fortran: libsdpa ', sdpa_version(), ', causal attention of ', &
      queries, ' queries to the last of ', keys
  print '(a,3f10.6)', 'first output: ', out(1:3, 1)
  print '(a,es8.1,a,es8.1,a)', 'largest difference from the plain loop: ', error, &
      ' for q(dim, tokens), ', error_transposed, ' for q(tokens, dim)'
  ! A NaN fails this comparison.
  if (.not. (error <= 1e-6_c_double .and. error_transposed <= 1e-6_c_double)) error stop 1

contains

  ! One head. transposed: the arrays are (tokens, dim).
  subroutine attend(query, key, value, output, transposed)
    type(c_ptr), intent(in) :: query, key, value, output
    logical, intent(in) :: transposed
    type(sdpa_problem) :: p
    type(sdpa_args) :: a

    call check(sdpa_problem_init(p, c_sizeof(p)))
    p%query_type = SDPA_F64
    p%batch = 1
    p%query_heads = 1
    p%kv_heads = 1
    p%query_len = queries
    p%key_len = keys
    p%key_dim = dim
    p%value_dim = dim
    p%features = SDPA_CAUSAL
    p%alignment = SDPA_ALIGN_BOTTOM_RIGHT
    if (transposed) then
      p%query = sdpa_strides(row=1, col=queries)
      p%key = sdpa_strides(row=1, col=keys)
      p%value = sdpa_strides(row=1, col=keys)
      p%output = sdpa_strides(row=1, col=queries)
    else
      call check(sdpa_problem_layout(p, SDPA_LAYOUT_BHSD))
    end if

    call check(sdpa_args_init(a, c_sizeof(a)))
    a%query = query
    a%key = key
    a%value = value
    a%output = output
    call check(sdpa_attention(p, c_null_ptr, a), p)
  end subroutine

  ! Stops with the library's sentence about the problem, if there is one.
  subroutine check(status, problem)
    integer(c_int32_t), intent(in) :: status
    type(sdpa_problem), intent(in), optional :: problem
    character(kind=c_char), dimension(200) :: text
    integer :: i
    integer(c_int32_t) :: again

    if (status == SDPA_OK) return
    print '(a,i0)', 'libsdpa refused the call with status ', status
    if (present(problem)) then
      again = sdpa_problem_check(problem, c_null_ptr, text, size(text, kind=c_size_t))
      do i = 1, size(text)
        if (text(i) == c_null_char) exit
        write (*, '(a)', advance='no') text(i)
      end do
      print '(a,i0,a)', ' (', again, ')'
    end if
    error stop 1
  end subroutine

  ! Against the formula, on q, k and v. Query i, of the last 5 positions, attends the keys up to
  ! its own.
  function largest_error(actual) result(largest)
    real(c_double), intent(in) :: actual(dim, queries)
    real(c_double) :: largest, weight(keys), expected(dim)
    integer :: i, j, last

    largest = 0
    do i = 1, queries
      last = i + keys - queries
      do j = 1, last
        weight(j) = exp(dot_product(q(:, i), k(:, j)) / sqrt(real(dim, c_double)))
      end do
      expected = matmul(v(:, 1:last), weight(1:last)) / sum(weight(1:last))
      do j = 1, dim
        if (.not. (abs(actual(j, i) - expected(j)) <= largest)) &
            largest = abs(actual(j, i) - expected(j))
      end do
    end do
  end function
end program
