"""What a trained model is made to show: head by head, pair by pair, and of its loss."""

from gnomon.lab.measures.registry import MEASURES as MEASURES
