"""SavedExplainer: explainers in files, as shap's are, and in pickles without their raw rows."""

from __future__ import annotations

from typing import Any

from shap._serializable import Deserializer, Serializable, Serializer

from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.explain.subjects._subject_of import Prepared

__all__ = ["OPTIONS", "SavedExplainer"]

OPTIONS = (
    "delta", "epsilon", "gamma", "include", "exclude", "max_size", "prove", "max_evals",
    "time_limit", "present_only", "supporting_only", "cost",
)  # fmt: skip
_SETTINGS = (
    *OPTIONS, "target", "versus", "method", "n_jobs", "seed", "feature_names", "output_names",
    "linearize_link", "on_error", "groups",
)  # fmt: skip
_BLOCK = "sklearn_probsr.SufficientReasonExplainer"


class SavedExplainer(Serializable):
    """What an explainer is made of again, from a file or a pickle."""

    model: Any
    _given_masker: Any
    distribution: Any
    _subject: Subject

    # Without what follows from the rest, and with one copy of the background: the one that counts,
    # in the columns of the linear model. What raw rows had to tell is in it and in that model.
    def __getstate__(self) -> dict[str, Any]:
        whole = self._subject.whole
        prepared = Prepared(whole.model, self.distribution, whole.columns)
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return {"model": self.model, "masker": prepared, **settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)

    def save(self, out_file: Any, model_saver: Any = "auto", masker_saver: Any = "auto") -> None:
        """Write the explainer to an open binary file, as shap's explainers do.

        Parameters
        ----------
        out_file : file
            Open for writing, in binary.
        model_saver, masker_saver : "auto" or callable, default="auto"
            How to write the model and the masker; "auto" pickles them.
        """
        Serializable.save(self, out_file)
        with Serializer(out_file, _BLOCK, version=0) as s:
            s.save("model", self.model, model_saver)
            s.save("masker", self._given_masker, masker_saver)
            s.save("settings", {name: getattr(self, name) for name in _SETTINGS})

    @classmethod
    def load(
        cls,
        in_file: Any,
        model_loader: Any = None,
        masker_loader: Any = None,
        instantiate: bool = True,
    ) -> Any:
        """Read an explainer from an open binary file.

        Parameters
        ----------
        in_file : file
            One that you trust: it may hold pickles.
        model_loader, masker_loader : callable or None, default=None
            How to read what a custom saver wrote.
        instantiate : bool, default=True
            Whether to return an explainer, or the arguments to make one.
        """
        if instantiate:
            return cls._instantiated_load(
                in_file, model_loader=model_loader, masker_loader=masker_loader
            )
        with Deserializer(in_file, _BLOCK, min_version=0, max_version=0) as s:
            return {
                "model": s.load("model", _asked(model_loader)),
                "masker": s.load("masker", _asked(masker_loader)),
                **s.load("settings"),
            }


def _asked(loader: Any) -> Any:
    """Return a loader that a caller chose; `shap.Explainer.load` brings some that it may not have.

    They read shap's own models and maskers, which are recognised without them.
    """
    owner = getattr(loader, "__self__", None)
    return None if isinstance(owner, type) and issubclass(owner, Serializable) else loader
