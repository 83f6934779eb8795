"""Planar: M slides along x and y of F and turns about z, p_FM = q_1 x + q_2 y, R_FM = R_z(q_3): two ways, an angle.

It locks the slide along z and keeps the two axes z parallel: three rows.  A scene gives the axis, the plane's normal,
and may give the direction of x.
"""

from sim.joints.joint_type import JointType, X, Y, Z, slide, turn

TYPE = JointType(
    name="planar", motions=(slide(X), slide(Y), turn(Z)), z="axis", x="second_axis", line="normal"
)  # fmt: skip
