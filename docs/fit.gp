# Draws docs/fit.svg, the picture in the README: the data of the first example and the curve that nlsq-fit finds.
# Run in the root of the repository, with nlsq-fit on the PATH:
#
#     nlsq-fit data/decay.csv --model exp > fit.txt && gnuplot docs/fit.gp > docs/fit.svg
#
# The values and the interval come from the lines "a  102.684 ± 2.08 [98.4986, 106.87]" of the report.
set terminal svg size 640,360 font "sans-serif,13" background rgb "white"
set datafile separator comma

estimate(name) = real(system("awk '$1 == \"".name."\" && /±/ {print $2}' fit.txt"))
lower(name) = real(system("awk '$1 == \"".name."\" && /±/ {gsub(/[][,]/, \"\"); print $5}' fit.txt"))
upper(name) = real(system("awk '$1 == \"".name."\" && /±/ {gsub(/[][,]/, \"\"); print $6}' fit.txt"))
a = estimate("a"); b = estimate("b"); c = estimate("c")

set xlabel "day"
set ylabel "weight, kg"
set xrange [0:260]
set yrange [70:190]
set border 3 lc rgb "#444444"
set tics nomirror
set key top right reverse Left
set samples 80
set label 1 sprintf("weight = %.1f e^{−%.5f day} + %.1f", a, b, c) at 20, 110 tc rgb "#c05621" font ",14"
set object 1 rectangle from 0, lower("c") to 260, upper("c") fc rgb "#2b6cb0" fs transparent solid 0.15 noborder behind
plot a * exp(-b * x) + c with lines lw 2.5 lc rgb "#c05621" title "nlsq-fit, model exp", \
     "data/decay.csv" every ::1 with points pt 7 ps 0.45 lc rgb "#1a202c" title "measured", \
     c with lines dt 2 lw 1.5 lc rgb "#2b6cb0" title sprintf("plateau %.1f kg, 95 %% interval", c)
