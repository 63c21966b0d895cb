% A decay, fitted by nlsq. nlsq_fit.c says how its function is made.
t = linspace (0, 4, 200)';
y = 2.5 * exp (-1.3 * t) + 0.5 + 0.05 * sin (40 * t);

[p, e, certified, names] = nlsq_fit ("a*exp(-b*x)+c", t, y);  % it needs no start
for k = 1:numel (p)
  printf ("%s = %.6f +- %.6f\n", names{k}, p(k), e(k));
end

% At a minimum the residuals are orthogonal to the derivatives, which give the errors, too.
J = [exp(-p(2) * t), -p(1) * t .* exp(-p(2) * t), ones(size (t))];
r = p(1) * exp (-p(2) * t) + p(3) - y;
assert (certified);
assert (max (abs (J' * r) ./ (norm (J, "columns")' * norm (r))) < 1e-9);
assert (e, sqrt (diag (inv (J' * J)) * (r' * r) / (numel (t) - 3)), -1e-6);
disp ("certified, and so says the gradient");

assert (nlsq_fit ("p*x1 + q*x2", [t, t.^2], 2*t + 3*t.^2), [2; 3], -1e-12);

y(7) = NaN;
try
  nlsq_fit ("a*x + b", t, y, "a=1");
  error ("the wrong number was not found");
catch problem
  disp (["a wrong number is refused: " problem.message]);
  assert (! isempty (strfind (problem.message, "row 6")));  % rows are counted from 0
end_try_catch
