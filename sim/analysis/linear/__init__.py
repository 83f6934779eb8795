"""Linear models of a mechanism about a state, by complex steps through equations of their own.

numbers, motion, rows, acting, equations: the mechanics, dense numpy over real and complex numbers alike.  symmetry,
steady: which motions are steady, and the nearest one.  roots, crossings: what roundoff leaves of eigenvalues, and where
modes begin to grow.  study: A, B and eigenvalues, over a parameter, too.
"""
