"""The second try of a test, which `flaky(reruns=1)` grants to those that start processes."""


def again(request):
    """Whether this is a second try: whatever the first one met, the test gets a clean state."""
    return getattr(request.node, "execution_count", 1) > 1
