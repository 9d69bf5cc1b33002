"""Encodings in models of Hugging Face: read, install, take out again, save and load.

import gnomon.hf
gnomon.hf.read(model)                                       # the encoding a model has
gnomon.hf.install(model, gnomon.encoding("alibi", heads=12, symmetric=True))
model.save_pretrained("folder")
model = gnomon.hf.load("folder")
gnomon.hf.uninstall(model)                                  # bit for bit as it was
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import MissingExtraError
from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.hf.certified import subject_of_folder as subject_of_folder
    from gnomon.hf.certified import subject_of_model as subject_of_model
    from gnomon.hf.foreign import SAFELY as SAFELY
    from gnomon.hf.foreign import check_weights as check_weights
    from gnomon.hf.foreign import open_config as open_config


try:
    import transformers as _transformers
except ImportError as error:
    raise MissingExtraError(
        "gnomon.hf needs transformers, which is not installed; run `pip install gnomon[hf,torch]`."
    ) from error
if int(_transformers.__version__.partition(".")[0]) < 5:
    raise MissingExtraError(
        f"gnomon.hf needs transformers 5 or later, and {_transformers.__version__} is installed; "
        "run `pip install 'transformers>=5'`."
    )

import gnomon.torch as _room  # noqa: F401 - asked for first: its absence is said in words
from gnomon.hf.attention import register
from gnomon.hf.installing import install, installed, load, uninstall
from gnomon.hf.reading import read

register()

__all__ = ["install", "installed", "load", "read", "uninstall"]

# What other rooms need beside, loaded when it is asked for.
__getattr__, __dir__ = front(
    __name__,
    {
        "certified": ("subject_of_folder", "subject_of_model"),
        "foreign": ("SAFELY", "check_weights", "open_config"),
    },
)
