"""Bundle adjustment: cameras and points from their images, with residuals in plain Python.

With a file in the format of "Bundle Adjustment in the Large" it solves that problem; without one, a
small problem that it makes.
"""

import sys

import numpy as np
import nlsqfit as nf


def reprojection(camera, point, observed):
    """Where a camera sees a point, minus where it was seen, in pixels. Camera: rotation, shift, f, k1, k2."""
    angle2 = camera[0] ** 2 + camera[1] ** 2 + camera[2] ** 2
    angle = np.sqrt(angle2)
    axis = [camera[i] / angle for i in range(3)]
    cos, sin = np.cos(angle), np.sin(angle)
    dot = axis[0] * point[0] + axis[1] * point[1] + axis[2] * point[2]
    cross = [
        axis[1] * point[2] - axis[2] * point[1],
        axis[2] * point[0] - axis[0] * point[2],
        axis[0] * point[1] - axis[1] * point[0],
    ]
    p = [point[i] * cos + cross[i] * sin + axis[i] * dot * (1 - cos) + camera[3 + i] for i in range(3)]
    x, y = -p[0] / p[2], -p[1] / p[2]
    r2 = x * x + y * y
    scale = camera[6] * (1 + r2 * (camera[7] + camera[8] * r2))
    return np.array([scale * x - observed[0], scale * y - observed[1]])


def read(path):
    """Cameras, points, and for each observation the camera, the point and the pixel."""
    with open(path) as file:
        cameras, points, observations = map(int, file.readline().split())
        rows = np.array([file.readline().split() for _ in range(observations)], dtype=float)
        numbers = np.array(file.read().split(), dtype=float)
    cut = 9 * cameras
    return (numbers[:cut].reshape(cameras, 9), numbers[cut:].reshape(points, 3),
            rows[:, 0].astype(int), rows[:, 1].astype(int), rows[:, 2:].copy())  # fmt: skip


def make(cameras=6, points=80):
    """A problem whose answer is known, and a start beside it."""
    rng = np.random.default_rng(4)
    space = rng.uniform(-1, 1, (points, 3))
    views = np.hstack([rng.normal(scale=0.2, size=(cameras, 3)), rng.normal(scale=0.1, size=(cameras, 2)),
                       np.full((cameras, 1), -5.0), np.tile([500.0, 0.0, 0.0], (cameras, 1))])  # fmt: skip
    c, p = (index.ravel() for index in np.meshgrid(np.arange(cameras), np.arange(points), indexing="ij"))
    seen = reprojection(views[c].T, space[p].T, np.zeros((2, 1))).T + rng.normal(
        scale=0.3, size=(c.size, 2)
    )
    return (
        views + rng.normal(scale=1e-3, size=views.shape) * [1, 1, 1, 1, 1, 1, 100, 1, 1],
        space + 0.01,
        c,
        p,
        seen,
    )


cameras, points, camera_of, point_of, observed = read(sys.argv[1]) if len(sys.argv) > 1 else make()
problem = nf.Problem()
problem.add(
    reprojection, (cameras, camera_of), (points, point_of), data=[observed], loss="huber", f_scale=1.0
)
print(f"{len(observed)} observations, cost {problem.cost:.6g}")
# In real scenes far points move towards infinity, and the cost falls all the way: ftol says when to stop.
result = problem.solve(max_iterations=100, ftol=1e-6 if len(sys.argv) > 1 else 0)
print(
    f"{result.verdict}: cost {result.cost:.6g} after {result.iterations} steps; residuals {result.evaluator[0]}"
)
