"""Spherical, a ball in a socket: M turns freely about its origin, R_FM = R(q) of a unit quaternion q, child to parent.

Rates are the angular velocity of M against F in M's axes, q' = q (0, v) / 2; displacements likewise,
R <- R exp(v dt) (structure-varying-1999, eq. (25)).  As one number for each freedom its coordinate is the rotation
vector.  It locks p_FM = 0: three rows.  F and M have the axes of the child in the drawing.

Limits: the length of the rotation vector, from 0.
"""

from sim.joints.joint_type import JointType, ball

TYPE = JointType(name="spherical", motions=(ball(),), limits="ball")
