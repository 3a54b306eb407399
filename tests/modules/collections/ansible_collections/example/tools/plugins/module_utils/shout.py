"""What the collection's modules share."""


def loud(text):
    return text.upper()
