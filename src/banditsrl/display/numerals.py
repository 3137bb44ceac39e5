"""How is a number written for a reader? Decimals that suit its error, and shares in percent."""

import math

NO_VALUE, MINUS, TIMES = "\u2013", "\u2212", "\u00d7"
"""A dash for a value that does not exist, a minus sign as wide as a digit, and a cross."""

NO_BOUND = "no bound"
"""Written where the theory has no finite time."""

RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Digits as exponents."""

ROUNDING = 1e-12
"""Error of a share that was computed from means over seeds; no true share is that small."""


def format_number(value: float, error: float = math.nan) -> str:
    """Return a number with thousands separators; an error sets the number of decimals.

    Example:
        >>> [format_number(value) for value in (12345.678, 12.3456, 512.0, 0.0012345, -0.0)]
        ['12,346', '12.3', '512', '0.00123', '0']
        >>> format_number(16.8512, 2.234), format_number(16.8512, 0.01234), format_number(-0.4, 31)
        ('16.9', '16.851', '0')
    """
    if not math.isfinite(value):
        return NO_VALUE if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    scale, digits = (error, 2) if math.isfinite(error) and error > 0 else (abs(value), 3)
    if float(value).is_integer() and digits == 3:
        return f"{value + 0.0:,.0f}".replace("-", MINUS)
    decimals = max(0, digits - 1 - math.floor(math.log10(scale)))
    text = f"{value:,.{decimals}f}" if decimals <= 8 else f"{value:.1e}"
    rounded_to_zero = not text.strip("-0.")
    return text.replace("-", "" if rounded_to_zero else MINUS)


def format_tick(value: float) -> str:
    """Return a round number of an axis in full, with thousands separators.

    Example:
        >>> [format_tick(value) for value in (10_000.0, 0.25, -7.5, 0.30000000000000004)]
        ['10,000', '0.25', '−7.5', '0.3']
    """
    return f"{value:,.10g}".replace("-", MINUS)


def format_plus_minus(mean: float, error: float) -> str:
    """Return a mean with its margin, both with the same number of decimals; no margin of zero.

    Example:
        >>> format_plus_minus(16.8512, 2.234), format_plus_minus(0.0, 0.0)
        ('16.9 ± 2.2', '0')
    """
    if math.isnan(error) or error == 0.0:
        return format_number(mean)
    return f"{format_number(mean, error)} ± {format_number(error, error)}"


def format_share(value: float) -> str:
    """Return a share as a percentage; only zero and one themselves become 0% and 100%.

    Example:
        >>> [format_share(value) for value in (0.5, 0.00001, 0.0, 0.99999, 1.0)]
        ['50.0%', '<0.1%', '0%', '>99.9%', '100%']
    """
    if math.isnan(value):
        return NO_VALUE
    if value <= ROUNDING or value >= 1 - ROUNDING:
        return "0%" if value <= ROUNDING else "100%"
    return "<0.1%" if value < 0.001 else ">99.9%" if value > 0.999 else f"{value:.1%}"


def format_count(number: int, word: str) -> str:
    """Return a number with its noun in singular or plural.

    Example:
        >>> format_count(1, "run"), format_count(1200, "run")
        ('1 run', '1,200 runs')
    """
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def format_time(steps: float) -> str:
    """Return a number of steps that may be very large, as a power of ten if it is.

    Example:
        >>> format_time(512.0), format_time(1.7e10), format_time(float("inf"))
        ('512', '1.7 × 10¹⁰', 'no bound')
    """
    if math.isinf(steps):
        return NO_BOUND
    if steps < 1e6:
        return format_number(steps)
    factor, power = f"{steps:.1e}".split("e+")
    return f"{factor} {TIMES} 10{str(int(power)).translate(RAISED)}"
