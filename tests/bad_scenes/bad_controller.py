"""A controller that cannot be imported."""

import no_such_module


class Pump:
    """Never reached."""

    module = no_such_module
