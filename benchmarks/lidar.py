"""Speed and accuracy of the camera-approximated lidar, on the analytic scene of the tests.

Run: python benchmarks/lidar.py [--repeats 15]. Prints two tables. Open3D, where it is installed,
does the same job by meshing the organised cloud and casting rays.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "lidar")]

import numpy as np  # noqa: E402
from analytic_scene import CAR, GROUND, POLE, SKY, cast, grid_directions, scan  # noqa: E402

from bagnoise.lidar.beams import revolution  # noqa: E402
from bagnoise.lidar.models import find_model  # noqa: E402
from bagnoise.lidar.noise import range_noise  # noqa: E402
from bagnoise.lidar.resample import CameraLidar, Mode  # noqa: E402
from bagnoise.lidar.spacing import Spacing, source_spacing  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

BEAMS = revolution(find_model("VLP-16"))
TRUTH_M, KINDS = cast((0, 0, 0), BEAMS.directions())
FOREGROUND = (KINDS == CAR) | (KINDS == POLE)
MODES: tuple[Mode, ...] = ("nearest", "visible", "plane")
COLUMNS, RINGS = 2048, 128


def median_ms(job: Callable[[], Any], repeats: int) -> float:
    """Time a job; the first run warms caches and does not count."""
    job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def thinned(cloud: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Keep a number of points, at random."""
    rows = np.random.default_rng(1).permutation(len(cloud))[:count]
    return cloud[np.sort(rows)]


def figures(range_m: NDArray[Any]) -> str:
    """Compare ranges with the truth."""
    hit = np.isfinite(range_m)
    with np.errstate(invalid="ignore"):
        leaks = (FOREGROUND & (~hit | (range_m > 1.1 * TRUTH_M))).sum() / FOREGROUND.sum()
    ghosts = (hit & (KINDS == SKY)).sum() / (KINDS == SKY).sum()
    holes = (~hit & (KINDS != SKY)).sum() / (KINDS != SKY).sum()
    ground = hit & (KINDS == GROUND)
    error = (range_m - TRUTH_M)[ground]
    rms = np.sqrt((error[np.abs(error) < 0.1 * TRUTH_M[ground]] ** 2).mean())
    return f"{holes:8.2%} {leaks:8.2%} {ghosts:8.2%} {100 * rms:9.1f}"


def speed(repeats: int) -> None:
    """Print times a cloud."""
    cloud = thinned(scan(columns=COLUMNS, rings=RINGS), 131_072)
    spacing = Spacing(2 * np.pi / COLUMNS, np.radians(45 / (RINGS - 1)))
    print(f"{len(cloud)} points -> VLP-16 ({len(BEAMS)} beams), 4 cameras, median of {repeats}")
    print(f"{'mode':12}{'e deg':>8}{'ms':>10}{'peak MB':>10}")
    for error_deg in (0.5, 0.2, 0.1, 0.02):
        for mode in MODES if error_deg > 0.05 else MODES[:1]:
            lidar = CameraLidar(BEAMS, error_deg, 4, mode, spacing)
            took = median_ms(lambda lidar=lidar: lidar.sense(cloud), repeats)  # type: ignore[misc]
            tracemalloc.start()
            lidar.sense(cloud)
            peak = tracemalloc.get_traced_memory()[1] / 1e6
            tracemalloc.stop()
            print(f"{mode:12}{error_deg:8g}{took:10.1f}{peak:10.1f}")
    prepared = median_ms(lambda: CameraLidar(BEAMS, 0.2, 4, "plane", spacing), 3)
    print(f"prepare once {prepared:.0f} ms; spacing once", end=" ")
    print(f"{median_ms(lambda: source_spacing(cloud), 3):.0f} ms; range noise", end=" ")
    noisy = median_ms(
        lambda: range_noise(cloud, (0, 0, 0), 0.02, np.random.default_rng(1)), repeats
    )
    print(f"{noisy:.1f} ms")


def accuracy() -> None:
    """Print a table of errors."""
    print(f"\n{'source':12}{'method':24}{'holes':>8} {'fg leak':>8} {'ghosts':>8} {'ground cm':>9}")
    sources = {
        "same origin": scan(),
        "1 m behind": scan((-1.0, 0.0, 0.5)),
        "4 merged": np.concatenate([scan((2.0 * k - 3, 0, 0), 2048, 64) for k in range(4)]),
    }
    for name, cloud in sources.items():
        for mode in MODES:
            lidar = CameraLidar(BEAMS, 0.2, 4, mode, source_spacing(cloud))
            print(f"{name:12}{mode:24}{figures(lidar.sense(cloud).range_m.astype(float))}")
        naive = nearest_direction(cloud)
        if naive is not None:
            print(f"{name:12}{'nearest direction':24}{figures(naive)}")


def nearest_direction(cloud: NDArray[np.float32]) -> NDArray[Any] | None:
    """Take the point nearest in direction, without occlusion: what naive resamplers do."""
    try:
        from scipy.spatial import cKDTree  # noqa: PLC0415
    except ImportError:
        return None
    ranges = np.linalg.norm(cloud, axis=1)
    away, row = cKDTree(cloud / ranges[:, None]).query(BEAMS.directions())
    return np.where(away < np.radians(0.4), ranges[row], np.nan)


def open3d_peer(repeats: int) -> None:
    """Mesh the organised cloud and cast rays, where Open3D is installed."""
    try:
        import open3d as o3d  # noqa: PLC0415
    except ImportError:
        print("\nOpen3D is not installed: no peer")
        return
    rays = grid_directions(COLUMNS, np.linspace(-22.5, 22.5, RINGS))
    ranges, _ = cast((0, 0, 0), rays)
    beams = BEAMS.directions().astype(np.float32)
    probes = o3d.core.Tensor(np.hstack([np.zeros_like(beams), beams]))

    def job() -> NDArray[Any]:
        points, triangles = mesh(rays, ranges)
        scene = o3d.t.geometry.RaycastingScene(nthreads=1)
        scene.add_triangles(o3d.core.Tensor(points), o3d.core.Tensor(triangles))
        hit: NDArray[Any] = scene.cast_rays(probes, nthreads=1)["t_hit"].numpy()
        return np.where(np.isfinite(hit), hit, np.nan)

    took = median_ms(job, max(3, repeats // 3))
    print(f"\nOpen3D mesh + ray cast: {took:.0f} ms {figures(job().astype(float))}")


def mesh(
    rays: NDArray[np.float64], ranges: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Join neighbours of the organised cloud to triangles, but across depth edges."""
    near = np.where(np.isfinite(ranges), ranges, 0)
    points = (rays * near[:, None]).astype(np.float32)
    index = np.arange(len(rays)).reshape(COLUMNS, RINGS)
    index = np.vstack([index, index[:1]])
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[:-1, 1:], index[1:, 1:]
    triangles = np.concatenate(
        [np.stack([a, b, c], axis=-1), np.stack([b, d, c], axis=-1)]
    ).reshape(-1, 3)
    depth = ranges[triangles]
    good = np.isfinite(depth).all(axis=1)
    good[good] = depth[good].max(axis=1) < 1.3 * depth[good].min(axis=1)
    return points, triangles[good].astype(np.uint32)


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    speed(repeats)
    accuracy()
    open3d_peer(repeats)


if __name__ == "__main__":
    main()
