# The rules of the scheduler and of what carries out its decisions, and the text whose change takes each out.
# rule(NAME FILE TEXT INSTEAD): TEXT stands exactly once in FILE.

# ---- the entry
rule("entry gate" precision/scheduler.cpp [[|| !(size.row_work >= t.entry_work)]] [[]])
rule("linear models begin in f64" precision/scheduler.cpp [[size.linear || ]] [[]])
rule("16 bits and tile sums by parameters: begins in f32/f64" precision/scheduler.cpp [[if (size.parameters >= kTileSums &&]] [[if (false &&]])
rule("16 bits gated below 24 parameters" precision/scheduler.cpp [[if (sixteen_bits(plan.gram) && !pays)]] [[if (false)]])

# ---- digits that run out
rule("E1 share of tiles redone" precision/scheduler.cpp [[h.finite && h.nonfinite_tiles <= t.nonfinite_tiles]] [[h.finite]])
rule("E1 tiles redone in f64" solver/dense_pass.cpp [[if (folder.below_f64() && !all_finite(tile)) {]] [[if (false) {]])
rule("E1 columns below f32's range" solver/minimizer_precision.cpp [[if (probe_ && underflows())]] [[if (false)]])
rule("E2 not positive definite" precision/scheduler.cpp [[if (!h.factored) return Event::not_definite;]] [[]])
rule("E3 condition number" precision/scheduler.cpp [[} else if (!(h.kappa_lambda <= condition_limit(gram, h.parameters, t))) {]] [[} else if (false) {]])
rule("E3 QR beyond κ 1e12" precision/scheduler.cpp [[case Gram::f64: return t.f64_condition;]] [[case Gram::f64: return 1e300;]])
rule("E4 sampled error of a J of 16 bits" precision/scheduler.cpp [[if (!(h.epsilon_j <= t.epsilon_j))]] [[if (false)]])
rule("E4 error of the step proposed" precision/scheduler.cpp [[if (!(h.contraction <= t.epsilon_j)) return Event::jacobian_error;]] [[]])
rule("E5 noise of the gradient" precision/scheduler.cpp [[!(h.gradient_noise <= t.gradient_noise * h.nu) || ]] [[]])
rule("E5 grid of the parameters" precision/scheduler.cpp [[ || !(h.grid_noise <= t.gradient_noise * h.nu)]] [[]])
rule("E6 noise of the cost" precision/scheduler.cpp [[ || !(h.cost_noise <= t.cost_noise * h.predicted)]] [[]])
rule("E6 twice undecided" precision/scheduler.cpp [[h.undecided_in_a_row >= t.undecided_steps || ]] [[]])
rule("E6 undecided steps judged again in f64" solver/minimizer_step.cpp [[++state_.undecided_in_a_row;]] [[++state_.undecided_in_a_row; judgement_ = Judgement::reject; return;]])
rule("E7 rejections put down to the Gram matrix" precision/scheduler.cpp [[return h.rejected && !(h.contraction <= t.rejected_contraction) ?]] [[return false ?]])
rule("E8 stalled rows go to f64" precision/scheduler.cpp [[return h.stalled ? Event::stalled : Event::none;]] [[return Event::none;]])
rule("E9 finishing in f64" precision/scheduler.cpp [[if (h.nearness <= 1) return]] [[if (false) return]])
rule("E9 the finishing step must not raise the gradient" solver/minimizer_precision.cpp [[if (!there.finite || !(solver_->norm_in_metric(there.gradient)]] [[if (!there.finite || false && !(solver_->norm_in_metric(there.gradient)]])
rule("f64 rows keep 16 bits while steps are to be made" precision/scheduler.cpp [[const bool kept = h.nearness > 1 &&]] [[const bool kept = false &&]])
rule("wasted work is capped" precision/scheduler.cpp [[low_rows && !(h.wasted <= t.wasted_work)]] [[false]])
rule("no more than a quarter of the iterations below f64" solver/minimizer.cpp [[return (low() || projection_.too_few_digits()) && state_.iteration - first_iteration_ >=]] [[return false && state_.iteration - first_iteration_ >=]])

# ---- the way back
rule("descents" precision/scheduler.cpp [[if (h.parameters < kTileSums || h.plan.residual == Format::f64) return std::nullopt;]] [[return std::nullopt;]])
rule("descents to 16 bits by the error of J" precision/scheduler.cpp [[h.epsilon_j_below <= t.descent_epsilon_j]] [[false]])
rule("descents to f32 sums by κ" precision/scheduler.cpp [[h.kappa_lambda <= 0.1 * condition_limit(*gram, h.parameters, t)]] [[false]])
rule("descents: after three good steps" precision/scheduler.cpp [[h.good_steps < t.steps_before_descent]] [[h.good_steps < 1]])
rule("descents: twice at most" precision/scheduler.cpp [[return h.descents < t.descents;]] [[return true;]])

# ---- steps and checkpoints
rule("parameters on the f32 grid" solver/minimizer_step.cpp [[if (!low()) return;
  for (std::size_t j = 0; j < trial_.size(); ++j) {
    trial_[j] = box_.empty()]] [[return;
  for (std::size_t j = 0; j < trial_.size(); ++j) {
    trial_[j] = box_.empty()]])
rule("gain ratio 0.1 below f64" solver/minimizer_step.cpp [[(low() ? options_.policy().thresholds.gain_ratio : kAccept)]] [[kAccept]])
rule("checkpoint verified every eight steps" solver/minimizer_step.cpp [[if (low() && ++state_.unverified_steps]] [[if (false && ++state_.unverified_steps]])
rule("certificate beside the checkpoint" solver/minimizer_conclude.cpp [[if (worse_than_checkpoint()) {]] [[if (false) {]])
rule("promotion restores the damping" solver/minimizer_precision.cpp [[trust_.restore(streak_lambda_);]] [[]])
rule("promotion forgets the scales" solver/minimizer_precision.cpp [[state_.scale.clear();]] [[]])
rule("no certificate: once more in f64" solver/solve.cpp [[(in_doubt || worth_another_attempt(w.best, evaluator, request))]] [[in_doubt]])
rule("never above the start's cost" solver/solve.cpp [[if (w.best.summary.final_cost > given_cost + w.best.cost_noise)]] [[if (false)]])

# ---- the last step
rule("last step without a pass at its end" solver/minimizer_last_step.cpp [[if (!large() || !undamped() || on_bounds()) return false;]] [[return false;]])
rule("last step: contraction by the passes before" solver/minimizer_last_step.cpp [[const Left before{kOtherDirection * contraction, kOtherDirection * std::max(contraction, first_.step_size / last_step_size_)};]] [[const Left before{0, 0};]])
rule("last step: the part's cost is like that of all rows" solver/minimizer_last_step.cpp [[if (!(std::fabs(here.cost - at_->cost) <= kSameScatter * at_->cost)) {]] [[if (false) {]])
rule("last step: what the part lacks counts" solver/minimizer_last_step.cpp [[constexpr double kUnseen = 0.3;]] [[constexpr double kUnseen = 0;]])
rule("last step: what the part finds at the end" solver/minimizer_last_step.cpp [[if (!suffices(share) ||]] [[if (false && !suffices(share) ||]])

# ---- samples
rule("samples must represent all rows" solver/start.cpp [[represents(*last, *start.at, share) ?]] [[true ?]])
rule("samples must not end above the start" solver/start.cpp [[return start.at->finite && start.at->cost <= start.initial_cost;]] [[return start.at->finite;]])
