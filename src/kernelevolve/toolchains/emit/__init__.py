"""Scripts that run in a language's own interpreter, by path: standard library and the language's packages, no more.

`harness.py` is the process; it loads one of the emitters. An emitter has:
    prepare(request) -> state           trusted: import and warm up everything that reads files or starts programs
    emit(state, modules, launch) -> (facts, blob)     the candidate's code runs here: numbers and machine code or PTX
    place(state, modules, error) -> (file, line[, message]) or None     optional: where in the candidate an error is
"""
