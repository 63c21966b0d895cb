/* Problems of any structure: parameter blocks, and residual blocks that each depend on a few of them (bundle
 * adjustment, pose graphs, several data sets with shared parameters). Include <nlsq/nlsq.h>. */
#ifndef NLSQ_C_PROBLEM_H
#define NLSQ_C_PROBLEM_H

#include <nlsq/c/base.h>
#include <nlsq/c/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a problem, which minimizes ½ Σ_b ρ_b(‖r_b‖²). It must be used by one thread at a time. */
NLSQ_C_API int nlsq_problem_new(nlsq_problem** problem);
NLSQ_C_API int nlsq_problem_free(nlsq_problem* problem);

/* Declares a parameter block: `size` doubles in the caller's memory, which must live as long as the problem.
 * Its address identifies it in all other functions. A solve reads the start from it and writes the result
 * into it. */
NLSQ_C_API int nlsq_problem_add_parameters(nlsq_problem* problem, double* block, size_t size);
/* Sets the manifold of parameters that are not a plain vector. `manifold` is "quaternion" (w, x, y, z),
 * "eigen_quaternion" (x, y, z, w), "sphere N", "line N", "euclidean N", "subset N: 0,2" (a vector of N
 * numbers with these held), or several, one after the other: "quaternion + euclidean 3". With NULL or "", the
 * block is a plain vector. */
NLSQ_C_API int nlsq_problem_set_manifold(nlsq_problem* problem, double* block, const char* manifold);
/* If constant is 1, a solve does not change the block. If it is 0, a solve changes it. */
NLSQ_C_API int nlsq_problem_set_constant(nlsq_problem* problem, double* block, int constant);
/* Sets one bound for each number of the block. ±INFINITY means no bound, and NULL means no bounds on this
 * side. */
NLSQ_C_API int nlsq_problem_set_bounds(nlsq_problem* problem, double* block, const double* lower,
                                       const double* upper);
/* Blocks of the lowest group are eliminated first (C++: set_elimination_group). Optional. */
NLSQ_C_API int nlsq_problem_set_elimination_group(nlsq_problem* problem, double* block, int group);

/* Adds `count` residual blocks of one tape, whose outputs are the residuals. `columns` has one entry for each
 * block added, in each column, and is copied. `blocks` holds count x block_count addresses, row-major: those
 * of the first residual block, of the second ... The tape's parameters are the numbers of these blocks, one
 * block after the other. `loss` is as the option loss; NULL means linear. */
NLSQ_C_API int nlsq_problem_add_tape(nlsq_problem* problem, const nlsq_tape* tape, const nlsq_column* columns,
                                     size_t column_count, size_t count, const char* loss, double loss_scale,
                                     double* const* blocks, size_t block_count);

/* A residual block by a callback, which fills `residuals` entries from the numbers of its parameter blocks.
 * `jacobians` is NULL, or has one pointer for each block, which is NULL or points to residuals x size of the
 * block numbers, row-major, to be filled. The callback returns 0 on success, and 1 if the residuals do not
 * exist at this point. Any other number stops the solve with NLSQ_ERROR_CALLBACK. Several threads call it at
 * once, unless the option threads is 1. */
typedef int (*nlsq_block_function)(const double* const* blocks, double* residuals, double* const* jacobians,
                                   void* user);
/* Adds a residual block that calls a callback. If has_jacobian is 0, derivatives are finite differences. */
NLSQ_C_API int nlsq_problem_add_callback(nlsq_problem* problem, nlsq_block_function function, void* user,
                                         int has_jacobian, size_t residuals, const char* loss,
                                         double loss_scale, double* const* blocks, size_t block_count);

/* Returns the numbers of parameter blocks, residual blocks, residuals and parameters. */
NLSQ_C_API int nlsq_problem_size(const nlsq_problem* problem, size_t* parameter_blocks,
                                 size_t* residual_blocks, size_t* residuals, size_t* parameters);
/* Computes the cost, and unless `residuals` is NULL all residuals, at the present values. The residuals are
 * in the order in which blocks were added, without losses. */
NLSQ_C_API int nlsq_problem_evaluate(const nlsq_problem* problem, double* cost, double* residuals,
                                     size_t residual_count);
/* Solves, and stores the best point in the parameter blocks. On an error they are unchanged. */
NLSQ_C_API int nlsq_problem_solve(nlsq_problem* problem, const nlsq_options* options, nlsq_result** result);
/* Computes the covariance (JᵀJ)⁻¹ of the chosen blocks together at the present values, n x n with n the sum
 * of their sizes, for residuals in units of their standard deviations. `covariance` must have room for
 * `entries` = n * n numbers. They are NaN if the data do not determine the parameters. */
NLSQ_C_API int nlsq_problem_covariance(nlsq_problem* problem, double* const* blocks, size_t block_count,
                                       double* covariance, size_t entries);

#ifdef __cplusplus
}
#endif

#endif
