"""What a proposer is told, as text: rendering, fences, token estimates, hidden shapes, written knowledge."""
