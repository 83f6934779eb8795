"""Recordings: written while a scene runs, read by name."""

from sim.recording.by_name import ByName
from sim.recording.contact_tables import Contacts
from sim.recording.errors import RecordingError, UnknownNameError
from sim.recording.format import (
    Begun,
    BindingEntry,
    BodyEntry,
    ColumnEntry,
    EventEntry,
    ForceEntry,
    JointEntry,
    Layout,
    PairEntry,
    PointEntry,
    ShapeEntry,
    row_fields,
)
from sim.recording.reader import Epoch, Recording, load_recording
from sim.recording.writer import Recorder

__all__ = [
    "Begun",
    "BindingEntry",
    "BodyEntry",
    "ByName",
    "ColumnEntry",
    "Contacts",
    "Epoch",
    "EventEntry",
    "ForceEntry",
    "JointEntry",
    "Layout",
    "PairEntry",
    "PointEntry",
    "Recorder",
    "Recording",
    "RecordingError",
    "ShapeEntry",
    "UnknownNameError",
    "load_recording",
    "row_fields",
]
