# A million counts of two decays over a background, the same on every machine:
#   awk -f docs/counts.awk > counts.csv
BEGIN {
  print "t,counts"
  seed = 1
  for (i = 0; i < 1000000; i++) {
    seed = (16807 * seed) % 2147483647
    t = i / 50000
    printf "%.5f,%.5f\n", t, 6 * exp(-0.9 * t) + 3 * exp(-0.15 * t) + 1 + 0.4 * (seed / 2147483647 - 0.5)
  }
}
