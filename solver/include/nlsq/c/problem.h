/* Problems of any structure: parameter blocks, and residual blocks that each depend on a few of them (bundle
 * adjustment, pose graphs, several data sets with shared parameters). Include <nlsq/nlsq.h>. */
#ifndef NLSQ_C_PROBLEM_H
#define NLSQ_C_PROBLEM_H

#include <nlsq/c/base.h>
#include <nlsq/c/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Minimizes ½ Σ_b ρ_b(‖r_b‖²). A problem is used by one thread at a time. */
NLSQ_C_API int nlsq_problem_new(nlsq_problem** problem);
NLSQ_C_API int nlsq_problem_free(nlsq_problem* problem);

/* Declares a parameter block: `size` doubles in the caller's memory, which must live as long as the problem.
 * Its address is its name in all other functions. A solve reads the start from it and writes the result into
 * it. */
NLSQ_C_API int nlsq_problem_add_parameters(nlsq_problem* problem, double* block, size_t size);
/* Parameters that are not a plain vector. `manifold`: "quaternion" (w, x, y, z), "eigen_quaternion" (x, y,
 * z, w), "sphere N", "line N", "euclidean N", "subset N: 0,2" (a vector of N numbers with these held), or
 * several, one after the other: "quaternion + euclidean 3". NULL or "": a plain vector. */
NLSQ_C_API int nlsq_problem_set_manifold(nlsq_problem* problem, double* block, const char* manifold);
/* constant = 1: a solve does not change the block. 0: it does. */
NLSQ_C_API int nlsq_problem_set_constant(nlsq_problem* problem, double* block, int constant);
/* One bound for each number of the block; ±INFINITY: none; NULL: none on this side. */
NLSQ_C_API int nlsq_problem_set_bounds(nlsq_problem* problem, double* block, const double* lower,
                                       const double* upper);
/* Blocks of the lowest group are eliminated first (C++: set_elimination_group). Optional. */
NLSQ_C_API int nlsq_problem_set_elimination_group(nlsq_problem* problem, double* block, int group);

/* Adds `count` residual blocks of one tape, whose outputs are the residuals. `columns` has one entry for
 * each block added, in each column, and is copied. `blocks`: count x block_count addresses, row-major: those
 * of the first residual block, of the second ... The tape's parameters are the numbers of these blocks, one
 * block after the other. loss: as the option loss; NULL: linear. */
NLSQ_C_API int nlsq_problem_add_tape(nlsq_problem* problem, const nlsq_tape* tape, const nlsq_column* columns,
                                     size_t column_count, size_t count, const char* loss, double loss_scale,
                                     double* const* blocks, size_t block_count);

/* A residual block by a callback: fills `residuals` entries from the numbers of its parameter blocks.
 * jacobians is NULL, or has one pointer for each block: NULL, or residuals x size of the block, row-major,
 * to be filled. 0: done; 1: the residuals do not exist at this point; any other number stops the solve with
 * NLSQ_ERROR_CALLBACK. Several threads call it at once, unless the option threads is 1. */
typedef int (*nlsq_block_function)(const double* const* blocks, double* residuals, double* const* jacobians,
                                   void* user);
/* has_jacobian = 0: derivatives by finite differences. */
NLSQ_C_API int nlsq_problem_add_callback(nlsq_problem* problem, nlsq_block_function function, void* user,
                                         int has_jacobian, size_t residuals, const char* loss,
                                         double loss_scale, double* const* blocks, size_t block_count);

/* The numbers of parameter blocks, residual blocks, residuals and parameters. */
NLSQ_C_API int nlsq_problem_size(const nlsq_problem* problem, size_t* parameter_blocks,
                                 size_t* residual_blocks, size_t* residuals, size_t* parameters);
/* The cost, and unless `residuals` is NULL all residuals, at the present values: blocks in the order they
 * were added, without losses. */
NLSQ_C_API int nlsq_problem_evaluate(const nlsq_problem* problem, double* cost, double* residuals,
                                     size_t residual_count);
/* Solves, and stores the best point in the parameter blocks. On an error they are unchanged. */
NLSQ_C_API int nlsq_problem_solve(nlsq_problem* problem, const nlsq_options* options, nlsq_result** result);
/* The covariance (JᵀJ)⁻¹ of the chosen blocks together at the present values, n x n with n the sum of their
 * sizes, for residuals in units of their standard deviations. `covariance` has room for `entries` = n * n.
 * NaN where the data do not determine the parameters. */
NLSQ_C_API int nlsq_problem_covariance(nlsq_problem* problem, double* const* blocks, size_t block_count,
                                       double* covariance, size_t entries);

#ifdef __cplusplus
}
#endif

#endif
