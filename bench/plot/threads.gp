# threads.gp - time against the number of threads
#
# SPDX-License-Identifier: BSD-3-Clause
#
# Variables: table, picture, counts (of thread counts: the first is 1).
load system("dirname '".ARG0."'")."/style.gp"
set title "Time as a share of that with one thread, engine tiled, f32"
set ylabel "time / time with one thread"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.85 noborder
set boxwidth 0.92
set yrange [0:*]
set offsets graph 0, 0, 0.08, 0
set xtics scale 0
set bmargin 5
set key outside right center Left reverse samplen 1
# Bars of a cluster are 1 / (counts + 1) apart.
shift(i) = (i - 1 - (counts - 1) / 2.0) / (counts + 1)
plot for [i = 1:counts] table using (column(i + 1)):xtic(1) linestyle i title columnheader(i + 1), \
     for [i = 1:counts] "" using ($0 + shift(i)):(column(i + 1)):(sprintf("%.2f", column(i + 1))) \
       with labels font ",12" offset 0, 0.6 notitle
