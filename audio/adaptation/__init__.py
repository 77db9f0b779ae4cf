"""Fine-tuning of Moonshine on recordings of your callers (`adapt`)."""
