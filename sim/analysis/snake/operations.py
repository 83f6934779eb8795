"""Operations of the three methods: counted by running them, and as the paper prints them (stages and Table I)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sim.analysis.snake import kane, lagrange, newton_euler
from sim.analysis.snake.counting import Tally
from sim.analysis.snake.links import papers_snake, papers_torques


@dataclass(frozen=True)
class Polynomial:
    """A formula in n: coefficients from the constant upwards."""

    coefficients: tuple[Fraction, ...]

    def __call__(self, n: int) -> Fraction:
        """Return the value for n links."""
        return sum((a * n**k for k, a in enumerate(self.coefficients)), Fraction(0))

    def __add__(self, other: Polynomial) -> Polynomial:
        return self._with(other, 1)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self._with(other, -1)

    def _with(self, other: Polynomial, sign: int) -> Polynomial:
        both = [*self.coefficients], [*other.coefficients]
        for column in both:
            column += [Fraction(0)] * (max(map(len, both)) - len(column))
        return Polynomial(tuple(a + sign * b for a, b in zip(*both, strict=True)))

    def __str__(self) -> str:
        terms = []
        for k, a in reversed([*enumerate(self.coefficients)]):
            size = "" if abs(a) == 1 and k else str(abs(a))
            power = ("", "n", "n^2", "n^3")[k]
            if a:
                terms.append(
                    ("- " if a < 0 else "+ ") + (f"{size} {power}" if "/" in size else f"{size}{power}").strip()
                )
        text = " ".join(terms) or "0"
        return text.removeprefix("+ ") if text[0] == "+" else text.replace("- ", "-", 1)


def formula(*coefficients: int | str) -> Polynomial:
    """Return a formula from its coefficients as they are printed, from the highest power downwards."""
    return Polynomial(tuple(Fraction(a) for a in reversed(coefficients)))


@dataclass(frozen=True)
class Difference:
    """Operations that the print has and the count has not; less than none where it is the other way."""

    what: str
    multiplications: Polynomial
    additions: Polynomial


@dataclass(frozen=True)
class Stage:
    """What a stage costs in print, and the functions that do it here.

    note : how the paper has to be read
    differences : what the print has more than the count, all of it
    """

    name: str
    functions: tuple[str, ...]
    multiplications: Polynomial
    additions: Polynomial
    note: str = ""
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class Printed:
    """A method in print: its stages, and Table I with its two columns as they are meant.

    beyond : what is done and belongs to no stage of the paper, by name, with the functions that do it
    values : Table I, (multiplications, additions) by n
    note : in what the total differs from the sum of the stages
    """

    stages: tuple[Stage, ...]
    multiplications: Polynomial
    additions: Polynomial
    values: dict[int, tuple[int, int]]
    beyond: dict[str, str]
    note: str

    def unexplained(self) -> tuple[Polynomial, Polynomial]:
        """Return by how much the totals exceed the sums of the stages: multiplications, additions."""
        M, A = self.multiplications, self.additions
        for stage in self.stages:
            M, A = M - stage.multiplications, A - stage.additions
        return M, A


KANE = Printed(
    (
        Stage("V", ("velocities/speed",), formula(3, -3), formula(1, -1)),
        Stage("omega", ("velocities/turning",), formula(4, -4), formula(1, -1)),
        Stage("dV/du", ("partials_in_speeds/speed",), formula(6, -6), formula(2, -2)),
        Stage("domega/du", ("partials_in_speeds/turning",), formula(8, -8), formula(2, -2)),
        Stage(
            "dV/dq",
            ("partials_in_angles/speed", "speed_by_next", "speed_by_own"),
            formula("3/2", "9/2", -9),
            formula("1/2", "5/2", -5),
            "(21) used for the first link alone, where it holds",
        ),
        Stage(
            "domega/dq",
            ("partials_in_angles/turning", "turning_by_next", "turning_by_own"),
            formula(2, 6, -12),
            formula("1/2", "5/2", -5),
            "(18) as two quotients; as printed, with one, it takes n - 2 divisions less",
        ),
        Stage(
            "F, N, M",
            ("generalised_forces", "bias_matrix", "mass_matrix"),
            formula(4, 14, -6),
            formula(2, 10, -13),
            "m dV/du and I domega/du shared by the first two angles; shared by none it takes 4n - 4 more",
        ),
        Stage("u'", ("solve",), formula(6), formula(3)),
    ),
    formula("15/2", "97/2", -21),
    formula(3, 24, -27),
    {3: (192, 72), 12: (1641, 693), 20: (3949, 1653)},
    {"F - N omega": "less_bias", "phi_i": "bends", "h_i = L_i/2": "half_lengths"},
    "additions: F - N omega (2n) and phi_i (n - 1), as counted; multiplications: N omega (2n) and h_i (n), as counted, "
    "and 21 that are no operation: the stages' constants add up to -42, printed is half of that",
)

_WHEELS = (
    Stage("A", ("jacobian",), formula("3/2", "-3/2", 0), formula("1/2", "-1/2", 0)),
    Stage(
        "A'",
        ("jacobian_rate",),
        formula("3/2", "-1/2", 0),
        formula(1, -1, 0),
        "reaches L cos, L sin and the velocity of x, y along each link are taken as given",
    ),
    Stage("q''", ("solve",), formula("4/3", 10, "44/3", 6), formula("4/3", 8, "29/3", 3)),
)
_BEYOND = {
    "Q - B": "less_bias",
    "reaches L cos, L sin": "arms",
    "velocity of x, y along links": "alongs",
    "A'q'": "wanted",
    "h_i = L_i/2": "half_lengths",
}

LAGRANGE = Printed(
    (
        Stage(
            "M",
            ("mass_matrix",),
            formula("5/3", "5/2", "-19/6", -17),
            formula("1/6", "3/2", "4/3", -5),
            "the print's products are none for n = 2, which cannot be, then 5k^2 - 4 for link k, as m (2h)(2h) cos for "
            "each of k^2 entries and (2h) sin, (2h) cos for each of k angles take, of the first and k-th without 2; "
            "its sums are those of one triangle",
            (
                Difference("the other triangle's products m (2h)(2h) cos", formula("5/6", -1, "1/6", -3), formula(0)),
                Difference("cos 0 in the diagonal's", formula("1/2", "1/2", -3), formula(0)),
                Difference("m in the products of the rows of x, y", formula(-1, -1, 6), formula(0)),
                Difference("products of the second link", formula(-15), formula(0)),
            ),
        ),
        Stage(
            "B",
            ("bias",),
            formula(10, -4),
            formula(6, -4),
            "by masses in halves at the joints, m h of the last link taken as given, sums beginning at zero",
        ),
        *_WHEELS,
    ),
    formula(3, "31/2", "39/2", -11),
    formula("3/2", 11, "31/2", -2),
    {3: (268, 184), 12: (7639, 4360), 20: (30579, 16708)},
    {**_BEYOND, "m h of the last link": "static_moment"},
    "4 and 4, as if the constants of B, -4 and -4, were left out of the totals",
)

NEWTON_EULER = Printed(
    (
        Stage(
            "M",
            ("mass_matrix",),
            formula(12, 56, -27),
            formula(7, 67, -53),
            "the print is Walker and Orin's method for arms in space, without its derivation",
            (
                Difference(
                    "a force turned and its moment, for each two links: in space 24, 18, here 5, 2",
                    formula("19/2", "-19/2", 0),
                    formula(8, -8, 0),
                ),
                Difference("four fewer of these additions in print", formula(0), formula(-2, 2, 0)),
                Difference(
                    "composite bodies with inertia in space, here their mass alone", formula(60, -25), formula(68, -52)
                ),
            ),
        ),
        Stage(
            "B",
            ("bias",),
            formula(137, -22),
            formula(101, -11),
            "the print is the recursion for arms in space, without its derivation",
            (
                Difference(
                    "five vectors turned in space, 9, 6 each; here two, 4, 2 each", formula(37, 0), formula(26, 0)
                ),
                Difference("angular velocity and acceleration from the joint's rate", formula(2, 0), formula(3, 0)),
                Difference("w' x r + w x (w x r) of joint and middle, here h w^2", formula(34, 0), formula(28, 0)),
                Difference("a third component of m a", formula(1, 0), formula(0)),
                Difference("I w' + w x I w", formula(24, 0), formula(18, 0)),
                Difference("forces summed, and two moments of forces with their sums", formula(11, 0), formula(15, 0)),
                Difference("the moment about the joint's axis", formula(3, 0), formula(2, 0)),
                Difference("what no step of the recursion in space takes, and the ends", formula(12, -16), formula(-2)),
            ),
        ),
        *_WHEELS,
    ),
    formula("4/3", 25, "617/3", -43),
    formula("4/3", "33/2", "1057/6", -50),
    {3: (835, 663), 12: (8329, 6744), 20: (24737, 20740)},
    {**_BEYOND, "phi_i": "bends_and_first"},
    "11 additions, as if the constant of B, -11, were left out of the total",
)

PRINTED = {"Kane": KANE, "Lagrange": LAGRANGE, "Newton-Euler": NEWTON_EULER}


def count(method: str, n: int) -> Tally:
    """Return what one evaluation of accelerations takes, of a snake of n links that moves."""
    tally = Tally()
    snake, q = papers_snake(n)
    u = lagrange.speeds(snake, q, 0.3, 0.2)
    counted = snake.of(tally.number)
    q_c, T = [tally.number(x) for x in q], [tally.number(x) for x in papers_torques(n, 1.0)]
    if method == "Kane":
        kane.accelerations(counted, q_c[:n], [tally.number(x) for x in (0.3, 0.2)], T)
    else:
        module = {"Lagrange": lagrange, "Newton-Euler": newton_euler}[method]
        module.accelerations(counted, q_c, [tally.number(x) for x in u], T)
    return tally
