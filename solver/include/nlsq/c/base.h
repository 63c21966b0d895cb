/* The basis of the C interface: status codes, error texts, handles and columns. Include <nlsq/nlsq.h>. */
#ifndef NLSQ_C_BASE_H
#define NLSQ_C_BASE_H

#include <stddef.h>

#if defined(__GNUC__)
#define NLSQ_C_API __attribute__((visibility("default")))
#else
#define NLSQ_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The status that a function returns. */
typedef enum nlsq_status {
  NLSQ_OK = 0,
  NLSQ_ERROR_ARGUMENT = 1, /* a NULL pointer, a size or an unknown name among the arguments */
  NLSQ_ERROR_HANDLE = 2,   /* NULL, freed, or a handle of another type */
  NLSQ_ERROR_MODEL = 3,    /* a formula that does not parse, an unknown model, a tape that breaks a rule */
  NLSQ_ERROR_OPTION = 4,   /* an option, a bound or a starting value breaks a rule */
  NLSQ_ERROR_DATA = 5,     /* NaN, infinity, sigma <= 0, lengths that disagree, fewer rows than parameters */
  NLSQ_ERROR_CALLBACK =
      6,                  /* a callback returned a number that is not 0: nlsq_last_error_number("callback") */
  NLSQ_ERROR_RECHECK = 7, /* a tape and the callback beside it disagree (nlsq_model_set_recheck) */
  NLSQ_ERROR_MEMORY = 8,  /* memory ran out */
  NLSQ_ERROR_INTERNAL = 9 /* a fault of the library; please report it */
} nlsq_status;

/* What is certified about a result, as in the JSON: "CONVERGED" ... The first three are success. */
typedef enum nlsq_verdict {
  NLSQ_CONVERGED = 0,
  NLSQ_NOISE_FLOOR = 1,
  NLSQ_RANK_DEFICIENT = 2,
  NLSQ_TOLERANCE = 3,
  NLSQ_BUDGET = 4,
  NLSQ_FAILED = 5
} nlsq_verdict;

/* Why the iteration ended, as "status" in the JSON: "converged" ... */
typedef enum nlsq_termination {
  NLSQ_ENDED_CONVERGED = 0,
  NLSQ_ENDED_TOLERANCE = 1,
  NLSQ_ENDED_NO_PROGRESS = 2,
  NLSQ_ENDED_MAX_ITERATIONS = 3,
  NLSQ_ENDED_TIME_LIMIT = 4,
  NLSQ_ENDED_USER_STOP = 5,
  NLSQ_ENDED_FAILURE = 6
} nlsq_termination;

typedef struct nlsq_options nlsq_options;
typedef struct nlsq_result nlsq_result;
typedef struct nlsq_model nlsq_model;
typedef struct nlsq_tape nlsq_tape;
typedef struct nlsq_problem nlsq_problem;

/* "0.1.0" */
NLSQ_C_API const char* nlsq_version(void);
/* The version, the kernels available and in use, and the libraries, as several lines. Valid until the thread
 * ends. */
NLSQ_C_API const char* nlsq_build_information(void);

/* "NLSQ_ERROR_DATA" ...; "unknown" for another number. */
NLSQ_C_API const char* nlsq_status_name(int status);
/* "CONVERGED" ... and "converged" ...; "unknown" for another number. */
NLSQ_C_API const char* nlsq_verdict_name(int verdict);
NLSQ_C_API const char* nlsq_termination_name(int termination);

/* The text of the last error of the calling thread: what is wrong, the value, and the remedy. A call that
 * succeeds does not change it. It is "" before the first error. Valid until the next error of this thread. */
NLSQ_C_API const char* nlsq_last_error(void);
/* A number that belongs to that error. Returns NLSQ_OK and sets *value, or NLSQ_ERROR_ARGUMENT if this error
 * has no such number (the error text does not change). Names:
 *   "status"           the status that was returned
 *   "row", "column"    where the data are wrong, from 0. Columns: the predictors, y, then sigma
 *   "position"         byte of the formula at which it does not parse, from 0
 *   "callback"         what the callback returned */
NLSQ_C_API int nlsq_last_error_number(const char* name, double* value);

/* The number of handles that were made and not freed yet, of all types. For tests that look for leaks. */
NLSQ_C_API size_t nlsq_live_handles(void);

/* Types of data in columns. */
typedef enum nlsq_type {
  NLSQ_F64 = 0,
  NLSQ_F32 = 1,
  NLSQ_I8 = 2,
  NLSQ_U8 = 3,
  NLSQ_I16 = 4,
  NLSQ_U16 = 5,
  NLSQ_I32 = 6,
  NLSQ_U32 = 7
} nlsq_type;

/* A column of numbers in the caller's memory. Entry i is at (char*)data + i * stride. If the stride is a
 * multiple of the size of an entry and the data are aligned, which they are in most arrays, nothing is
 * copied. */
typedef struct nlsq_column {
  const void* data;
  int type; /* nlsq_type */
  ptrdiff_t
      stride; /* in bytes from one entry to the next; may be negative. 0: one number, the same in every row */
  size_t count; /* entries */
} nlsq_column;

/* A column of data for each of many fits. Entry i of fit f is at (char*)column.data + f * fit_stride + i *
 * column.stride. */
typedef struct nlsq_batch_column {
  nlsq_column column;   /* of the first fit */
  ptrdiff_t fit_stride; /* in bytes from one fit to the next; may be negative. 0: all fits share the column */
} nlsq_batch_column;

/* Returns a contiguous column of doubles. */
static inline nlsq_column nlsq_column_of(const double* data, size_t count) {
  nlsq_column column;
  column.data = data;
  column.type = NLSQ_F64;
  column.stride = (ptrdiff_t)sizeof(double);
  column.count = count;
  return column;
}

#ifdef __cplusplus
}
#endif

#endif
