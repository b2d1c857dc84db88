"""The parts of the long trial (tests/e2e/trial.py): who asks, what breaks, who watches, who judges."""
