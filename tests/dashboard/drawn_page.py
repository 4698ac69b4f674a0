"""What a browser has of one graph, and what is in the markup it is told."""

from html import unescape
from xml.etree import ElementTree as ET


class DrawnPage:
    """The newest of each thing told: elements by layer and key."""

    def __init__(self, whole):
        self.description, self.frame = whole.description, whole.frame
        self.layers = {layer: _keyed(elements) for layer, elements in whole.layers.items()}

    def take(self, changes):
        self.description = changes.description or self.description
        self.frame = changes.frame or self.frame
        for layer, keys in changes.gone.items():
            for key in keys:
                del self.layers[layer][key]
        for layer, elements in changes.layers.items():
            self.layers[layer] |= _keyed(elements)


def _keyed(elements):
    def key(element):
        return unescape(element.partition('data-key="')[2].partition('"')[0])

    return {key(element): element for element in elements}


def elements(layers, layer):
    """The elements of one layer of a drawing, by key."""
    drawn = [ET.fromstring(text) for text in layers.get(layer, ())]  # noqa: S314 - our own markup
    return {element.get("data-key"): element for element in drawn}


def parts(element, name):
    """What in an element is of this class."""
    return [part for part in element if part.get("class") == name]
