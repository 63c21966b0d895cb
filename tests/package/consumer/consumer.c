/* A C program of the installed library, by pkg-config. */
#include <nlsq/nlsq.h>
#include <stdio.h>

int main(void) {
  const double x[] = {0, 1, 2, 3}, y[] = {1, 3.1, 4.9, 7};
  const nlsq_column cx = nlsq_column_of(x, 4), cy = nlsq_column_of(y, 4);
  nlsq_result* fit = NULL;
  double success = 0;
  if (nlsq_curve_fit("a + b*x", &cx, 1, &cy, NULL, NULL, &fit) != NLSQ_OK) {
    fprintf(stderr, "%s\n", nlsq_last_error());
    return 1;
  }
  nlsq_result_number(fit, "success", &success);
  nlsq_result_free(fit);
  return success == 1 ? 0 : 2;
}
