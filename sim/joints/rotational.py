"""Rotational, a hinge: M turns about z of F, X_FM = R_z(q), by the angle q [rad], which counts on beyond a turn.

It locks p_FM = 0 and keeps the two axes z parallel: five rows.  A scene gives the axis.
"""

from sim.joints.joint_type import JointType, Z, turn

TYPE = JointType(name="rotational", motions=(turn(Z),), z="axis", line="axis")
