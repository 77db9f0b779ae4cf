"""The bundled demo model: the front desk of one fictional hotel, its data, training and evaluation."""
