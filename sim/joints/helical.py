"""Helical, a screw: M turns about z of F and slides along it, R_FM = R_z(q), p_FM = h q z, with h = pitch / 2 pi.

The angle q [rad] counts on beyond a turn.  The way along it is h q, which tells how many turns they are where the joint
is connected anew.  Its motion about M's origin is a screw, S = (z; h z), which stands still in F and in M: its rate is
that of an axis, w x z.  A torque tau does the work tau q', in a loop by a moment along z.  What the joint carries
besides, a moment m and a force f, does none: z.m + h z.f = 0.

It locks the slides along x and y, keeps the two axes z parallel, and ties the slide along z to the turn, whole turns
and all, z.p_FM = h q: five rows.  A scene gives the axis, and the pitch: the way along it in one turn, negative for a
left-handed thread.  Its mirror image has the other hand.
"""

from sim.joints.joint_type import JointType, Z, turn

TYPE = JointType(name="helical", motions=(turn(Z, pitched=True),), z="axis", line="axis")
