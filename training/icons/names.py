"""What an icon is called, the same in every set: names are the labels of the training."""

import re

STYLES = frozenset(
    """
    alt alternate baseline black bold broken classic color colored coloured curved duotone emoji f
    fill filled flat freehand glyph icon icons ios l large lg light line linear lined logo md micro
    mini new o old outline outlined regular remix round rounded s sharp simple sm small solid
    streamline stroke stroked thin tone two twotone variant white xl xs
    """.split()  # noqa: SIM905
)
"""How an icon is drawn, not what it shows; dropped unless nothing is left."""
SIZES = frozenset(
    """
    10 12 128 14 15 16 16px 18 20 20px 22 24 24px 28 32 32px 36 48 64 8 96
    """.split()  # noqa: SIM905
)
COUNTED = frozenset(
    """
    age alphabet backward battery button circle clock counter diamond dice die digit filter format
    forward h header heading hexagon hour keyboard letter level look number numbers numeric octagon
    pentagon rating replay rewind roman signal speed square star time timer
    """.split()  # noqa: SIM905
)
"""Where these stand in a name, its number is what it shows."""
ALIASES = {
    "aeroplane": "airplane", "plane": "airplane", "bicycle": "bike", "motorbike": "motorcycle",
    "automobile": "car", "gear": "setting", "cog": "setting", "trash": "bin", "garbage": "bin",
    "magnifier": "search", "telephone": "phone", "photo": "picture", "image": "picture", "tshirt": "shirt",
    "colour": "color", "earth": "globe", "eyeglass": "glass", "smartphone": "mobile", "cellphone": "mobile",
}  # fmt: skip
"""Words that mean the same in names of icons."""
DOODLES = {
    "The Eiffel Tower": ["eiffel tower"],
    "The Great Wall of China": ["great wall"],
    "The Mona Lisa": ["mona lisa"],
    "airplane": ["plane"],
    "bandage": ["adhesive bandage"],
    "baseball bat": ["cricket bat"],
    "bathtub": ["bath"],
    "bowtie": ["bow tie"],
    "cell phone": ["mobile", "mobile phone", "smartphone", "device mobile"],
    "ceiling fan": ["fan"],
    "coffee cup": ["coffee", "cup"],
    "cruise ship": ["ship"],
    "firetruck": ["fire truck"],
    "flip flops": ["flip flop", "sandal"],
    "floor lamp": ["lamp floor"],
    "frying pan": ["pan"],
    "house plant": ["potted plant", "plant"],
    "hot dog": ["hotdog"],
    "hot air balloon": ["air balloon"],
    "ice cream": ["icecream"],
    "moustache": ["mustache"],
    "motorbike": ["motorcycle"],
    "paint can": ["paint bucket"],
    "paintbrush": ["paint brush", "brush"],
    "picture frame": ["frame"],
    "pickup truck": ["pickup"],
    "power outlet": ["outlet", "power socket", "socket"],
    "pool": ["swimming pool"],
    "purse": ["handbag"],
    "remote control": ["remote"],
    "rollerskates": ["roller skate", "rollerskate"],
    "sea turtle": ["turtle"],
    "see saw": ["seesaw"],
    "smiley face": ["smiley", "smile", "mood smile"],
    "speedboat": ["motorboat", "motor boat"],
    "stereo": ["boombox"],
    "streetlight": ["street light", "street lamp", "lamp street"],
    "t-shirt": ["tshirt", "shirt", "t shirt"],
    "teddy-bear": ["teddy bear"],
    "telephone": ["phone"],
    "tennis racquet": ["tennis racket"],
    "washing machine": ["washer", "wash machine"],
    "wine glass": ["wine", "glass wine", "glass"],
    "wristwatch": ["watch", "device watch"],
    "bottlecap": ["bottle cap"],
    "matches": ["match"],
    "ocean": ["sea", "wave"],
    "stitches": ["stitch"],
    "string bean": ["bean"],
    "skyscraper": ["building skyscraper"],
    "roller coaster": ["rollercoaster"],
    "rain": ["cloud rain"],
    "swing set": ["swing"],
    "jail": ["prison"],
    "school bus": ["bus school"],
    "house": ["home"],
}
"""What else a class of Quick, Draw! is called in sets of icons; the class's own name is added."""


def tokens(name: str) -> tuple[str, ...]:
    """The words of a name that say what is shown, singular, in alphabetical order."""
    name = re.sub(r"([a-z])([A-Z])", r"\1-\2", name).lower().split("--")[0].replace("t-shirt", "tshirt")
    words = [word for word in re.split(r"[^a-z0-9]+", name) if word]
    shown = [word for word in words if word not in STYLES]
    words = shown or words
    if not COUNTED & {_singular(word) for word in words}:
        while len(words) > 1 and (words[-1].isdigit() or words[-1] in SIZES):
            words = words[:-1]
        if len(words) == 1 and (match := re.fullmatch(r"([a-z]{3,})\d+", words[0])):
            words = [match[1]]
    singular = [_singular(word) for word in words]
    return tuple(sorted({ALIASES.get(word, word) for word in singular}))


def label(name: str) -> str:
    """The label of an icon by its name in a set."""
    return " ".join(tokens(name))


def doodle_labels(name: str) -> list[str]:
    """The labels of icons that show what a class of Quick, Draw! asks for, the class's own first."""
    name = name.replace("_", " ")
    return list(dict.fromkeys(label(alias) for alias in [name, *DOODLES.get(name, [])]))


def _singular(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word
