# style.gp - what the pictures have in common
#
# SPDX-License-Identifier: BSD-3-Clause
#
# Colours that colour-blind readers tell apart: Okabe and Ito, "Color Universal Design" (2008).
set encoding utf8
set terminal svg size 760,460 font "DejaVu Sans,14" background rgb "white" linewidth 1.2 dashlength 0.8
set output picture
set datafile missing "-"
set datafile columnheaders
set border 3 linecolor rgb "#444444"
set tics nomirror textcolor rgb "#222222"
set grid ytics linetype 1 linecolor rgb "#e4e4e4"
set style line 1 linecolor rgb "#0072b2" linewidth 2.4 pointtype 7 pointsize 0.7
set style line 2 linecolor rgb "#d55e00" linewidth 1.6 pointtype 5 pointsize 0.6
set style line 3 linecolor rgb "#009e73" linewidth 1.6 pointtype 9 pointsize 0.7
set style line 4 linecolor rgb "#cc79a7" linewidth 1.6 pointtype 11 pointsize 0.7
set style line 9 linecolor rgb "#444444" linewidth 1.2 dashtype 2
