"""Refuses a method whose steps cannot be called as the loop and its base classes call them.
Evidence: `tests/methods/test_conformance.py`."""

from inspect import Parameter, isfunction, signature


def check_signatures(cls: type) -> None:
    """Compares each function of `cls` with the one of that name that it replaces.
    Raises `TypeError` where the arguments with which the latter is called do not fit; it names file
    and line, class, function and the signature to write."""
    for name, own in vars(cls).items():
        replaced = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
        if name.startswith("__") or not (isfunction(own) and isfunction(replaced)):
            continue
        wanted = signature(replaced)
        arguments = [n for n, one in wanted.parameters.items() if one.default is Parameter.empty]
        try:
            signature(own).bind(*arguments)
        except TypeError:
            code, taken = own.__code__, ", ".join(signature(own).parameters)
            written = f"def {name}{wanted}".replace("'", "")
            hint = ""
            if "now" in wanted.parameters:
                hint = "; the round `now` holds now.task, now.t and now.clients"
            raise TypeError(
                f"{code.co_filename}:{code.co_firstlineno}: {cls.__name__}.{name} takes ({taken}) "
                f"but is called with ({', '.join(arguments)}): write `{written}`{hint} "
                "(docs/adding-a-method.md)"
            ) from None
