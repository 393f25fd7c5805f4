# accuracy.gp - errors against the number of keys, for scores of three sizes
#
# SPDX-License-Identifier: BSD-3-Clause
#
# Variables: table (n, then the curves of size 1, of size 10, of size 100), picture, curves (of each
# size).
load system("dirname '".ARG0."'")."/style.gp"
set terminal svg size 980,420 font "DejaVu Sans,13" background rgb "white" linewidth 1.2
set multiplot layout 1,3 title "f32: largest error of an output element, relative to Σ weight · |v|" \
    margins 0.075,0.985,0.15,0.83 spacing 0.03
set logscale x 4
set logscale y 10
set xrange [50:21000]
set yrange [1e-8:2e-4]
set format y "10^{%L}"
set xtics ("64" 64, "256" 256, "1 Ki" 1024, "4 Ki" 4096, "16 Ki" 16384)
set xlabel "keys n"
do for [size = 0:2] {
  set title sprintf("scores of size %d", 10 ** size)
  if (size > 0) { set format y "" }
  # One legend, where the first plot is empty.
  if (size == 0) { set key top left Left reverse samplen 2 } else { set key off }
  plot for [i = 1:curves] table using 1:(column(1 + size * curves + i)) \
    with linespoints linestyle i title columnheader(1 + size * curves + i)
}
unset multiplot
