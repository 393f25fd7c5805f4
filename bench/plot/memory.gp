# memory.gp - memory above that of the process's start, against the number of tokens
#
# SPDX-License-Identifier: BSD-3-Clause
#
# Variables: table, picture.
load system("dirname '".ARG0."'")."/style.gp"
set title "Memory for one head, d = 64, f32: inputs, outputs and everything else"
set xlabel "tokens n"
set ylabel "MB above the start"
set logscale x 2
set logscale y 10
set format y "%g"
set xtics 256, 4
set key outside right center Left reverse samplen 2
plot table using 1:5 with lines linestyle 9 title "n × n scores", \
     "" using 1:3 with linespoints linestyle 2 title "engine blas", \
     "" using 1:2 with linespoints linestyle 1 title "engine tiled", \
     "" using 1:4 with lines linestyle 3 title "inputs and output"
