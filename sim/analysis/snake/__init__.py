"""The three methods of the snake paper: Kane's equations, Lagrange's with multipliers, Newton-Euler's.

H. Tavakoli Nia, H. N. Pishkenari, A. Meghdari, *A recursive approach for the analysis of snake robots using
Kane's equations* (2005).  Plain Python in the order of the paper, generic over the type of number: floats,
`numpy.float32` (the paper's single precision) and `counting.Counted`, which counts operations by running; `compiled`
compiles the same functions.
It shares nothing with the engine, so that each can be held against the other.
"""
