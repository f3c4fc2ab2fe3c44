"""torchvision beside the CPU build of torch.

The wheels of torchvision link CUDA; beside a CPU torch their operators do not load, and `import torchvision` fails
on the missing schema of `nms`. Nothing here uses those operators: declaring the two schemas is enough for the
transforms and the image utilities. Import `functional` and `make_grid` from here, never from torchvision itself.
"""

import torch

_library: "torch.library.Library | None" = None  # the declarations live as long as this object

try:
    import torchvision  # noqa: F401
except RuntimeError:
    _library = torch.library.Library("torchvision", "DEF")
    for _name in ("nms", "qnms"):
        _library.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

from torchvision.transforms.v2 import functional  # noqa: E402
from torchvision.utils import make_grid  # noqa: E402

__all__ = ["functional", "make_grid"]
