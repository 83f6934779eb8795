"""Cylindrical: M slides along z of F and turns about it, p_FM = q_1 z, R_FM = R_z(q_2): a way [m] and an angle [rad].

It locks the slides along x and y and keeps the two axes z parallel: four rows.  A scene gives the axis.
"""

from sim.joints.joint_type import JointType, Z, slide, turn

TYPE = JointType(name="cylindrical", motions=(slide(Z), turn(Z)), z="axis", line="axis")
