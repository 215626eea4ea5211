"""What all feature maps share: the query side, the database side, and the manners of an estimator."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import RBF, Array, Kernel
from .components import columns, per_component
from .optimization import best_weights

DEFAULT_KERNELS = (RBF(0.12), RBF(0.16), RBF(0.20))
"""Those of the paper's figure (jointapprox): for drawings at 60, 80 and 100 % of the frame."""


class FeatureMap:
    """A signature written as a short sum of cosines, k(d) ~ sum_w alpha_w cos(w d), and used as a map.

    The frequencies are shared by all kernels; each kernel has its own weights. Vectors of the database
    hold no weights and serve every kernel (map_asym2); the query's vector chooses the kernel (map_asym1).

    The columns are [1, cos w1 x, sin w1 x, cos w2 x, sin w2 x, ...]: frequency 0 is always the first, and
    needs no sine. An `X` with several columns has each of them mapped, one after the other.

    Subclasses say in `_fit` how frequencies and weights are found. They are scikit-learn estimators, but
    do not need scikit-learn.

    Parameters
    ----------
    kernels : a kernel or a sequence of K kernels
    n_frequencies : number of frequencies n, with 0 among them; a number becomes 2 n - 1 columns
    domain : differences in [-domain, domain] are what the approximation is made for

    Attributes
    ----------
    frequencies_ : (n,), ascending, the first is 0
    weights_ : (K, n), none negative
    n_features_in_ : columns of `X` that `transform` takes; 1 when `fit` was given none
    feature_names_in_ : (n_features_in_,) names of the columns, where `fit` was given a table
    """

    frequencies_: Array
    weights_: Array
    n_features_in_: int

    def __init__(
        self,
        kernels: Kernel | Sequence[Kernel] = DEFAULT_KERNELS,
        n_frequencies: int = 5,
        domain: float = math.pi,
    ) -> None:
        self.kernels = kernels
        self.n_frequencies = n_frequencies
        self.domain = domain

    def _fit(self, kernels: tuple[Kernel, ...]) -> tuple[Array, Array]:
        raise NotImplementedError

    def fit(self, X: ArrayLike | None = None, y: object = None) -> Self:
        """Find frequencies and weights. They depend on the kernels only; `X` tells the number of columns."""
        names = _names_of(X)
        if X is not None:
            X = _check_numbers(X, type(self).__name__)
        kernels = self._checked_kernels()
        if not _is_whole(self.n_frequencies) or self.n_frequencies < 1:
            raise ValueError(f"n_frequencies must be a whole number, 1 or more, not {self.n_frequencies!r}")
        if not _is_real(self.domain) or not 0 < self.domain < math.inf:
            raise ValueError(f"domain must be a finite number greater than 0, not {self.domain!r}")
        self.frequencies_, self.weights_ = self._fit(kernels)
        self.n_features_in_ = 1 if X is None else X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def transform(self, X: ArrayLike) -> Array:
        """The database side (map_asym2), with no kernel in it: (n, m) -> (n, m (2 n_frequencies - 1)).

        An array, or the table that `set_output` asks for.
        """
        values: Array = self._as_asked(self._mapped(X), X)
        return values

    def _mapped(self, X: ArrayLike) -> Array:
        self.check_fitted()
        X = _check_numbers(X, type(self).__name__, self.n_features_in_)
        return self.columns(X).reshape(len(X), -1)

    def columns(self, x: Array) -> Array:
        """`transform` of an array of any shape: (...) -> (..., 2 n_frequencies - 1), unchecked."""
        return columns(x, self.frequencies_)

    def fit_transform(self, X: ArrayLike, y: object = None) -> Array:
        """`fit`, then `transform`."""
        return self.fit(X).transform(X)

    def transform_query(self, X: ArrayLike, kernel: int | Kernel = 0) -> Array:
        """The query side (map_asym1), with one kernel's weights: an index, or any further kernel."""
        weights = np.tile(self.column_weights(kernel), self.n_features_in_)
        return self._mapped(X) * weights

    def transform_symmetric(self, X: ArrayLike, kernel: int | Kernel = 0) -> Array:
        """The same map for both sides (map_sym), with the square root of one kernel's weights."""
        weights = np.tile(self.column_weights(kernel), self.n_features_in_)
        return self._mapped(X) * np.sqrt(weights)

    def signature(self, d: ArrayLike, kernel: int | Kernel = 0) -> Array:
        """The approximated kernel at differences `d`, in the same shape (kernel_approx)."""
        weights = self._weights(kernel)
        return np.asarray(np.cos(np.multiply.outer(check_finite(d, "d"), self.frequencies_)) @ weights)

    def column_weights(self, kernel: int | Kernel = 0) -> Array:
        """(2 n_frequencies - 1,): a kernel's weight of each column, equal for cosine and sine."""
        return per_component(self._weights(kernel))

    def weights_for(self, kernel: Kernel) -> Array:
        """(n_frequencies,): best nonnegative weights of any further kernel on the fitted frequencies.

        They have the smallest worst error on [0, domain], by one small linear program (milliseconds).
        """
        self.check_fitted()
        if not callable(kernel):
            raise ValueError(f"kernel must be a callable kernel such as RBF(0.14), not {kernel!r}")
        return best_weights(kernel, tuple(self.frequencies_.tolist()), float(self.domain)).copy()

    def errors(self) -> Array:
        """(K,): each kernel's worst error on [0, domain], at 2001 points."""
        self.check_fitted()
        grid = np.linspace(0.0, self.domain, 2001)
        exact = np.stack([kernel(grid) for kernel in self._checked_kernels()])
        signatures = self.weights_ @ np.cos(np.outer(self.frequencies_, grid))
        return np.asarray(np.abs(exact - signatures).max(axis=1))

    def _weights(self, kernel: int | Kernel) -> Array:
        self.check_fitted()
        if not isinstance(kernel, int | np.integer):
            return self.weights_for(kernel)
        if isinstance(kernel, bool) or not 0 <= kernel < len(self.weights_):
            raise ValueError(f"kernel must be an index from 0 to {len(self.weights_) - 1}, not {kernel!r}")
        return np.asarray(self.weights_[kernel])

    def _checked_kernels(self) -> tuple[Kernel, ...]:
        kernels = (self.kernels,) if callable(self.kernels) else self.kernels
        if not isinstance(kernels, Sequence) or not kernels or not all(callable(k) for k in kernels):
            raise ValueError(
                f"kernels must be a kernel such as RBF(0.12), or a list of them, not {self.kernels!r}"
            )
        return tuple(kernels)

    def check_fitted(self) -> Self:
        """Itself, or an error that says to call `fit` first."""
        if not hasattr(self, "weights_"):
            raise _not_fitted_error()(
                f"This {type(self).__name__} instance is not fitted yet. Call fit() first."
            )
        return self

    # What scikit-learn asks of an estimator, without scikit-learn.

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Names of the columns that `transform` gives: "x0_1", "x0_cos1", "x0_sin1", "x0_cos2", ...

        input_features : names of the columns of `X`; those that `fit` saw, else x0, x1, ...
        """
        self.check_fitted()
        seen = getattr(self, "feature_names_in_", None)
        if input_features is None:
            input_features = [f"x{i}" for i in range(self.n_features_in_)] if seen is None else list(seen)
        elif len(input_features) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features: {self.n_features_in_}"
            )
        elif seen is not None and list(input_features) != list(seen):
            raise ValueError("input_features is not equal to feature_names_in_")
        waves = [f"{wave}{i}" for i in range(1, len(self.frequencies_)) for wave in ("cos", "sin")]
        return np.array([f"{name}_{part}" for name in input_features for part in ("1", *waves)], object)

    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self:
        """What `transform` gives: "default", an array; "pandas" or "polars", a table. None: as before."""
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(f'transform must be "default", "pandas" or "polars", not {transform!r}')
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # by this name `clone` takes it along
        return self

    def _as_asked(self, values: Array, X: Any) -> Any:
        everywhere = (
            sys.modules["sklearn"].get_config()["transform_output"] if "sklearn" in sys.modules else "default"
        )
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", everywhere)
        if kind == "default":
            return values
        names = self.get_feature_names_out().tolist()
        table = import_module(kind).DataFrame
        if kind == "polars":
            return table(values, schema=names, orient="row")
        return table(values, columns=names, index=X.index if hasattr(X, "iloc") else None)

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; they count at the next `fit`."""
        for name, value in params.items():
            if name not in self._parameter_names():
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}: it takes {self._parameter_names()}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"

    def __sklearn_tags__(self) -> Any:
        # Only scikit-learn asks, so that it is there to import.
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            requires_fit=True,
        )


class NotFittedError(ValueError, AttributeError):
    """Raised when a map is used before `fit`."""


def _not_fitted_error() -> type[Exception]:
    """scikit-learn's own where it is loaded, since its tools look for that."""
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError as Theirs

        return Theirs  # type: ignore[no-any-return]
    return NotFittedError


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_finite(values: ArrayLike, name: str) -> Array:
    """`values` as a float64 array of finite numbers, or an error that names the argument."""
    array = np.asarray(values)
    if np.iscomplexobj(array):
        raise ValueError(f"{name} must be real: Complex data not supported")
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:  # the same kind of error, with the argument's name
        raise type(error)(f"{name} must be an array of numbers: {error}") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, it contains NaN or infinity")
    return array


def _names_of(X: object) -> NDArray[np.object_] | None:
    """The names of a table's columns; None where it has none."""
    names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.array(list(names), object)


def _check_numbers(X: ArrayLike, who: str, columns: int | None = None) -> Array:
    """`X` as float64 (n, m). The sentences hold the words that scikit-learn's checks look for."""
    if hasattr(X, "toarray"):
        raise TypeError("X must be a dense array: sparse input is not supported, call X.toarray() first")
    array = check_finite(X, "X")
    if array.ndim != 2:
        raise ValueError(
            f"X must be 2D with shape (n, 1), not {array.shape}. Reshape your data: X.reshape(-1, 1)"
        )
    if 0 in array.shape:
        what = "sample" if len(array) == 0 else "feature"
        raise ValueError(f"X has 0 {what}(s) (shape={array.shape}) while a minimum of 1 is required.")
    if columns is not None and array.shape[1] != columns:
        raise ValueError(
            f"X has {array.shape[1]} features, but {who} is expecting {columns} features as input"
        )
    return array
