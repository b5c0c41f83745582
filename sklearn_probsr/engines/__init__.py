"""Engines: probabilities with a proof, one folder for each kind of sum.

Every kernel and every error constant cites its statement of docs/guarantees.md by number. The words
that all of them share (positive, margins, capacity, cut, gain, level, blur, doubt, members,
candidates, forced, most, verdict) are explained at the top of its section 3.
"""
