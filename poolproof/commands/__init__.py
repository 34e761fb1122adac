"""One module per verb; a module whose name starts with an underscore helps verbs and is none itself.

A verb module has a function `run`: its signature is the command line, its docstring the help, its result the exit code.
Anything that takes time to import is imported inside `run`, because `poolproof --help` imports every verb.
"""
