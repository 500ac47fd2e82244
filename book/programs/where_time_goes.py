"""Where does a step of training spend its time? PyTorch's profiler, on the GPU where there is one.

python book/programs/where_time_goes.py [TRACE.json]
"""

import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WARM_UP, STEPS = 3, 5


def step(model: torch.nn.Module, update: torch.optim.Optimizer, x: torch.Tensor, target: torch.Tensor) -> None:
    with record_function("forward"):
        loss = torch.nn.functional.mse_loss(model(x), target)
    with record_function("backward"):
        loss.backward()  # type: ignore[no-untyped-call]
    with record_function("update"):
        update.step()
        update.zero_grad()


def main() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128)).to(DEVICE)
    update = torch.optim.SGD(model.parameters(), lr=0.1)
    x, target = torch.randn(64, 256, device=DEVICE), torch.randn(64, 128, device=DEVICE)
    for _ in range(WARM_UP):
        step(model, update, x, target)

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])]
    with profile(activities=activities) as seen:
        for _ in range(STEPS):
            step(model, update, x, target)
        if DEVICE == "cuda":
            torch.cuda.synchronize()  # what is still under way belongs to the picture

    print(seen.key_averages().table(sort_by=f"self_{DEVICE}_time_total", row_limit=10))
    if len(sys.argv) > 1:
        seen.export_chrome_trace(sys.argv[1])


if __name__ == "__main__":
    main()
