"""Every step by its name; adding one is one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.steps.camera_lidar import CameraLidar
from bagnoise.steps.cloud_dropout import Dropout
from bagnoise.steps.cloud_losses import BeamMissing, Cutout, IncompleteEcho
from bagnoise.steps.cloud_noise import IntensityNoise, Quantize, RangeNoise
from bagnoise.steps.color import Classes, Color
from bagnoise.steps.covariance import Covariance
from bagnoise.steps.detection import Detection
from bagnoise.steps.drift import Drift
from bagnoise.steps.false_positives import FalsePositives
from bagnoise.steps.field_of_view import Crop, FieldOfView
from bagnoise.steps.fog import Fog
from bagnoise.steps.from_track import FromTrack
from bagnoise.steps.frustum import Frustum
from bagnoise.steps.header import Header
from bagnoise.steps.interference import Crosstalk, Sun
from bagnoise.steps.misalign import Misalign
from bagnoise.steps.motion_blur import MotionBlur
from bagnoise.steps.noise import Noise
from bagnoise.steps.occlusion import Occlusion
from bagnoise.steps.polar_noise import PolarNoiseStep
from bagnoise.steps.precipitation import Rain, Snow
from bagnoise.steps.sensor import Sensor
from bagnoise.steps.shuffle import Duplicates, Shuffle
from bagnoise.steps.stamps import SensorClock
from bagnoise.steps.timing import Drop, Latency, Rate, Shift
from bagnoise.steps.wet_ground import WetGround

if TYPE_CHECKING:
    from bagnoise.steps.base import Step

_IN_ORDER: tuple[type[Step], ...] = (
    FromTrack,
    Sensor,
    FieldOfView,
    Crop,
    Occlusion,
    Detection,
    Classes,
    Color,
    FalsePositives,
    Noise,
    PolarNoiseStep,
    Drift,
    Duplicates,
    Shuffle,
    Covariance,
    Header,
    Frustum,
    CameraLidar,
    RangeNoise,
    IntensityNoise,
    Quantize,
    Dropout,
    Fog,
    Rain,
    Snow,
    WetGround,
    BeamMissing,
    Cutout,
    IncompleteEcho,
    Crosstalk,
    Sun,
    MotionBlur,
    Misalign,
    Rate,
    Latency,
    Shift,
    Drop,
    SensorClock,
)
STEPS: dict[str, type[Step]] = {step.name: step for step in _IN_ORDER}
