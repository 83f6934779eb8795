"""Linear models of a mechanism about a state, by the kernels' own passes over dual numbers.

duals, equations: numbers with derivatives, and the accelerations over them.  symmetry, steady: which motions are
steady, and the nearest one.  roots, stability: what roundoff leaves of eigenvalues, and where modes begin to grow.
study: A, B and eigenvalues, over a parameter, too.
"""
