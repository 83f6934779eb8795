"""Free: nothing holds M to F, p_FM = (q_1, q_2, q_3), R_FM = R(q_4 .. q_7) of a unit quaternion, child to parent.

Rates are the velocity of M's origin in F's axes and the angular velocity in M's axes.  It locks nothing.  F and M are
the frames of the two bodies themselves.
"""

from sim.joints.joint_type import JointType, X, Y, Z, ball, slide

TYPE = JointType(
    name="free", motions=(slide(X), slide(Y), slide(Z), ball()), own_frames=True, limits=""
)  # fmt: skip
