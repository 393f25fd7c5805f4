# gflops.gp - arithmetic a second against the number of tokens
#
# SPDX-License-Identifier: BSD-3-Clause
#
# Variables: table, picture, ceiling (GFLOP/s, 0: none), threads (a title).
load system("dirname '".ARG0."'")."/style.gp"
set title "8 heads, d = 64, f32, without a mask, ".threads
set xlabel "tokens n"
set ylabel "GFLOP/s"
set logscale x 2
set xrange [110:4700]
set yrange [0:*]
set offsets graph 0, 0, 0.06, 0
set key outside right center Left reverse samplen 2
peak = ceiling > 0 ? ceiling : NaN
plot peak linestyle 9 title "FMA peak", \
     for [i = 2:5] table using 1:i with linespoints linestyle i - 1 title columnheader(i)
