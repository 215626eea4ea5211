"""`sketchseek evaluate`: mAP and its companions on an annotated folder."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SketchseekError
from .arguments import natural, positive, strength, weight

if TYPE_CHECKING:
    from ..embeddings import EmbeddingIndex
    from ..evaluation.experiment import Experiment
    from ..search.options import Options

NAMES = {
    "map": "mAP",
    "p@5": "P@5",
    "p@10": "P@10",
    "p@20": "P@20",
    "p@25": "P@25",
    "p@50": "P@50",
    "instance_recall@1": "instance first",
    "instance_recall@5": "instance in the first 5",
    "instance_recall@10": "instance in the first 10",
    "box_iou": "box IoU",
    "placed@20": "right and placed, of 20",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evaluate`."""
    parser.add_argument("folder", metavar="FOLDER", help="photos, drawings and which belong together")
    parser.add_argument("--layout", choices=("flickr15k", "ethz"), help="a public set's own layout")
    parser.add_argument(
        "--preset",
        choices=("compact", "precise", "full"),
        help="how finely shapes are stored (default: precise)",
    )
    parser.add_argument(
        "--paper", action="store_true", help="the paper's own configuration, (5,2) by default"
    )
    parser.add_argument(
        "--min-object-size", "--smallest", type=float, choices=(0.6, 0.3, 0.2), default=0.3, metavar="F",
        help="find things down to this share of a photo's longer side: .6, .3 (default) or .2",
    )  # fmt: skip
    parser.add_argument(
        "--detector",
        default="neural",
        metavar="NAME",
        help="what finds edges: neural (default), canny or structured:FILE",
    )
    parser.add_argument(
        "--method",
        choices=("exhaustive", "projections", "dpf"),
        help="default: exhaustive, and projections with --shortlist",
    )
    parser.add_argument(
        "--shortlist", type=natural, metavar="S", help="photos to re-rank; 0: projections alone"
    )
    parser.add_argument(
        "--rerank",
        choices=("exact", "binary", "local", "binary-all", "local-all"),
        help="how to rank the shortlist (default: exact)",
    )
    parser.add_argument(
        "--neighborhood", type=positive, metavar="N", help="for binary and local (default: 3)"
    )
    parser.add_argument(
        "--expansion", metavar="NAME", help="also search by what photos show, as the network NAME sees it"
    )
    parser.add_argument(
        "--learned",
        type=Path,
        metavar="FILE",
        help="what NAME has learned about drawings, if not what comes with the package",
    )
    parser.add_argument("--expand", type=natural, metavar="N", help="with --expansion, as in `search`")
    parser.add_argument("--blend", type=weight, metavar="W", help="with --expansion, as in `search`")
    parser.add_argument(
        "--no-mirror", dest="mirror", action="store_false", help="do not look for mirrored drawings"
    )
    parser.add_argument(
        "--local-normalization",
        "--clutter",
        type=strength,
        default=0.4,
        metavar="B",
        help="strength of local normalisation (default: .4); 0: none",
    )
    parser.add_argument(
        "--storage", choices=("int8", "float32"), default="int8", help="of the vectors (default: int8)"
    )
    parser.add_argument("--queries", type=positive, metavar="N", help="only N of the drawings, at random")
    parser.add_argument("--moved", action="store_true", help="shrink and move the contours of the photos")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes (default: one per processor)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Evaluate and print."""
    from ..evaluation import datasets
    from ..evaluation.experiment import Experiment
    from ..progress import shown
    from ..search.options import Options
    from ..shape.settings import DEFAULT_PRESET, Settings

    if args.expansion is None and (args.expand or args.blend or args.learned):
        raise SketchseekError("--expand, --blend and --learned say how to use --expansion NAME: name one.")
    names = (
        "mirror",
        "expand",
        "blend",
        "method",
        "shortlist",
        "rerank",
        "neighborhood",
        "local_normalization",
    )
    args.method = args.method or ("exhaustive" if args.shortlist is None else "projections")
    options = Options(**{name: getattr(args, name) for name in names})
    data = datasets.load(args.folder, args.layout)
    with shown(sys.stderr) as progress:
        experiment = Experiment.of(
            data,
            args.detector,
            line_art=not args.paper,
            jobs=args.jobs,
            progress=progress,
        )
    for sentence in experiment.failures:
        print(sentence, file=sys.stderr)
    if args.queries:
        experiment = experiment.sample(args.queries)
    if args.moved:
        experiment = experiment.moved()
    embeddings = None
    if args.expansion:
        from ..embeddings import get_encoder
        from ..evaluation.embeddings import embeddings_of
        from ..networks.weights import read_tensors

        with shown(sys.stderr) as progress:
            known = read_tensors(args.learned) if args.learned else None
            encoder = get_encoder(args.expansion, learned=known)
            embeddings = embeddings_of(data, encoder, progress)
    if args.paper:
        document = _to_the_letter(experiment, options, embeddings, args)
    else:
        settings = Settings.preset(args.preset or DEFAULT_PRESET)
        document = experiment.evaluate(settings, options, args.storage, embeddings, args.min_object_size)
    print(json.dumps(document) if args.json else as_text(document))
    return 0


def _to_the_letter(
    experiment: Experiment, options: Options, embeddings: EmbeddingIndex | None, args: argparse.Namespace
) -> dict[str, Any]:
    from ..evaluation import paper
    from ..evaluation.ablations import scores_of_orders
    from ..evaluation.scoring import summary
    from ..shape.settings import Settings
    from ..shape.windows import WHOLE

    settings, options = Settings.paper(args.preset or "compact"), paper.options_of(options)
    experiment = paper.to_the_letter(experiment)
    if embeddings is None:
        return experiment.evaluate(settings, options, args.storage, min_object_size=WHOLE)
    state = experiment.state(settings, args.storage, min_object_size=WHOLE)
    n = paper.EXPAND if args.expand is None else args.expand
    order = paper.expansion_order(state, embeddings, options, n)
    return summary(experiment.data, scores_of_orders(experiment, order), f"{options.method}, QE{n}")


def as_text(document: dict[str, Any]) -> str:
    """A readable table of the same document, in percent."""
    lines = [
        f"{document['name']}: {document['queries']} drawings, {document['pictures']} photos, "
        f"{document['method']}"
    ]
    for key, name in NAMES.items():
        if key in document:
            low, high = document["intervals"][key]
            lines.append(f"{name:>26} {100 * document[key]:6.1f}   ({100 * low:.1f} to {100 * high:.1f})")
    lines.append(f"{'':>26} {'mAP':>6} {'P@20':>6}")
    for category, row in sorted(document["per_category"].items(), key=lambda item: -item[1]["map"]):
        lines.append(f"{category[:26]:>26} {100 * row['map']:6.1f} {100 * row['p@20']:6.1f}")
    return "\n".join(lines)
