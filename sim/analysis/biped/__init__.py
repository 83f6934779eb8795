"""The biped paper: planar walkers by Euler and Lagrange, by virtual decomposition, and what two feet share.

H. F. N. Al-Shuka, B. J. Corves, W.-H. Zhu, *Dynamic modeling of biped robot using Lagrangian and recursive
Newton-Euler formulations*, International Journal of Computer Applications 101 (2014).  Plain numpy in the order of the
paper.  It shares nothing with the engine, so that each can be held against the other.
"""
