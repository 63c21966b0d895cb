# A decay, fitted by nlsq and by R's nls. nlsq_r.c says how the library for it is made.
dyn.load(paste0("nlsq_r", .Platform$dynlib.ext))

# Fits a formula or a built-in model to y. `x` is a vector, or a matrix with a column for each predictor, which
# the formula calls x, or x1, x2 ... `start` has starting values: "a=1,b=2".
nlsq_fit <- function(model, x, y, start = "") {
  x <- as.matrix(x)
  stopifnot(is.numeric(x), is.numeric(y), nrow(x) == length(y))
  most <- 100L
  blank <- strrep(" ", 3999)
  # NAOK: the library finds what is not a number, and names its row.
  r <- .C("nlsq_r_fit", model, as.double(x), ncol(x), as.double(y), length(y), start, most,
          parameters = double(most), errors = double(most), count = 0L, certified = 0L, names = blank,
          message = blank, NAOK = TRUE)
  if (r$count < 0) stop(r$message)
  used <- seq_len(r$count)
  names <- strsplit(r$names, "\n")[[1]]
  list(table = data.frame(value = r$parameters[used], error = r$errors[used], row.names = names),
       certified = r$certified == 1, message = r$message)
}

t <- seq(0, 4, length.out = 200)
y <- 2.5 * exp(-1.3 * t) + 0.5 + 0.05 * sin(40 * t)

fit <- nlsq_fit("a*exp(-b*x)+c", t, y)  # it needs no start
print(fit$table)
cat(fit$message, "\n")

theirs <- summary(nls(y ~ a * exp(-b * t) + c, start = list(a = 2, b = 1, c = 0)))$coefficients
stopifnot(fit$certified,
          all.equal(fit$table$value, unname(theirs[, "Estimate"]), tolerance = 1e-5),
          all.equal(fit$table$error, unname(theirs[, "Std. Error"]), tolerance = 1e-5))
cat("nls gives the same values and errors\n")

plane <- nlsq_fit("p*x1 + q*x2", cbind(t, t^2), 2 * t + 3 * t^2)
stopifnot(all.equal(plane$table$value, c(2, 3)))

wrong <- tryCatch(nlsq_fit("a*x + b", t, replace(y, 7, NA)), error = conditionMessage)
cat("a wrong number is refused:", wrong, "\n")
stopifnot(grepl("row 6", wrong))  # rows are counted from 0
