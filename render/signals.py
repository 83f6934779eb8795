"""What a recording says over time, by name: signals and formulas of signals, with their units.

``coordinate('monkey.knee_l')``, ``position('ball')[2]``, ``local('arm.tip', 'base')``, ``norm(force('grip_l'))``,
``energy.kinetic + energy.potential``, ``rate('hinge') / deg``, ``contact('foot', 'world')[2]``,
``cop('*.foot_?', 'world')[0]``.  Values
are arrays over all rows; a vector has its components first, (3, n), so that ``[2]`` is its z.  World axes,
SI units, radians.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import h5py
import numpy as np
import simpleeval

from render import rotation
from render.view import RenderError, nearest, places_of, rows_of, strings
from sim.recording.errors import RecordingError

ENERGIES = ("kinetic", "potential", "dissipated", "impact", "input", "balance")
TRUST = {
    "position_residual": "m or rad",
    "velocity_residual": "m/s or rad/s",
    "smallest_singular_value": "1",
    "rank": "1",
}
SCALES = {"deg": np.pi / 180, "mm": 1e-3, "cm": 1e-2, "ms": 1e-3, "kN": 1e3, "kJ": 1e3}
NAMES = {
    "t": "s",
    "pi": "1",
    **dict.fromkeys(SCALES, "1"),
    **{f"energy.{key}": "J" for key in ENERGIES},
    **{f"trust.{key}": unit for key, unit in TRUST.items()},
}

# Functions of numbers.  What their result is measured in: that of the first argument, or 1.
KEEPS_UNIT: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "clip": np.clip,
    "norm": lambda v: np.linalg.norm(v, axis=0),
    "min": lambda *v: functools.reduce(np.minimum, v),
    "max": lambda *v: functools.reduce(np.maximum, v),
}
PURE: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "atan2": np.arctan2, "exp": np.exp, "log": np.log,
    "dot": lambda a, b: np.sum(np.asarray(a) * b, axis=0),
    "cross": lambda a, b: np.cross(a, b, axis=0),
}  # fmt: skip
UNITS = {
    "position": "m", "com": "m", "distance": "m", "local": "m", "orientation": "rad", "velocity": "m/s", "slip": "m/s",
    "angular_velocity": "rad/s",
    "force": "N", "contact": "N", "pressing": "N", "friction": "N", "moment": "N m",
    "cop": "m", "zmp": "m", "energy": "J", "determinate": "1",
    "asin": "rad", "acos": "rad", "atan": "rad", "atan2": "rad", "sin": "1", "cos": "1", "tan": "1",
    "exp": "1", "log": "1",
}  # fmt: skip
# Of freedoms of joints: which of their units it has.
UNITS_OF_COLUMNS = {
    "coordinate": "unit", "rate": "rate_unit", "torque": "torque_unit", "stop_torque": "torque_unit",
    "friction_torque": "torque_unit",
}  # fmt: skip
# Of what touches: all that does, or one other; of a joint's force whether it is determinate, or one component.
PAIRED = ("contact", "pressing", "friction", "cop", "zmp", "determinate")
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.Mod: operator.mod, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Signal:
    """One quantity over all rows of a recording.

    text : the formula it was asked by
    unit : as far as it is known; empty where a formula mixes units
    values : (n,) or, for a vector, (k, n)
    logarithmic : drawn over powers of ten
    """

    text: str
    unit: str
    values: np.ndarray
    logarithmic: bool = False

    def components(self) -> list[tuple[str, np.ndarray]]:
        """Return (label, values (n,)) of each component."""
        if self.values.ndim == 1:
            return [(self.text, self.values)]
        letters = "xyz" if len(self.values) == 3 else [str(k) for k in range(len(self.values))]
        return [(f"{self.text} {letter}", row) for letter, row in zip(letters, self.values, strict=True)]


COMPONENTS = ("rx", "ry", "rz", "x", "y", "z")  # of a joint's wrench: moment, force


class Signals:
    """The signals of an open recording; arrays are read when they are asked for."""

    def __init__(self, file: h5py.File):
        self.file, self.rows = file, rows_of(file)
        self.time = file["time"][: self.rows]
        self.bodies = strings(file["bodies/name"][:])
        self.joints = strings(file["joints/name"][:])
        self.columns = file["joints/columns"][:]
        self.forces = strings(file["forces/name"][:]) if "forces" in file else ()
        self._places = places = places_of(file, self.rows)
        self._column_joint = strings(self.columns["joint"])
        self._column_name = strings(self.columns["name"])
        self._of_state: dict[str, Callable[..., Any]] = {
            **{name: functools.partial(self._columns, name) for name in UNITS_OF_COLUMNS},
            "position": lambda place: places.position(place).T,
            "velocity": lambda place: places.velocity(place).T,
            "local": lambda point, body: places.local(point, body).T,
            "angular_velocity": functools.partial(self._of_body, "angular_velocity"),
            "orientation": self._orientation,
            "com": self._com,
            "distance": self._distance,
            "force": functools.partial(self._wrench, 3),
            "moment": functools.partial(self._wrench, 0),
            "slip": self._slip,
            "determinate": self._determinate,
            "length": functools.partial(self._of_force, "length"),
            "tension": functools.partial(self._of_force, "tension"),
            "energy": self._energy,
            "contact": self._contact,
            "pressing": functools.partial(self._contact_part, "pressing"),
            "friction": functools.partial(self._contact_part, "friction"),
            "cop": self._centre_of_pressure,
            "zmp": self._zero_moment_point,
        }

    def evaluate(self, text: str) -> Signal:
        """Return the signal that a formula describes; raise RenderError with the nearest name."""
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise RenderError(f"signal {text!r}: not a formula ({error.msg})") from None
        tree = ast.fix_missing_locations(_Dotted().visit(tree))
        self._check(tree, text)
        functions = {**self._of_state, **KEEPS_UNIT, **PURE}
        evaluator = simpleeval.SimpleEval(operators=OPERATORS, functions=functions, names=self._name)
        try:
            with np.errstate(all="ignore"):
                values = np.asarray(evaluator.eval(text, previously_parsed=tree), float)
        except (
            RenderError,
            simpleeval.InvalidExpression,
            RecordingError,
            ValueError,
            TypeError,
            IndexError,
            OverflowError,
            ZeroDivisionError,
        ) as error:
            raise RenderError(f"signal {text!r}: {error}") from None
        if values.ndim == 0:
            values = np.full(self.rows, float(values))
        if values.ndim > 2 or values.shape[-1] != self.rows:
            raise RenderError(f"signal {text!r}: gives an array of shape {values.shape}, not one number for each row")
        return Signal(text.strip(), self._unit(tree), values)

    def _check(self, tree: ast.expr, text: str) -> None:
        """Refuse names and functions that do not exist, before anything is read."""
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                raise RenderError(f"signal {text!r}: no signal {ast.unparse(node)!r}")
            if isinstance(node, ast.Call):
                self._check_call(node, text)
            elif isinstance(node, ast.Name) and id(node) not in called and node.id not in NAMES:
                raise RenderError(f"signal {text!r}: no signal {node.id!r}{self._hint(node.id)}")

    def _check_call(self, node: ast.Call, text: str) -> None:
        functions = (*self._of_state, *KEEPS_UNIT, *PURE)
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name not in functions:
            raise RenderError(f"signal {text!r}: no function {name!r}{nearest(name, functions)}")
        if name not in self._of_state or name == "distance":
            return
        texts = [isinstance(arg, ast.Constant) and isinstance(arg.value, str) for arg in node.args]
        if name == "local":
            if node.keywords or texts != [True, True]:
                raise RenderError(f"signal {text!r}: local is written local('body.point', 'body')")
            return
        if name in PAIRED:
            if node.keywords or len(texts) not in (1, 2) or not all(texts):
                raise RenderError(f"signal {text!r}: {name} is written {name}('name') or {name}('name', 'other')")
            return
        bare = name in ("energy", "com") and not node.args
        if node.keywords or not (bare or (texts == [True] and name != "energy")):
            form = "energy()" if name == "energy" else f"{name}('name')"
            raise RenderError(f"signal {text!r}: {name} is written {form}")

    def _hint(self, name: str) -> str:
        if f"{name}.kinetic" in NAMES:
            return "; energy() or energy.kinetic"
        if name in (*self._of_state, *KEEPS_UNIT, *PURE):
            return f"; {name} is a function, {name}('name')"
        if name in self.forces:
            return f"; a force stands in a function, tension('{name}') or force('{name}')"
        if name in (*self.joints, *self._column_name):
            return f"; a joint stands in a function, coordinate('{name}')"
        if name in self._places:
            return f"; a body or point stands in a function, position('{name}')"
        return nearest(name, tuple(NAMES))

    def _name(self, node: ast.Name) -> Any:
        if node.id == "t":
            return self.time
        if node.id == "pi":
            return np.pi
        if node.id in SCALES:
            return SCALES[node.id]
        return self.file[node.id.replace(".", "/")][: self.rows].astype(float)

    def _find(self, kind: str, name: Any, names: tuple[str, ...]) -> int:
        if name in names:
            return names.index(name)
        raise RenderError(f"no {kind} named {name!r}{nearest(str(name), names)}")

    def _slots(self, joint: Any) -> list[int]:
        """Return the columns of a joint, or of one of its freedoms (``monkey.hip_l[0]``)."""
        if joint in self._column_name:
            return [self._column_name.index(joint)]
        self._find("joint", joint, self.joints)
        slots = [k for k, name in enumerate(self._column_joint) if name == joint]
        if not slots:
            raise RenderError(f"joint {joint!r} is fixed: it has no coordinate")
        return slots

    def _columns(self, key: str, joint: Any) -> np.ndarray:
        slots = self._slots(joint)
        values = self.file[f"joints/{key}"][: self.rows, slots[0] : slots[-1] + 1]
        return values[:, 0] if len(slots) == 1 else values.T

    def _of_body(self, key: str, body: Any) -> np.ndarray:
        return self.file[key][: self.rows, self._find("body", body, self.bodies)].T

    def _orientation(self, body: Any) -> np.ndarray:
        quat = self.file["quat_wxyz"][: self.rows, self._find("body", body, self.bodies)]
        return rotation.relative(np.broadcast_to([1.0, 0, 0, 0], quat.shape), quat).T

    def _com(self, body: Any = None) -> np.ndarray:
        if body is not None:
            return self._of_body("com", body)
        mass = self.file["bodies/mass"][:]
        return np.einsum("b,nbk->kn", mass / mass.sum(), self.file["com"][: self.rows])

    def _distance(self, a: Any, b: Any) -> np.ndarray:
        ends = [self._places.position(end).T if isinstance(end, str) else end for end in (a, b)]
        return np.linalg.norm(ends[0] - ends[1], axis=0)

    def _wrench(self, first: int, name: Any) -> np.ndarray:
        """Return what a joint transmits, or what a force of the scene does."""
        if name in self.forces and name not in self.joints:
            return self.file["forces/wrench"][: self.rows, self.forces.index(name), first : first + 3].T
        joint = self._find("joint or force", name, (*self.joints, *self.forces))
        return self.file["joints/force"][: self.rows, joint, first : first + 3].T

    def _slip(self, joint: Any) -> np.ndarray:
        """Return the velocity of the child's material against the parent's where a joint or constraint is, m/s."""
        j = self._find("joint or constraint", joint, self.joints)
        at, out = self.file["joints/position"][: self.rows, j], np.zeros((self.rows, 3))
        for side, sign in (("child", 1.0), ("parent", -1.0)):
            body = self.file[f"joints/{side}"].asstr()[j]
            if body in self.bodies:
                p, v, w = (self._of_body(key, body).T for key in ("position", "velocity", "angular_velocity"))
                out += sign * (v + np.cross(w, at - p))
        return out.T

    def _of_force(self, key: str, name: Any) -> np.ndarray:
        return self.file[f"forces/{key}"][: self.rows, self._find("force", name, self.forces)]

    def _determinate(self, joint: Any, component: Any = None) -> np.ndarray:
        """Return 1 where a joint's force, or one component of it (x, y, z, rx, ry, rz), is the only one possible."""
        j = self._find("joint", joint, self.joints)
        if component is None:
            return self.file["trust/determinate"][: self.rows, j].astype(float)
        k = self._find("component", component, COMPONENTS)
        if "trust/components" not in self.file:
            raise RenderError("the recording does not tell components: it was made by a program that knew whole forces")
        return self.file["trust/components"][: self.rows, j, k].astype(float)

    def _touching(self, name: Any, by: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return rows (k,), points, normals and forces (k, 3) of contacts on `name`, of all bodies or of another one.

        Names are those of bodies, of shapes of the world (world.floor), and `world` for all of these; or patterns.
        """
        if "contacts" not in self.file:
            raise RenderError(f"the scene has no contacts, so nothing touches {name!r}")
        pairs = [strings(self.file[f"contacts/pairs/{side}"][:]) for side in "ab"]
        known = tuple(dict.fromkeys(["world", *pairs[0], *pairs[1]]))
        for wanted in (name, by):
            if wanted is not None and not any(fnmatchcase(one, wanted) for one in known):
                self._find("touching body", wanted, known)

        def called(one: str, wanted: Any) -> bool:
            return wanted is None or fnmatchcase(one, wanted) or (wanted == "world" and one.startswith("world."))

        sign = np.array([
            1.0 if called(b, name) and called(a, by) else -1.0 if called(a, name) and called(b, by) else 0.0
            for a, b in zip(*pairs, strict=True)
        ])  # fmt: skip
        row, pair = self.file["contacts/row"][:], self.file["contacts/pair"][:]
        kept = (row >= 0) & (row < self.rows)
        kept[kept] = sign[pair[kept]] != 0.0
        side = sign[pair[kept]][:, None]
        point, normal, force = (self.file[f"contacts/{what}"][:][kept] for what in ("point", "normal", "force"))
        return row[kept], point, side * normal, side * force

    def _contact(self, name: Any, by: Any = None) -> np.ndarray:
        row, _, _, force = self._touching(name, by)
        return self._sum(row, force).T

    def _contact_part(self, part: str, name: Any, by: Any = None) -> np.ndarray:
        """Return the sum of the normal forces, or the size of the sum of those along the surfaces."""
        row, _, normal, force = self._touching(name, by)
        pressing = np.sum(normal * force, axis=1)
        if part == "pressing":
            return np.bincount(row, pressing, self.rows)
        return np.linalg.norm(self._sum(row, force - pressing[:, None] * normal), axis=1)

    def _centre_of_pressure(self, name: Any, by: Any = None) -> np.ndarray:
        """Return the mean of the points by their normal forces; not-a-number where nothing presses."""
        row, point, normal, force = self._touching(name, by)
        pressing = np.sum(normal * force, axis=1)
        whole = np.bincount(row, pressing, self.rows)
        return (self._sum(row, pressing[:, None] * point) / np.where(whole > 0.0, whole, np.nan)[:, None]).T

    def _zero_moment_point(self, name: Any, by: Any = None) -> np.ndarray:
        """Return where the forces, friction too, have no moment but about the direction n of all normal forces' sum.

        In the plane across n through the centre of pressure C: C + n x M / (F . n), M the moment of the
        forces F about C (P. Sardain, G. Bessonnet, IEEE Trans. SMC-A 34, 2004).
        """
        row, point, normal, force = self._touching(name, by)
        centre = self._centre_of_pressure(name, by).T
        push = self._sum(row, np.sum(normal * force, axis=1)[:, None] * normal)
        size = np.linalg.norm(push, axis=1, keepdims=True)
        n = push / np.where(size > 0.0, size, np.nan)
        moment = self._sum(row, np.cross(point - centre[row], force))
        along = np.sum(n * self._sum(row, force), axis=1, keepdims=True)
        return (centre + np.cross(n, moment) / np.where(along > 0.0, along, np.nan)).T

    def _sum(self, row: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the sums (n, 3) of values (k, 3) over each row."""
        out = np.zeros((self.rows, 3))
        np.add.at(out, row, values)
        return out

    def _energy(self) -> np.ndarray:
        return self.file["energy/kinetic"][: self.rows] + self.file["energy/potential"][: self.rows]

    def _unit(self, tree: ast.expr) -> str:
        """Return the unit of a formula, as far as it follows simply; "1" for a number, "" where unknown."""
        if isinstance(tree, ast.Constant):
            return "1"
        if isinstance(tree, ast.Name):
            return NAMES[tree.id]
        if isinstance(tree, ast.Subscript):
            return self._unit_of_element(tree)
        if isinstance(tree, ast.UnaryOp):
            return self._unit(tree.operand)
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            return self._unit_of_call(tree.func.id, tree.args)
        if isinstance(tree, ast.BinOp):
            return self._unit_of_pair(tree)
        return ""

    def _unit_of_element(self, tree: ast.Subscript) -> str:
        call, index = tree.value, tree.slice
        if isinstance(call, ast.Call) and isinstance(index, ast.Constant) and isinstance(index.value, int):
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            if name in UNITS_OF_COLUMNS:
                return self._unit_of_column(name, self._slots(ast.literal_eval(call.args[0]))[index.value])
        return self._unit(call)

    def _unit_of_column(self, name: str, column: int) -> str:
        return strings(self.columns[UNITS_OF_COLUMNS[name]])[column]

    def _unit_of_call(self, name: str, args: list[ast.expr]) -> str:
        if name in UNITS_OF_COLUMNS:
            units = {self._unit_of_column(name, slot) for slot in self._slots(ast.literal_eval(args[0]))}
            return units.pop() if len(units) == 1 else " or ".join(sorted(units))
        if name in KEEPS_UNIT:
            return self._unit(args[0])
        if name in ("length", "tension"):
            kind = strings(self.file["forces/type"][:])[self._find("force", ast.literal_eval(args[0]), self.forces)]
            return {"length": ("m", "rad"), "tension": ("N", "N m")}[name][kind == "torsion_spring"]
        return UNITS.get(name, "")

    def _unit_of_pair(self, tree: ast.BinOp) -> str:
        left, right = self._unit(tree.left), self._unit(tree.right)
        if isinstance(tree.op, ast.Div) and isinstance(tree.right, ast.Name) and tree.right.id in SCALES:
            return tree.right.id + left.removeprefix("rad") if tree.right.id == "deg" else tree.right.id
        if isinstance(tree.op, (ast.Add, ast.Sub)):
            return left if left == right else ""
        if isinstance(tree.op, ast.Mult):
            return right if left == "1" else left if right == "1" else ""
        if isinstance(tree.op, ast.Div):
            return left if right == "1" else "1" if left == right and left else ""
        return "1" if left == right == "1" else ""


class _Dotted(ast.NodeTransformer):
    """Make one name of ``energy.kinetic``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = self.visit(node.value)
        return ast.Name(f"{value.id}.{node.attr}", ast.Load()) if isinstance(value, ast.Name) else node
