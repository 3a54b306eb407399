"""Keeps secrets out of everything that is shown or written: found by value, also where an encoding carries them."""

from cleanslate.redaction.cut import MASK
from cleanslate.redaction.forms import SHORTEST
from cleanslate.redaction.names import looks_secret
from cleanslate.redaction.secrets import Secrets

__all__ = ["MASK", "SHORTEST", "Secrets", "looks_secret"]
