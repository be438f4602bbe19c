"""What the tests of worksheets read from a sheet, and the seeds that they try."""

import re

import torch

from scripts.chapters import worksheets

SEEDS = [*worksheets.VERSIONS, "7", "8", "9", "10"]
LN_2 = torch.log(torch.tensor(2.0, dtype=torch.float64)).item()
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


def matrices(sheet) -> list[torch.Tensor]:
    """Q, K and V as the worksheet gives them."""
    parts = sheet.given[0].split(" · ")
    return [torch.tensor(pairs(part), dtype=torch.float64) for part in parts[:3]]


def pairs(text: str) -> list[list[float]]:
    return [[float(a), float(b)] for a, b in re.findall(r"\[([\d.]+), ([\d.]+)\]", text)]


def parse_bytes(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * UNITS[unit]


def given_rows(sheet) -> torch.Tensor:
    """The rows of numbers in the first paragraph."""
    rows = re.findall(r"\[([-\d, ]+)\]", sheet.given[0])
    return torch.tensor([list(map(float, row.split(", "))) for row in rows], dtype=torch.float64)


def blend_by_hand(weights: str, values: list[str]) -> list[float]:
    """The blend that comes out of weights and values as they are printed."""
    weighted = zip(numbers(weights), (pairs(value)[0] for value in values), strict=True)
    return torch.tensor([[weight * each / 100 for each in value] for weight, value in weighted]).sum(0).tolist()
