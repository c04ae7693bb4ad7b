from support.bench_fixtures import bench, layer

__all__ = ["bench", "layer"]
