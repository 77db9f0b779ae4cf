"""Parts shared by the providers' serializers: events, messages, order of arrival, keypad, marks."""
