"""Translational, a slider: M slides along z of F, p_FM = q z, by the way q [m].

It locks the slides along x and y and all turns: five rows.  A scene gives the axis; where it is does not matter.
"""

from sim.joints.joint_type import JointType, Z, slide

TYPE = JointType(name="translational", motions=(slide(Z),), z="axis", line="axis")
