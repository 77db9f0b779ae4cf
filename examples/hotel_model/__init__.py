"""How the weights of the demo, the front desk of a fictional hotel, are made: data, training, evaluation."""
