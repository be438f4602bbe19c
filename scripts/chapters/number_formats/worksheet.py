"""Chapter 10: eight numbers of a block of NVFP4, byte by byte, and one number in E4M3."""

from __future__ import annotations

import random
from fractions import Fraction

from kernels.bench.cost import square_bytes
from scripts.chapters.number_formats.worked import E2M1, TIES, encode_e2m1, encode_e4m3
from scripts.chapters.worksheets import Blank, Worksheet, bytes_text

TENSORS = (0.25, 0.5, 1, 2)
SCALES = (0.625, 0.75, 0.875, 1.25, 1.75, 2.25, 2.5, 3.0, 3.5)
QUOTIENTS = (0.1, 0.4, 0.6, 1.1, 1.4, 1.6, 2.2, 2.4, 2.7, 3.2, 3.4, 3.6, 4.5, 4.8, 5.2, 5.5)  # between marks, no ties


def worksheet(rng: random.Random) -> Worksheet | None:
    tensor, scale = rng.choice(TENSORS), rng.choice(SCALES)
    unit = tensor * scale
    quotients = [E2M1[-1], *rng.sample(TIES, 3), *rng.sample(E2M1[1:-1], 2), *rng.sample(QUOTIENTS, 2)]
    quotients = [rng.choice((1, -1)) * quotient for quotient in quotients]
    rng.shuffle(quotients)
    numbers = [round(quotient * unit, 6) for quotient in quotients]
    codes = [encode_e2m1(quotient) for quotient in quotients]
    errors = [abs(abs(quotient) - E2M1[code % 8]) * unit for quotient, code in zip(quotients, codes, strict=True)]
    largest_error = max(errors)
    if any(len(f"{abs(number):g}") > 5 for number in numbers) or sorted(errors)[-2] > 0.99 * largest_error:
        return None
    bits, scale_value = encode_e4m3(scale)
    return Worksheet(
        title="Eight numbers in four bits",
        given=[
            f"The first eight numbers of a block of NVFP4: {', '.join(f'{number:g}' for number in numbers)}. The other "
            f"eight are smaller than the largest of these. The tensor's scale is {tensor:g}.",
            "Questions 1 and 2 come first: divide by what a stored 1 is worth. Then take the nearest of 0, 0.5, 1, "
            "1.5, 2, 3, 4, 6, with codes 0 to 7, and at a tie the even code; a minus adds 8. Write the code in "
            "hexadecimal.",
        ],
        head=["Number", "Divided", "Taken", "Sign, exponent, mantissa", "Code"],
        rows=[
            [f"{number:g}", *map(Blank, (f"{quotient:g}", number_text(code), bit_fields(code), f"{code:X}"))]
            for number, quotient, code in zip(numbers, quotients, codes, strict=True)
        ],
        questions=[
            (
                "The largest number, without its sign, ÷ 6 ÷ the tensor's scale: how much is that, which are its eight "
                "bits in E4M3 (bias 7), and which byte in hexadecimal?",
                f"{scale_value:g}, {bits}, {int(bits.replace(' ', ''), 2):02X}",
            ),
            ("What is a stored 1 worth?", f"{scale_value:g} · {tensor:g} = {unit:g}"),
            (
                "Which are the four bytes, as they are printed?",
                " ".join(f"{high:X}{low:X}" for low, high in zip(codes[::2], codes[1::2], strict=True)),
            ),
            (
                "Which number is changed by most on the way there and back, in absolute terms, and by how much?",
                f"{numbers[errors.index(largest_error)]:g}, {largest_error:g}",
            ),
            *e4m3_question(rng),
            *size_question(rng),
        ],
    )


def number_text(code: int) -> str:
    """The number that a code stands for, -0 with its sign."""
    return f"{'-' if code >= 8 else ''}{E2M1[code % 8]:g}"


def bit_fields(code: int) -> str:
    """Sign, exponent and mantissa."""
    return f"{code >> 3} {code >> 1 & 3:02b} {code & 1}"


def e4m3_question(rng: random.Random) -> list[tuple[str, str]]:
    """About a number whose steps above a power of two have one decimal, neither on a mark nor midway."""
    while True:
        number = Fraction(rng.randint(11, 139), 10)
        power = max(power for power in range(4) if 2**power <= number)
        steps = (number / 2**power - 1) * 8
        if (10 * steps).denominator == 1 and steps.denominator > 2 and steps < 7:
            break
    bits, value = encode_e4m3(float(number))
    question = (
        f"Another number is {float(number):g}. In E4M3 there are eight steps from a power of two to the next. How many "
        "of them does the number lie above the power below it, what is its code, and what does the code stand for?"
    )
    return [(question, f"{float(steps):g} steps; {bits}; {value:g}")]


def size_question(rng: random.Random) -> list[tuple[str, str]]:
    power = rng.randint(11, 15)
    bytes_in_16_bits = square_bytes(2**power, 2)
    size = bytes_text(bytes_in_16_bits)
    question = f"A tensor takes {size} in 16 bits. How much does it take in NVFP4, but for the tensor's own scale?"
    return [(question, f"{size} ÷ 16 · 4.5 = {bytes_text(bytes_in_16_bits * 9 // 32)}")]
