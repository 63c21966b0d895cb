/* Models: formulas, tapes and callbacks. A model is read, differentiated and compiled once, and serves any
 * number of fits and threads. Include <nlsq/nlsq.h>. */
#ifndef NLSQ_C_MODEL_H
#define NLSQ_C_MODEL_H

#include <nlsq/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1. A text: a formula ("a*exp(-b*x)+c"), the name of a built-in model ("gaussian"), or a sum of these
 * ("gaussian + linear"). `names` are the names of the predictors. With NULL, they are x, or x1 ... xk if
 * there are several. Built-in models, and formulas that are equivalent to one, compute their starting values
 * from the data. */
NLSQ_C_API int nlsq_model_text(const char* text, const char* const* names, size_t predictors,
                               nlsq_model** model);

/* 2. A tape: operations that are appended one after the other, each on results of earlier ones. The tape
 * becomes the same graph as a formula would, so it is differentiated, compiled to vector code, and evaluated
 * in low precision where that is safe. Each function below sets *node to the number of its result, which
 * later operations take. Numbers out of range and unknown names give NLSQ_ERROR_MODEL, and the tape does not
 * change. */
NLSQ_C_API int nlsq_tape_new(nlsq_tape** tape);
NLSQ_C_API int nlsq_tape_free(nlsq_tape* tape);
NLSQ_C_API int nlsq_tape_constant(nlsq_tape* tape, double value, int* node);
/* Appends predictor `index`, from 0. For a residual block, this is data column `index`. */
NLSQ_C_API int nlsq_tape_column(nlsq_tape* tape, size_t index, int* node);
/* Appends parameter `index`, from 0. For a residual block, these are the blocks' numbers, one block after the
 * other. */
NLSQ_C_API int nlsq_tape_parameter(nlsq_tape* tape, size_t index, int* node);
/* Appends an operation by its name in formulas (docs/formulas.md):
 *   1 operand     -  +  !  and the functions abs acos acosh asin asinh atan atanh besj0 besj1 cbrt ceil cos
 *                 cosh digamma erf erfc erfcx exp expm1 floor gamma lgamma log log10 log1p log2 sign sin
 *                 sinh sqrt tan tanh
 *   2 operands    +  -  *  /  ^  **  <  <=  >  >=  ==  !=  &&  ||  atan2 hypot pow mod min max fmod (sign of
 *                 the first operand, as in C), wofz_re, wofz_im (w(a + ib), the Faddeeva function)
 *   3 operands    if(condition, a, b), voigt(x, sigma, gamma)
 *   2 or more     min max + *
 * Comparisons and logic give 1 or 0; everything that is not 0 is true. */
NLSQ_C_API int nlsq_tape_operation(nlsq_tape* tape, const char* name, const int* operands, size_t count,
                                   int* node);
/* Marks a node as a result: the value of the model, or the next residual of a block. */
NLSQ_C_API int nlsq_tape_output(nlsq_tape* tape, int node);
/* Evaluates the outputs for one row, in double and in the order in which operations were appended. `outputs`
 * must have room for all outputs. This is for checks. Sizes smaller than the tape needs give
 * NLSQ_ERROR_ARGUMENT. */
NLSQ_C_API int nlsq_tape_evaluate(const nlsq_tape* tape, const double* columns, size_t column_count,
                                  const double* parameters, size_t parameter_count, double* outputs,
                                  size_t output_count);

/* Makes a model from a tape with one output. The tape is copied. `predictors` and `parameters` are their
 * numbers; the tape may use fewer. `names` are those of the parameters; with NULL, they are p0, p1 ... */
NLSQ_C_API int nlsq_model_tape(const nlsq_tape* tape, size_t predictors, size_t parameters,
                               const char* const* names, nlsq_model** model);

/* 3. A callback over all rows. `p` has all parameters. It fills `y`, one entry for each row of the fit, and,
 * if `jacobian` is not NULL, rows x parameters derivatives ∂y_i/∂p_j, row-major. It must know its rows and
 * predictors itself: the model has as many rows as y has in a fit. It returns 0 on success. Any other number
 * stops the fit with NLSQ_ERROR_CALLBACK. For a point where the model does not exist, write NaN and return 0.
 * Calls do not overlap within one fit, and come from the thread that called the fit. */
typedef int (*nlsq_function)(const double* p, double* y, double* jacobian, void* user);
/* Makes a model from a callback. If has_jacobian is 0, `jacobian` is always NULL, and derivatives are finite
 * differences (option differences). */
NLSQ_C_API int nlsq_model_callback(nlsq_function function, void* user, int has_jacobian, size_t parameters,
                                   const char* const* names, nlsq_model** model);

/* Sets a check of a tape or a formula: `function` computes the same model (never with a jacobian). Every fit
 * by nlsq_model_fit then calls it at its start and at its end, and compares all rows with the operations of
 * the tape in double. A difference that is larger than rounding explains (option recheck_tolerance, or 2^13
 * times the rounding of the operations) ends the fit with NLSQ_ERROR_RECHECK. With NULL there is no check. */
NLSQ_C_API int nlsq_model_set_recheck(nlsq_model* model, nlsq_function function, void* user);

NLSQ_C_API int nlsq_model_free(nlsq_model* model);

/* Return the number of parameters and of predictors (0 for a callback), and the name of parameter `index`.
 * The name is valid as long as the model. It is NULL for a wrong index or handle. */
NLSQ_C_API int nlsq_model_size(const nlsq_model* model, size_t* parameters, size_t* predictors);
NLSQ_C_API const char* nlsq_model_parameter(const nlsq_model* model, size_t index);
/* Returns the model as a formula, from its text or its tape; "" for a callback; NULL for a wrong handle.
 * Valid as long as the model. */
NLSQ_C_API const char* nlsq_model_formula(const nlsq_model* model);
/* Returns the built-in models, as the JSON of nlsq-fit --list-models --json -. Valid until the program
 * ends. */
NLSQ_C_API const char* nlsq_builtin_models_json(void);

#ifdef __cplusplus
}
#endif

#endif
