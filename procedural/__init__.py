"""How to go about it: synapses, their plasticity and their store."""
