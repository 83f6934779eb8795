"""`sim list` and `sim schema`: what comes with the program."""

from __future__ import annotations

from pathlib import Path

from sim.cli.outcome import OK, Refusal, print_json, tell


def about(path: Path) -> str:
    """Return the `about` line of a scene file; empty where it has none or cannot be read."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, yaml.YAMLError):
        return ""
    text = found.get("about", "") if isinstance(found, dict) else ""
    return " ".join(str(text).split())


def list_scenes(*, as_json: bool = False) -> int:
    """Print the shipped scenes and figures with what they show."""
    from sim.scene import library

    root = library.scenes_path()
    found = [{"name": name, "about": about(root / f"{name}.yaml")} for name in library.names()]
    # Scenes first, then what lies in folders: figures, benchmarks.
    found.sort(key=lambda entry: ("/" in entry["name"], entry["name"]))
    if as_json:
        print_json(found)
        return OK
    from sim.cli.printed_tables import print_table

    print_table("", ("scene", "shows"), [(entry["name"], entry["about"]) for entry in found])
    tell(f"\nrun one: sim run NAME; the files are in {root}")
    return OK


def list_controllers(*, as_json: bool = False) -> int:
    """Print the controller types with what they do."""
    from sim.scene.controllers import installed

    found = [{"name": name, "about": _first_line(name), "class": installed()[name]} for name in sorted(installed())]
    if as_json:
        print_json(found)
        return OK
    from sim.cli.printed_tables import print_table

    print_table("", ("type", "what it does"), [(entry["name"], entry["about"]) for entry in found])
    tell("\nparameters of one: sim schema TYPE; a new one: sim new controller NAME")
    return OK


def _first_line(name: str) -> str:
    from sim.scene.controllers import ControllerError, controller_class

    try:
        kind = controller_class(name, Path(), trust=False)
    except ControllerError as error:
        return f"(cannot be loaded: {error})"
    return (kind.__doc__ or "").strip().splitlines()[0]


def schema(controller: str | None = None, *, path: bool = False) -> int:
    """Print the JSON Schema of a scene, or where it is, or that of a controller's block."""
    from sim.scene import library

    if controller is not None:
        return _controller_schema(controller)
    file = library.schema_path()
    tell(file if path else file.read_text(encoding="utf-8").rstrip("\n"))
    return OK


def _controller_schema(name: str) -> int:
    from sim.plugin import schema_of
    from sim.scene.controllers import ControllerError, controller_class

    try:
        kind = controller_class(name, Path(), trust=False)
    except ControllerError as error:
        raise Refusal("; ".join(part for part in (str(error), error.hint) if part)) from error
    print_json(schema_of(kind))
    return OK
