"""The gateway's socket: how other commands of the same person reach it, a JSON object a line.

The server speaks first: who it is. Then the client says what it wants, and the two of them go on as that demands.
"""
