#!/usr/bin/env Rscript
# Computes statistics of the fits of published_statistics.json by R's nls, for published_statistics_r.json. R finds parameters,
# covariance, residual sum, AIC and BIC itself, from derivatives by deriv(). It has no bands for nls; they are computed here
# from its covariance and from deriv(). Nothing of nlsq is used. The script needs R and its package jsonlite.
#
# Rscript tests/accuracy/published/published_statistics.R > tests/accuracy/published/published_statistics_r.json
library(jsonlite)

here <- "tests/accuracy/published"
problems <- fromJSON(file.path(here, "published_statistics.json"), simplifyVector = FALSE)

read_rows <- function(problem) {
  rows <- read.csv(file.path("data", problem$file), header = FALSE, skip = 1)
  if (!is.null(problem$group)) rows <- rows[rows[[3]] == problem$group, ]
  data.frame(x = rows[[1]], y = rows[[2]])
}

in_r <- function(text) parse(text = gsub("pi", "3.141592653589793", text, fixed = TRUE))[[1]]

statistics <- function(problem) {
  rows <- read_rows(problem)
  names <- unlist(problem$parameters)
  model <- deriv(in_r(problem$formula), names, function.arg = c("x", names))
  weights <- if (is.null(problem$sigma)) rep(1, nrow(rows)) else 1 / eval(parse(text = problem$sigma), rows)^2
  call <- as.call(c(as.name("model"), as.name("x"), lapply(names, as.name)))
  formula <- eval(substitute(y ~ right, list(right = call)))
  environment(formula) <- environment()
  # Not every start of NIST leads R's Gauss-Newton steps to the minimum. This one lies beside it, by no fixed share.
  shares <- 1 + 1e-3 * sin(seq_along(names))
  start <- setNames(as.list(unlist(problem$values) * shares), names)
  fit <- nls(formula, data = rows, start = start, weights = weights,
             control = nls.control(maxiter = 500, tol = 1e-11, scaleOffset = 0, warnOnly = TRUE))
  estimates <- coef(fit)
  covariance <- vcov(fit)
  at <- unlist(problem$at)
  gradient <- attr(do.call(model, c(list(at), as.list(unname(estimates)))), "gradient")
  of_the_curve <- rowSums((gradient %*% covariance) * gradient)
  t <- qt(0.975, df.residual(fit))
  whole <- if (is.null(problem$sigma)) t * sqrt(of_the_curve + sigma(fit)^2) else NULL
  list(name = problem$name, file = problem$file, group = problem$group, sigma = problem$sigma,
       formula = problem$formula, parameters = problem$parameters, start = problem$start,
       values = unname(estimates), covariance = unname(covariance), chisqr = deviance(fit),
       log_weights = sum(log(weights)), aic = AIC(fit), bic = BIC(fit), at = at,
       half_width = t * sqrt(of_the_curve), of_a_new_row = whole)
}

lines <- vapply(problems, function(problem)
  as.character(toJSON(statistics(problem), digits = NA, auto_unbox = TRUE, null = "null")), "")
cat("[\n", paste(lines, collapse = ",\n"), "\n]\n", sep = "")
