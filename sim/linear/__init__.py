"""Linear models of a mechanism about a state, by complex steps through equations that share nothing with the kernels.

    numbers -> motion -> rows -> acting -> equations      dense numpy, over real and complex numbers alike
    symmetry -> steady                                    which motions are steady, and the nearest one
    study                                                 A, B, eigenvalues; over a parameter
"""
