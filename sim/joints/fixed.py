"""Fixed: nothing moves, X_FM = 1.

It locks p_FM = 0 and the rotation vector of R_FM = 0: six rows.
"""

from sim.joints.joint_type import JointType

TYPE = JointType(name="fixed", motions=(), limits="")
