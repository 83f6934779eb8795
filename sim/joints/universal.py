"""Universal, Hooke's joint: M turns about x of F, then about z of its own, R_FM = R_x(q_1) R_z(q_2), two angles [rad].

It locks p_FM = 0 and keeps x_F and z_M at a right angle: four rows.  A scene gives both axes, the first fixed in the
parent, the second in the child.  The rate of the first turns the axis of the second: w' has x_F x z_M v_1 v_2.
"""

from sim.joints.joint_type import JointType, X, Z, turn

TYPE = JointType(name="universal", motions=(turn(X), turn(Z)), z="second_axis", x="axis")
