"""Making of the demo's weights, the front desk of a fictional hotel: data, training, evaluation."""
