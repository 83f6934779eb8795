"""A model view for controllers, made by hand."""

import math

import numpy as np

from sim.plugin import ModelView

FREEDOMS = {"rotational": 1, "translational": 1, "universal": 2, "planar": 3, "spherical": 3, "free": 6}


def view_of(joints, limits=None, start=None):
    """Return a view of joints given as name -> type; limits and start as joint -> values."""
    columns, at = {}, 0
    for name, kind in joints.items():
        columns[name] = slice(at, at + FREEDOMS[kind])
        at += FREEDOMS[kind]
    ranges = np.tile([-math.inf, math.inf], (at, 1))
    for name, rows in (limits or {}).items():
        ranges[columns[name].start : columns[name].start + len(rows)] = rows
    first = np.zeros(at)
    for name, value in (start or {}).items():
        first[columns[name]] = value
    return ModelView(
        joint_names=tuple(joints),
        body_names=("body",),
        columns=columns,
        types=dict(joints),
        limits=ranges,
        start=first,
        seed=0,
    )


def torque_of(controller, view, coordinate, rate, t=0.0):
    """Return the torque (columns,) of a compiled controller, run as plain Python."""
    controller.start(view)
    torque = np.zeros(len(coordinate))
    type(controller).law(t, np.asarray(coordinate, float), np.asarray(rate, float), controller.constants(view), torque)
    return torque
