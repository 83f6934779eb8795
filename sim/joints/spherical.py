"""Spherical, a ball in a socket: M turns freely about its origin, R_FM = R(q) of a unit quaternion q, child to parent.

Rates are the angular velocity of M against F in M's axes, q' = q (0, v) / 2; displacements likewise,
R <- R exp(v dt) (structure-varying-1999, eq. (25)).  As one number for each freedom its coordinate is the rotation
vector.  It locks p_FM = 0: three rows.  F and M have the axes of the child in the drawing.

Limits are of three angles, each with a rate v.n and so a torque along n, in M's axes.

- The angle, the length of the rotation vector, from 0; n is its direction.
- The swing about an axis a of the child, how far a_M is tilted from a_F, within a cone: cos swing = a_F.a_M,
  n = (a_F x a_M) / sin swing.
- The twist about it: R = R_swing R_twist, where R_swing is the shortest turn that takes a_F to a_M;
  tan(twist / 2) = p.a / w of the quaternion (w, p), n = (a_F + a_M) / (1 + a_F.a_M), longer than 1 where it is tilted.
"""

from sim.joints.joint_type import JointType, ball

TYPE = JointType(name="spherical", motions=(ball(),), limits="ball")
