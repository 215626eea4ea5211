"""One set of frequencies for several kernels (section 4)."""

from __future__ import annotations

from ..kernels import Array, Kernel
from . import shipped
from .base import FeatureMap
from .optimization import fit


class JointMap(FeatureMap):
    """Frequencies chosen for all kernels together, with each kernel's best weights.

    Minimises the sum of the kernels' worst errors on [0, domain] over frequencies and weights, with
    exactly `n_frequencies` of them. The paper's linear program with its search over gamma gives one start
    of that search; see `optimization` for the others. Takes any number of kernels.

    A fit takes seconds and is remembered; those of the presets come with the package.

    Examples
    --------
    >>> import numpy as np
    >>> from sketchseek.kernels import RBF
    >>> maps = JointMap(kernels=[RBF(.12), RBF(.16), RBF(.20)], n_frequencies=7).fit()
    >>> maps.errors().round(3).tolist()
    [0.109, 0.047, 0.017]
    >>> x, q = np.array([[0.3], [0.5]]), np.array([[0.35]])
    >>> similarity = maps.transform_query(q, kernel=2) @ maps.transform(x).T   # (1, 2): RBF(.20)
    >>> bool(np.allclose(similarity, maps.signature(q - x.T, kernel=2)))
    True

    References
    ----------
    G. Tolias and O. Chum, "Asymmetric Feature Maps with Application to Sketch Based Retrieval", CVPR 2017.
    """

    def _fit(self, kernels: tuple[Kernel, ...]) -> tuple[Array, Array]:
        n, domain = int(self.n_frequencies), float(self.domain)
        frequencies, weights = shipped.joint(kernels, n, domain) or fit(kernels, n, domain)
        return frequencies.copy(), weights.copy()
